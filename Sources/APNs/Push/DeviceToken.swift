/// A device token as it appears in APNs' path: lower-case hexadecimal of even length.
///
/// Apple guarantees nothing about its size. Descriptions show only the last 8 characters.
package struct DeviceToken: Hashable, Sendable {
    /// The longest accepted token, in characters; real ones have 64 to 160.
    package static let countMax = 400
    /// The number of characters in a description.
    package static let suffixCount = 8

    /// The token, safe to use in a path.
    package let text: String

    /// Accepts an even number of hexadecimal digits of either case, 2 to 400; `nil` for anything else.
    package init?(_ text: String) {
        let characters = text.utf8Span.span
        let count = characters.count
        guard count >= 2, count <= Self.countMax, count.isMultiple(of: 2) else { return nil }
        // Branch-free, so that the compiler vectorises the loop: every push runs it.
        var (strangers, capitals): (UInt8, UInt8) = (0, 0)
        for index in characters.indices {
            let byte = characters[index]
            let digit: UInt8 = byte &- UInt8(ascii: "0") < 10 ? 1 : 0
            let small: UInt8 = byte &- UInt8(ascii: "a") < 6 ? 1 : 0
            let capital: UInt8 = byte &- UInt8(ascii: "A") < 6 ? 1 : 0
            strangers |= (digit | small | capital) ^ 1
            capitals |= capital
        }
        guard strangers == 0 else { return nil }
        self.text = capitals == 0 ? text : text.lowercased()
    }

    /// The last 8 characters, which logs and responses may show.
    package var suffix: String { String(decoding: text.utf8.suffix(Self.suffixCount), as: UTF8.self) }
}

extension DeviceToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// An ellipsis and the last 8 characters.
    package var description: String {
        let characters = text.utf8Span.span
        let shown = max(0, characters.count - Self.suffixCount)..<characters.count
        // Written in place, because every result of an event contains a description.
        return unsafe String(unsafeUninitializedCapacity: 3 + shown.count) { buffer in
            var count = 0
            for byte in "…".utf8 {
                unsafe buffer[count] = byte
                count += 1
            }
            for index in shown {
                unsafe buffer[count] = characters[index]
                count += 1
            }
            return count
        }
    }
    /// The same as the description.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

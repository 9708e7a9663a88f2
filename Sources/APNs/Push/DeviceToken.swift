/// A device token as APNs' path takes it: lower-case hexadecimal of even length.
///
/// Apple promises nothing about its size. Descriptions show the last 8 characters only.
package struct DeviceToken: Hashable, Sendable {
    /// The longest token that is taken, in characters; the ones in use have 64 to 160.
    package static let countMax = 400
    /// How many characters a description shows.
    package static let suffixCount = 8

    /// The token, safe to stand in a path.
    package let text: String

    /// Takes hexadecimal digits of either case, an even number of 2 to 400; `nil` for anything else.
    package init?(_ text: String) {
        let characters = text.utf8Span.span
        let count = characters.count
        guard count >= 2, count <= Self.countMax, count.isMultiple(of: 2) else { return nil }
        var hasCapitals = false
        for index in characters.indices {
            let byte = characters[index]
            guard byte &- UInt8(ascii: "0") >= 10 else { continue }
            // Bit 5 tells small letters from capitals.
            guard (byte | 0x20) &- UInt8(ascii: "a") < 6 else { return nil }
            if byte & 0x20 == 0 { hasCapitals = true }
        }
        self.text = hasCapitals ? text.lowercased() : text
    }

    /// The last 8 characters: what logs and answers may show.
    package var suffix: String { String(decoding: text.utf8.suffix(Self.suffixCount), as: UTF8.self) }
}

extension DeviceToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// An ellipsis and the last 8 characters.
    package var description: String { "…" + suffix }
    /// The same as the description.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

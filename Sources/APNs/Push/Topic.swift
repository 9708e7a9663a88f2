/// The topic of a push, for alerts the app's bundle identifier.
package struct Topic: Hashable, Sendable, CustomStringConvertible {
    /// The longest bundle identifier that App Store Connect takes, in characters.
    package static let countMax = 155

    /// The topic, safe to stand in a header.
    package let text: String

    /// Takes 1 to 155 of `A-Z a-z 0-9 . -`; `nil` for anything else.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.countMax, text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = text
    }

    /// The topic.
    package var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

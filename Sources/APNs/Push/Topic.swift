/// The topic of a push; for alerts, the app's bundle identifier.
package struct Topic: Hashable, Sendable, CustomStringConvertible {
    /// The longest bundle identifier that App Store Connect accepts, in characters.
    package static let countMax = 155

    /// The topic, safe to use in a header.
    package let text: String

    /// Accepts 1 to 155 characters of `A-Z a-z 0-9 . -`; `nil` for anything else.
    package init?(_ text: String) {
        let characters = text.utf8Span.span
        guard (1...Self.countMax).contains(characters.count),
            characters.indices.allSatisfy({ Self.isAllowed(characters[$0]) })
        else { return nil }
        self.text = text
    }

    /// The topic.
    package var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }
}

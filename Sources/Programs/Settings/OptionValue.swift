/// The form of an option's value: its name in the usage, the accepted texts, and the shell completions.
package struct OptionValue: Sendable, Equatable {
    /// The value's name in the usage, such as `N`; `nil` for a switch, which takes no value.
    package let name: String?
    /// The words that a shell completes, usually the only ones accepted; empty for other values.
    package let words: [String]
    /// Whether a shell completes file names.
    package let isPath: Bool
    /// Describes the accepted texts if the given text is invalid; `nil` if it is valid.
    package let refusal: @Sendable (String) -> String?

    private init(
        _ name: String?, words: [String] = [], isPath: Bool = false,
        refusal: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.name = name
        self.words = words
        self.isPath = isPath
        self.refusal = refusal
    }

    package static func == (one: OptionValue, other: OptionValue) -> Bool {
        (one.name, one.words, one.isPath) == (other.name, other.words, other.isPath)
    }

    /// No value: the option is a switch.
    package static let none = OptionValue(nil)
    /// The path of a file.
    package static let path = OptionValue("PATH", isPath: true)

    /// Any text.
    package static func text(_ name: String) -> OptionValue { OptionValue(name) }

    /// Text that satisfies a predicate; `accepts` completes "expected …".
    package static func text(
        _ name: String, _ accepts: String, where holds: @escaping @Sendable (String) -> Bool
    ) -> OptionValue {
        OptionValue(name) { holds($0) ? nil : accepts }
    }

    /// An integer in a range.
    package static func number(_ range: ClosedRange<Int>, _ name: String = "N") -> OptionValue {
        let accepts = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return text(name, accepts) { text in
            text.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int(text).map(range.contains) == true
        }
    }

    /// One of these words.
    package static func word(_ words: [String]) -> OptionValue {
        OptionValue(words.joined(separator: "|"), words: words) { text in
            words.contains(text) ? nil : "one of " + words.joined(separator: ", ")
        }
    }

    /// Any text, with words that a shell completes.
    package static func suggested(_ name: String, _ words: [String]) -> OptionValue {
        OptionValue(name, words: words)
    }

    /// An http or https URL.
    package static let url = text("URL", "a URL that begins with https:// or http://") {
        $0.hasPrefix("https://") || $0.hasPrefix("http://")
    }
}

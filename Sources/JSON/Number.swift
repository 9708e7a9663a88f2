extension JSON {
    /// A number as its original text: valid under RFC 8259 section 6, converted only on request, so never rounded.
    package struct Number: Sendable {
        /// The number's text, in ASCII.
        package let text: String

        /// Creates an integer.
        package init(_ value: some BinaryInteger) { text = String(value) }

        /// Creates a double in its shortest round-trip form; `nil` for infinities and NaN, which JSON can't represent.
        package init?(_ value: Double) {
            guard value.isFinite else { return nil }
            text = value.description
        }

        /// Creates a number from text that the scanner has validated.
        init(validated text: String) { self.text = text }

        /// The value if it is written as an integer (`1`, not `1.0` or `1e0`) and fits in 64 bits.
        package var int: Int? { Int(text) }

        /// The nearest double; `nil` if it is out of range.
        package var double: Double? {
            guard let value = Double(text), value.isFinite else { return nil }
            return value
        }
    }
}

extension JSON.Number: Equatable {
    /// Compares the texts: `1` and `1.0` differ.
    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

extension JSON {
    /// A number as it was written: valid by RFC 8259 section 6, converted only when asked, so nothing is rounded on the way.
    package struct Number: Sendable {
        /// The number's text, ASCII.
        package let text: String

        /// An integer.
        package init(_ value: some BinaryInteger) { text = String(value) }

        /// A double in the shortest text that reads back the same; `nil` for infinities and NaN, which JSON can't write.
        package init?(_ value: Double) {
            guard value.isFinite else { return nil }
            text = value.description
        }

        /// Text that the reader has found to be a number.
        init(validated text: String) { self.text = text }

        /// The number where it is written as an integer (`1`, not `1.0` or `1e0`) and fits 64 bits.
        package var int: Int? { Int(text) }

        /// The nearest double; `nil` beyond its range.
        package var double: Double? {
            guard let value = Double(text), value.isFinite else { return nil }
            return value
        }
    }
}

extension JSON.Number: Equatable {
    /// Equality of the texts: `1` and `1.0` differ.
    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

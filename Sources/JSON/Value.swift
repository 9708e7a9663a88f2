extension JSON {
    /// A JSON value.
    ///
    /// Compared by bytes: strings that differ only in Unicode normalisation are different.
    package enum Value: Sendable {
        case null
        case bool(Bool)
        case number(Number)
        /// The unescaped text, with its UTF-8 exactly as sent.
        case string(String)
        /// A string whose lone surrogates were replaced by U+FFFD; a separate case, because it differs from
        /// the string that was sent.
        ///
        /// Only ``LoneSurrogates/replaced`` produces it.
        case repairedString(String)
        case array([Value])
        case object(Object)
    }
}

extension JSON.Value {
    /// Creates a number from an integer.
    package static func int(_ value: some BinaryInteger) -> Self { .number(JSON.Number(value)) }

    /// Whether this is `null`.
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// The Boolean; `nil` for other types.
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number; `nil` for other types.
    package var number: JSON.Number? { if case .number(let value) = self { value } else { nil } }

    /// The number as an integer; `nil` for other types, other notations and numbers that don't fit.
    package var int: Int? { number?.int }

    /// The number as the nearest double; `nil` for other types and numbers out of range.
    package var double: Double? { number?.double }

    /// The string as sent; `nil` for other types and strings with lone surrogates.
    package var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The string, with U+FFFD for each lone surrogate; `nil` for other types.
    package var text: String? {
        switch self {
        case .string(let value), .repairedString(let value): value
        default: nil
        }
    }

    /// The elements; `nil` for other types.
    package var array: [JSON.Value]? { if case .array(let value) = self { value } else { nil } }

    /// The object; `nil` for other types.
    package var object: JSON.Object? { if case .object(let value) = self { value } else { nil } }

    /// The named member; `nil` if this is not an object or has no such member.
    package subscript(_ name: String) -> JSON.Value? { object?[name] }
}

extension JSON.Value: Equatable {
    /// Compares type and content: strings by bytes, numbers by text, members in order.
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)),
            (.repairedString(let left), .repairedString(let right)):
            left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSON.Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates a string.
    package init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number.
    package init(integerLiteral value: Int) { self = .int(value) }
    /// Creates a Boolean.
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an array.
    package init(arrayLiteral elements: JSON.Value...) { self = .array(elements) }
    /// Creates an object with its members in this order; a repeated name keeps its first position and its last value.
    package init(dictionaryLiteral elements: (String, JSON.Value)...) {
        var object = JSON.Object()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
    /// Creates `null`.
    package init(nilLiteral: ()) { self = .null }
}

extension String {
    /// Compares UTF-8 bytes.
    ///
    /// `==` uses canonical equivalence, which makes "K" equal U+212A.
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let mine = utf8Span.span
        let theirs = other.utf8Span.span
        return mine.indices.allSatisfy { mine[$0] == theirs[$0] }
    }
}

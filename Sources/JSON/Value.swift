extension JSON {
    /// A JSON value.
    ///
    /// Equality is by bytes: strings that differ only in Unicode normalisation differ.
    package enum Value: Sendable {
        case null
        case bool(Bool)
        case number(Number)
        /// The text with escapes resolved, its UTF-8 exactly as it was sent.
        case string(String)
        /// A string with lone surrogates, each of which is U+FFFD here: not what was sent, so it isn't a ``string``.
        ///
        /// Only ``LoneSurrogates/replaced`` reads it.
        case repairedString(String)
        case array([Value])
        case object(Object)
    }
}

extension JSON.Value {
    /// A number from an integer.
    package static func int(_ value: some BinaryInteger) -> Self { .number(JSON.Number(value)) }

    /// Whether this is `null`.
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// The truth value, `nil` for other kinds.
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number, `nil` for other kinds.
    package var number: JSON.Number? { if case .number(let value) = self { value } else { nil } }

    /// The number as an integer, `nil` for other kinds and for numbers that are written otherwise or don't fit.
    package var int: Int? { number?.int }

    /// The number as the nearest double, `nil` for other kinds and for numbers beyond its range.
    package var double: Double? { number?.double }

    /// The string as it was sent, `nil` for other kinds and for a string with lone surrogates.
    package var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The string, with U+FFFD for each lone surrogate; `nil` for other kinds.
    package var text: String? {
        switch self {
        case .string(let value), .repairedString(let value): value
        default: nil
        }
    }

    /// The elements, `nil` for other kinds.
    package var array: [JSON.Value]? { if case .array(let value) = self { value } else { nil } }

    /// The object, `nil` for other kinds.
    package var object: JSON.Object? { if case .object(let value) = self { value } else { nil } }

    /// The member of that name; `nil` where this is no object or has no such member.
    package subscript(_ name: String) -> JSON.Value? { object?[name] }
}

extension JSON.Value: Equatable {
    /// Equal kinds with equal content: strings by bytes, numbers by their text, members in the same order.
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
    /// A string.
    package init(stringLiteral value: String) { self = .string(value) }
    /// A number.
    package init(integerLiteral value: Int) { self = .int(value) }
    /// A truth value.
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    package init(arrayLiteral elements: JSON.Value...) { self = .array(elements) }
    /// An object with its members in this order; a name given twice keeps its first place and its last value.
    package init(dictionaryLiteral elements: (String, JSON.Value)...) {
        var object = JSON.Object()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
    /// `null`.
    package init(nilLiteral: ()) { self = .null }
}

extension String {
    /// Equality by UTF-8 bytes.
    ///
    /// `==` is by canonical equivalence: "K" equals U+212A there.
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let mine = utf8Span.span
        let theirs = other.utf8Span.span
        return mine.indices.allSatisfy { mine[$0] == theirs[$0] }
    }
}

/// A JSON value (RFC 8259).
///
/// Foundation's coders would bring Foundation into programs that don't otherwise use it, such as the relay.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number that is written without a fraction or an exponent and fits in 64 bits.
    case integer(Int)
    /// Any other number.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the object's member with this name, if there is one.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var integer: Int? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    package var array: [JSONValue]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    package var isObject: Bool {
        guard case .object = self else { return false }
        return true
    }
}

extension JSONValue {
    /// The value as compact JSON.
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let number): String(number)
        // JSON has no infinities.
        case .number(let number): number.isFinite ? number.description : "null"
        case .string(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                quoted += "\\u00" + Hexadecimal.text([UInt8(truncatingIfNeeded: scalar.value)])
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

import JSON

/// Reads a call's arguments as models write them.
///
/// Models and their clients write nested objects as JSON text, numbers and booleans as text, and `null` or `""` for
/// arguments that they leave out. A value that can have only one meaning under the tool's schema is converted to it;
/// everything else is left for the tool's own checks. This is a pure function of the arguments and the schema.
enum MCPArguments {
    /// The arguments of a call; `nil` if they aren't an object.
    static func read(_ given: JSON.Value?, _ schema: JSON.Value) -> JSON.Object? {
        guard let given, !isAbsent(given) else { return JSON.Object() }
        return value(given, schema).object
    }

    /// Whether a value stands for an argument that is left out.
    static func isAbsent(_ value: JSON.Value) -> Bool { value.isNull || value.string == "" }

    private static func value(_ given: JSON.Value, _ schema: JSON.Value) -> JSON.Value {
        switch schema["type"]?.string {
        case "object":
            guard let object = (parsed(given) ?? given).object else { return given }
            return .object(members(object, schema))
        case "array":
            guard let items = (parsed(given) ?? given).array else { return given }
            return .array(items)
        case "integer":
            guard let text = given.string, let number = Int(text), String(number) == text else {
                return given
            }
            return .int(number)
        case "boolean":
            guard let text = given.string, ["true", "false"].contains(text) else { return given }
            return .bool(text == "true")
        default: return given
        }
    }

    private static func members(_ object: JSON.Object, _ schema: JSON.Value) -> JSON.Object {
        let required = schema["required"]?.array ?? []
        var result = JSON.Object()
        for member in object.members {
            let known = schema["properties"]?[member.name]
            if known != nil, isAbsent(member.value), !required.contains(.string(member.name)) { continue }
            result[member.name] = known.map { value(member.value, $0) } ?? member.value
        }
        return result
    }

    /// The JSON in a string; `nil` if the value isn't a string that contains JSON.
    private static func parsed(_ value: JSON.Value) -> JSON.Value? {
        guard let text = value.text else { return nil }
        return try? JSON.parse(
            Array(text.utf8), maxBytes: Bounds.requestBodyBytesMax, maxDepth: Bounds.requestJSONDepthMax,
            loneSurrogates: .replaced)
    }
}

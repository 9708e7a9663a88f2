import JSON

/// Checks JSON against the part of JSON Schema (2020-12) that docs/reference/openapi.yaml uses; other keywords are refused.
struct JSONSchema {
    /// The complete document, for `$ref`.
    let document: JSON.Value
    /// Whether members that a schema doesn't describe are faults, as in this relay's own responses.
    var isClosed = false

    private static let known: Set<String> = [
        "$ref", "type", "description", "default", "const", "enum", "required", "properties",
        "items", "minItems", "maxItems", "uniqueItems", "maximum", "not", "oneOf", "anyOf", "allOf",
        "minLength", "maxLength", "minimum", "pattern",
    ]

    /// The faults of a value, each with its place; empty if the value is valid.
    func faults(in value: JSON.Value, _ schema: JSON.Value, at place: String = "$") -> [String] {
        guard let members = schema.object?.members else { return ["\(place): no schema"] }
        if let reference = schema["$ref"]?.string {
            guard let target = resolve(reference) else { return ["\(place): no \(reference)"] }
            return faults(in: value, target, at: place)
        }
        var faults = members.filter { !Self.known.contains($0.name) }.map {
            "\(place): unknown keyword \($0.name)"
        }
        if let type = schema["type"]?.string, !Self.holds(value, type) {
            return faults + ["\(place): no \(type)"]
        }
        if let constant = schema["const"], constant != value { faults.append("\(place): not the constant") }
        if let values = schema["enum"]?.array, !values.contains(value) {
            faults.append("\(place): not in the enum")
        }
        if let choices = schema["oneOf"]?.array {
            let count = choices.count { self.faults(in: value, $0, at: place).isEmpty }
            if count != 1 { faults.append("\(place): \(count) of the choices hold") }
        }
        if let choices = schema["anyOf"]?.array,
            !choices.contains(where: { self.faults(in: value, $0, at: place).isEmpty })
        {
            faults.append("\(place): none of the choices holds")
        }
        for part in schema["allOf"]?.array ?? [] { faults += self.faults(in: value, part, at: place) }
        faults += objectFaults(value, schema, place)
        faults += textFaults(value, schema, place)
        if let elements = value.array {
            if let least = schema["minItems"]?.int, elements.count < least {
                faults.append("\(place): too few")
            }
            if let most = schema["maxItems"]?.int, elements.count > most {
                faults.append("\(place): too many")
            }
            if let items = schema["items"] {
                for (index, element) in elements.enumerated() {
                    faults += self.faults(in: element, items, at: "\(place)[\(index)]")
                }
            }
        }
        faults += numberFaults(value, schema, place)
        if schema["uniqueItems"] == true, let elements = value.array {
            let isRepeated = elements.indices.contains { elements[..<$0].contains(elements[$0]) }
            if isRepeated { faults.append("\(place): twice the same") }
        }
        if let negated = schema["not"], self.faults(in: value, negated, at: place).isEmpty {
            faults.append("\(place): what must not be")
        }
        return faults
    }

    /// The part of the document to which a reference within it points.
    func resolve(_ reference: String) -> JSON.Value? {
        reference.dropFirst(2).split(separator: "/").reduce(Optional(document)) { $0?[String($1)] }
    }

    private func objectFaults(_ value: JSON.Value, _ schema: JSON.Value, _ place: String) -> [String] {
        guard let object = value.object else { return [] }
        let properties = schema["properties"]?.object ?? JSON.Object()
        var faults: [String] = []
        for name in schema["required"]?.array ?? [] where object[name.string ?? ""] == nil {
            faults.append("\(place): \(name.string ?? "?") is missing")
        }
        for member in object.members {
            if let property = properties[member.name] {
                faults += self.faults(in: member.value, property, at: "\(place).\(member.name)")
            } else if isClosed, schema["properties"] != nil {
                faults.append("\(place): \(member.name) is not described")
            }
        }
        return faults
    }

    private func numberFaults(_ value: JSON.Value, _ schema: JSON.Value, _ place: String) -> [String] {
        guard let number = value.double else { return [] }
        var faults: [String] = []
        if let least = schema["minimum"]?.double, number < least { faults.append("\(place): too small") }
        if let most = schema["maximum"]?.double, number > most { faults.append("\(place): too large") }
        return faults
    }

    private func textFaults(_ value: JSON.Value, _ schema: JSON.Value, _ place: String) -> [String] {
        guard let text = value.string else { return [] }
        let count = text.unicodeScalars.count
        var faults: [String] = []
        if let least = schema["minLength"]?.int, count < least { faults.append("\(place): too short") }
        if let most = schema["maxLength"]?.int, count > most { faults.append("\(place): too long") }
        if let pattern = schema["pattern"]?.string {
            guard let regex = try? Regex(pattern).matchingSemantics(.unicodeScalar).dotMatchesNewlines()
            else {
                return faults + ["\(place): no pattern: \(pattern)"]
            }
            if text.firstMatch(of: regex) == nil { faults.append("\(place): not of the pattern") }
        }
        return faults
    }

    private static func holds(_ value: JSON.Value, _ type: String) -> Bool {
        switch type {
        case "object": value.object != nil
        case "array": value.array != nil
        case "string": value.string != nil
        case "integer": value.int != nil
        case "number": value.number != nil
        case "boolean": value.bool != nil
        default: false
        }
    }
}

import JSON

/// Checks that a value in `aps` has the type that its key requires.
enum ApsValue {
    /// The expected type if the value is wrong; `nil` if it is right.
    static func problem(
        _ json: ValidatedJSON, _ value: Int, _ shape: ApsKey.Shape, _ type: PushType?
    ) -> String? {
        let kind = json.kind(at: value)
        switch shape {
        case .string: return expect(.string, kind)
        case .number: return expect(.number, kind)
        case .bool: return expect(.bool, kind)
        case .object: return expect(.object, kind)
        case .strings: return isListOfStrings(json, value) ? nil : "a list of strings"
        case .flag:
            let flag = kind == .number ? json.value(at: value)?.int : nil
            return flag == 0 || flag == 1 ? nil : "the number 0 or 1"
        case .interruptionLevel: return oneOf(ApsKey.interruptionLevels, json, value)
        case .event: return oneOf(ApsKey.events, json, value)
        case .score: return isScore(json, value, kind, type) ? nil : "a number from 0 to 1"
        case .alert: return alertProblem(json, value, kind, type)
        case .sound: return soundProblem(json, value, kind)
        }
    }

    private static func expect(_ expected: ValidatedJSON.Kind, _ kind: ValidatedJSON.Kind) -> String? {
        kind == expected ? nil : expected.rawValue
    }

    private static func oneOf(_ words: [StaticString], _ json: ValidatedJSON, _ value: Int) -> String? {
        guard !words.contains(where: { json.isString($0, at: value) }) else { return nil }
        return "one of " + words.map { "\"\($0)\"" }.joined(separator: ", ")
    }

    private static func isListOfStrings(_ json: ValidatedJSON, _ value: Int) -> Bool {
        guard json.kind(at: value) == .array else { return false }
        var cursor = ValidatedJSON.Cursor(before: value)
        while let item = json.nextItem(&cursor) {
            guard json.kind(at: item) == .string else { return false }
        }
        return true
    }

    private static func isScore(
        _ json: ValidatedJSON, _ value: Int, _ kind: ValidatedJSON.Kind, _ type: PushType?
    ) -> Bool {
        guard kind == .number, let score = json.value(at: value)?.double else { return false }
        return type == .liveactivity || (0...1).contains(score)
    }

    private static func alertProblem(
        _ json: ValidatedJSON, _ value: Int, _ kind: ValidatedJSON.Kind, _ type: PushType?
    ) -> String? {
        guard kind != .string else { return nil }
        guard kind == .object else { return "a string or an object" }
        var cursor = ValidatedJSON.Cursor(before: value)
        while let member = json.nextMember(&cursor) {
            if let name = ApsKey.alertLists.first(where: { json.string(in: member.name, equals: $0) }) {
                guard isListOfStrings(json, member.value) else {
                    return "an alert with a list of strings as `\(name)`"
                }
            } else if let name = ApsKey.alertStrings.first(where: { json.string(in: member.name, equals: $0) }
            ) {
                let kind = json.kind(at: member.value)
                // A Live Activity's alert can have objects for localised text.
                guard kind == .string || (kind == .object && type == .liveactivity) else {
                    return "an alert with a string as `\(name)`"
                }
            }
        }
        return nil
    }

    private static func soundProblem(
        _ json: ValidatedJSON, _ value: Int, _ kind: ValidatedJSON.Kind
    ) -> String? {
        guard kind != .string else { return nil }
        guard kind == .object else { return "a string or an object" }
        var cursor = ValidatedJSON.Cursor(before: value)
        while let member = json.nextMember(&cursor) {
            if json.string(in: member.name, equals: "name") {
                guard json.kind(at: member.value) == .string else {
                    return "a sound with a string as `name`"
                }
            } else if json.string(in: member.name, equals: "critical") {
                let flag = json.value(at: member.value)?.int
                guard flag == 0 || flag == 1 else { return "a sound with 0 or 1 as `critical`" }
            } else if json.string(in: member.name, equals: "volume") {
                guard let volume = json.value(at: member.value)?.double, (0...1).contains(volume) else {
                    return "a sound with a number from 0 to 1 as `volume`"
                }
            }
        }
        return nil
    }
}

import JSON

/// Checks that a payload matches Apple's description of the push type.
///
/// Apple documents no reason for a payload that isn't JSON, lacks `aps`, or has a value of the wrong type in `aps`: the
/// service accepts such a push and the device drops it. The simulator responds with `BadRequestPayload`, so that a test
/// can't pass with a push that no device would show. A payload that contradicts the push type is refused with
/// `InvalidPushType`.
package enum PayloadRules {
    /// Checks the payload of a push.
    ///
    /// - Parameters:
    ///   - type: The push type; if `nil`, because the header is missing, only the values in `aps` are checked.
    ///   - limit: The largest payload in bytes.
    package static func check(_ payload: [UInt8], type: PushType?, limit: Int) throws(PushRefusal) {
        guard !payload.isEmpty else { throw PushRefusal(.payloadEmpty, "the payload is empty") }
        guard payload.count <= limit else {
            throw PushRefusal(.payloadTooLarge, "the payload is larger than \(limit) bytes")
        }
        do throws(JSON.ParseError) {
            try JSON.validate(payload, maxBytes: limit)
        } catch {
            throw bad("the payload is not JSON: \(error)")
        }
        let json = ValidatedJSON(payload)
        guard json.kind(at: json.start) == .object else { throw bad("the payload must be a JSON object") }
        guard let aps = try member("aps", of: json) else {
            guard let type, !type.needsAps else { throw bad("the payload has no `aps` dictionary") }
            return
        }
        let marks = try checkAps(json, at: aps, type: type)
        if let type { try compare(json, aps, marks, with: type) }
    }

    private static func member(_ name: StaticString, of json: ValidatedJSON) throws(PushRefusal) -> Int? {
        var cursor = ValidatedJSON.Cursor(before: json.start)
        while let member = json.nextMember(&cursor) {
            guard json.string(in: member.name, equals: name) else { continue }
            guard json.kind(at: member.value) == .object else {
                throw bad("`\(name)` must be an object")
            }
            return member.value
        }
        return nil
    }

    /// Checks each documented key's value and returns the keys present.
    private static func checkAps(
        _ json: ValidatedJSON, at start: Int, type: PushType?
    ) throws(PushRefusal) -> ApsKey.Mark {
        var marks: ApsKey.Mark = []
        var cursor = ValidatedJSON.Cursor(before: start)
        while let member = json.nextMember(&cursor) {
            guard let key = ApsKey.named(member.name, in: json) else { continue }
            marks.formUnion(key.mark)
            if let expected = ApsValue.problem(json, member.value, key.shape, type) {
                throw bad("`aps.\(key.name)` must be \(expected)")
            }
        }
        return marks
    }

    private static func compare(
        _ json: ValidatedJSON, _ aps: Int, _ marks: ApsKey.Mark, with type: PushType
    ) throws(PushRefusal) {
        switch type {
        case .alert:
            guard !marks.isDisjoint(with: [.alert, .badge, .sound]) else {
                throw mismatch("an alert push needs `alert`, `badge` or `sound` in `aps`")
            }
        case .background:
            guard marks.isDisjoint(with: [.alert, .badge, .sound]) else {
                throw mismatch("a background push can't have `alert`, `badge` or `sound` in `aps`")
            }
            guard marks.contains(.contentAvailable), integer("content-available", json, aps) == 1 else {
                throw mismatch("a background push needs `content-available` 1 in `aps`")
            }
        case .liveactivity: try compareLiveActivity(json, aps, marks)
        case .complication, .controls, .fileprovider, .location, .mdm, .pushtotalk, .voip, .widgets: break
        }
    }

    private static func compareLiveActivity(
        _ json: ValidatedJSON, _ aps: Int, _ marks: ApsKey.Mark
    ) throws(PushRefusal) {
        guard marks.isSuperset(of: [.timestamp, .event]) else {
            throw mismatch("a Live Activity push needs `timestamp` and `event` in `aps`")
        }
        for name: StaticString in ["timestamp", "stale-date", "dismissal-date"] {
            guard let time = integer(name, json, aps) else { continue }
            guard (0...Int(PushValidator.expirationMax)).contains(time) else {
                throw bad("`aps.\(name)` must be a time in seconds since 1970")
            }
        }
        let event = value("event", json, aps)?.string
        guard event == "end" || marks.contains(.contentState) else {
            throw mismatch("a Live Activity push needs `content-state` in `aps` unless it ends the activity")
        }
        guard event != "start" || marks.isSuperset(of: [.alert, .attributesType, .attributes]) else {
            throw mismatch(
                "starting a Live Activity needs `alert`, `attributes-type` and `attributes` in `aps`")
        }
    }

    /// The effect of a valid payload on a Live Activity.
    static func activity(in payload: [UInt8]) -> ActivityStep? {
        let json = ValidatedJSON(payload)
        guard let aps = try? member("aps", of: json), let event = value("event", json, aps)?.string,
            let timestamp = value("timestamp", json, aps)?.double
        else { return nil }
        return ActivityStep(event: event, timestamp: Int(timestamp))
    }

    private static func integer(_ name: StaticString, _ json: ValidatedJSON, _ aps: Int) -> Int? {
        value(name, json, aps)?.int
    }

    private static func value(_ name: StaticString, _ json: ValidatedJSON, _ aps: Int) -> JSON.Value? {
        var cursor = ValidatedJSON.Cursor(before: aps)
        while let member = json.nextMember(&cursor) {
            if json.string(in: member.name, equals: name) { return json.value(at: member.value) }
        }
        return nil
    }

    private static func bad(_ detail: String) -> PushRefusal { PushRefusal(.badRequestPayload, detail) }
    private static func mismatch(_ detail: String) -> PushRefusal { PushRefusal(.invalidPushType, detail) }
}

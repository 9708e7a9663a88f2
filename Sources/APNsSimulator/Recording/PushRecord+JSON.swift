import HTTP2
package import JSON
package import PushSealing

extension PushRecord {
    /// The push in `GET /pushes` and `--print-json`: everything except the provider token.
    package var json: JSON.Value { json(keys: []) }

    /// The same, with what a sealed notification says.
    ///
    /// - Parameter keys: The keys that open it; without keys there is no such member.
    package func json(keys: [NotificationKey]) -> JSON.Value {
        var object = JSON.Object()
        object["sequence"] = .int(sequence)
        object["receivedAt"] = .int(receivedAt)
        object["environment"] = .string(environment.rawValue)
        object["connection"] = .int(connection)
        object["stream"] = .int(stream.rawValue)
        object["deviceToken"] = deviceToken.map { .string($0) }
        object["topic"] = request.text(.topic).map { .string($0) }
        object["pushType"] = request.text(.pushType).map { .string($0) }
        object["apnsID"] = .string(id.description)
        object["apnsUniqueID"] = uniqueID.map { .string($0.description) }
        outcome.describe(in: &object)
        object["detail"] = detail.map { .string($0) }
        object["rule"] = rule.map { .string($0) }
        object["headers"] = headers
        if let payload = try? JSON.parse(request.payload, maxBytes: request.payload.count) {
            object["payload"] = payload
            if !keys.isEmpty, let members = payload.object {
                object["opened"] = SealedText(members, keys: keys)?.json
            }
        } else {
            object["payloadText"] = .string(String(decoding: request.payload, as: UTF8.self))
        }
        return .object(object)
    }

    /// The device token in the path, in lower case; `nil` if it is missing or malformed.
    package var deviceToken: String? {
        guard let path = request[.path], let token = try? DeviceToken.inPath(path) else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    /// The header fields, the last value of each name; omits `authorization`, which is a secret.
    private var headers: JSON.Value {
        var object = JSON.Object()
        for (name, value) in request.request.fields.strings where name != "authorization" {
            object[name] = .string(value)
        }
        return .object(object)
    }
}

extension PushOutcome {
    /// The outcome in one word.
    package var name: String {
        switch self {
        case .answered: "answered"
        case .stalled: "stalled"
        case .reset: "reset"
        case .closed: "closed"
        case .abandoned: "abandoned"
        }
    }

    fileprivate func describe(in object: inout JSON.Object) {
        object["outcome"] = .string(name)
        switch self {
        case .answered(let status, let reason):
            object["status"] = .int(status)
            object["reason"] = reason.map { .string($0) }
        case .reset(let code): object["errorCode"] = .string(code.description)
        case .stalled, .closed, .abandoned: break
        }
    }
}

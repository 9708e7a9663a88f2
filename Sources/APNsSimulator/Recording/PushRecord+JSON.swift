import HTTP2
import HTTPServer
package import JSON
package import PushSealing

extension PushRecord {
    /// The push in `GET /pushes` and `--print-json`: everything except the provider token.
    package var json: JSON.Value { json(keys: []) }

    /// The push in `GET /pushes`, with the text of a sealed notification.
    ///
    /// - Parameter keys: The keys that open the notification; without keys, its text is omitted.
    package func json(keys: [NotificationKey]) -> JSON.Value {
        var object = JSON.Object()
        object["sequence"] = .int(sequence)
        object["receivedAt"] = .int(receivedAt)
        switch push {
        case .apns(let push): push.describe(in: &object, id)
        case .webPush(let push): push.describe(in: &object, id)
        }
        outcome.describe(in: &object)
        object["detail"] = detail.map { .string($0) }
        object["rule"] = rule.map { .string($0) }
        object["headers"] = headers
        if let bytes = payload {
            if let payload = try? JSON.parse(bytes, maxBytes: bytes.count) {
                object["payload"] = payload
                if !keys.isEmpty, let members = data(of: payload) {
                    object["opened"] = SealedText(members, keys: keys)?.json
                }
            } else {
                object["payloadText"] = .string(String(decoding: bytes, as: UTF8.self))
            }
        }
        return .object(object)
    }

    /// The device token in the path, in lower case; `nil` if it is missing or malformed.
    package var deviceToken: String? {
        guard let path = apns?.request[.path], let token = try? DeviceToken.inPath(path) else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    /// The payload, decrypted; `nil` if a browser couldn't read it.
    var payload: [UInt8]? {
        switch push {
        case .apns(let push): push.request.payload
        case .webPush(let push): try? push.message?.get()
        }
    }

    /// The members for the app; in a declarative Web Push, the members of its notification's `data`.
    func data(of payload: JSON.Value) -> JSON.Object? {
        apns == nil ? payload["notification"]?["data"]?.object ?? payload.object : payload.object
    }

    /// The header fields, with the last value for each name; omits `authorization`, which is a secret.
    private var headers: JSON.Value {
        let fields =
            switch push {
            case .apns(let push): push.request.request.fields.strings.map { ($0.name, $0.value) }
            case .webPush(let push): push.request.headers.pairs.map { ($0.name.lowercased(), $0.value) }
            }
        var object = JSON.Object()
        for (name, value) in fields where name != "authorization" { object[name] = .string(value) }
        return .object(object)
    }
}

extension APNsPush {
    fileprivate func describe(in object: inout JSON.Object, _ id: MessageID) {
        object["transport"] = .string(Transport.apns.rawValue)
        object["environment"] = .string(environment.rawValue)
        object["connection"] = .int(connection)
        object["stream"] = .int(stream.rawValue)
        if let path = request[.path], let token = try? DeviceToken.inPath(path) {
            object["deviceToken"] = .string(String(decoding: token, as: UTF8.self))
        }
        object["topic"] = request.text(.topic).map { .string($0) }
        object["pushType"] = request.text(.pushType).map { .string($0) }
        object["apnsID"] = .string(id.description)
        object["apnsUniqueID"] = uniqueID.map { .string($0.description) }
    }
}

extension WebPushRequest {
    fileprivate func describe(in object: inout JSON.Object, _ id: MessageID) {
        object["transport"] = .string(Transport.webpush.rawValue)
        object["vendor"] = vendor.map { .string($0.rawValue) }
        object["subscription"] = subscription.map { .string($0) }
        object["host"] = request.headers["host"].map { .string($0) }
        object["messageID"] = .string(id.description)
        object["ttl"] = request.headers["ttl"].map { text in Int(text).map { .int($0) } ?? .string(text) }
        object["urgency"] = request.headers["urgency"].map { .string($0) }
        object["topic"] = request.headers["topic"].map { .string($0) }
        object["bodyBytes"] = .int(bodyBytes)
        if case .failure(let cause) = message { object["undecryptable"] = .string(cause.rawValue) }
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

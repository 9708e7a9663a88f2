import JSON
import Programs
import Storage

/// A message in Expo's form
/// (https://docs.expo.dev/push-notifications/sending-notifications/#message-request-format), read as a `POST /v1/notify`.
struct ExpoMessage {
    /// Its recipients in order, as named in `to`; one that is `nil` stands for what isn't a name.
    let recipients: [String?]
    /// The notification, or why there is none.
    let notification: Result<NotifyRequest, APIError>

    /// Reads an element of a request.
    init(_ value: JSON.Value, _ rules: RequestRules, at now: EpochMilliseconds) {
        recipients = value["to"]?.array?.map(\.string) ?? [value["to"]?.string]
        notification = Result { () throws(APIError) in
            guard let message = value.object else {
                throw APIError(.invalidField, hint: "A message must be an object.")
            }
            return try NotifyRequest(Self.fields(message, at: now), rules, at: now)
        }
    }

    /// The access token in a name such as `ExponentPushToken[…]`.
    static func token(in name: String) -> String? {
        guard name.hasSuffix("]") else { return nil }
        for prefix in ["ExponentPushToken[", "ExpoPushToken["] where name.hasPrefix(prefix) {
            return String(name.dropFirst(prefix.count).dropLast())
        }
        return nil
    }

    /// The body of `POST /v1/notify`.
    ///
    /// Members that are `null` count as absent, as for Expo, and unknown ones are ignored.
    private static func fields(_ message: JSON.Object, at now: EpochMilliseconds) throws(APIError)
        -> RequestFields
    {
        func value(_ name: String) -> JSON.Value? {
            guard let value = message[name], !value.isNull else { return nil }
            return value
        }
        var notification = JSON.Object()
        for name in ["title", "subtitle", "body", "badge", "interruptionLevel", "mutableContent"] {
            notification[name] = value(name)
        }
        notification["sound"] = value("sound").map(sound)
        notification["category"] = value("categoryId") ?? value("_category")
        notification["collapseID"] = value("collapseId")
        notification["contentAvailable"] = value("_contentAvailable")
        notification["ttl"] = try timeToLive(value("ttl"), value("expiration"), at: now).map { .int($0) }
        switch value("priority") {
        case nil, "default", "high": break
        case "normal": notification["priority"] = 5
        default: throw APIError(.invalidField, hint: "priority must be default, normal or high.")
        }
        if let data = value("data") {
            guard data.object != nil else { throw APIError(.invalidField, hint: "data must be an object.") }
            // Where expo-notifications looks for it in a push.
            notification["data"] = .object(JSON.Object([("body", data)]))
        }
        let hasText = ["title", "subtitle", "body"].contains { notification[$0].map { $0 != "" } ?? false }
        if !hasText {
            // There is nothing to change before it is shown.
            notification["mutableContent"] = nil
            if notification["sound"] == nil, notification["badge"] == nil {
                for name in ["category", "interruptionLevel", "priority"] { notification[name] = nil }
                notification["pushType"] = "background"
                notification["contentAvailable"] = true
            }
        }
        notification["kind"] = "expo"
        return RequestFields(
            JSON.Object([
                (RequestField.notification.rawValue, .object(notification)),
                (RequestField.shorten.rawValue, false),
            ]))
    }

    /// A name, or the members of Apple's dictionary, in which Expo's may leave out the name.
    private static func sound(_ value: JSON.Value) -> JSON.Value {
        guard let given = value.object else { return value }
        var sound = JSON.Object()
        sound["name"] = "default"
        for name in ["name", "critical", "volume"] {
            if let value = given[name], !value.isNull { sound[name] = value }
        }
        return .object(sound)
    }

    /// Seconds; `ttl` comes before `expiration`, a Unix time.
    ///
    /// More than APNs allows counts as what it allows.
    private static func timeToLive(
        _ ttl: JSON.Value?, _ expiration: JSON.Value?, at now: EpochMilliseconds
    ) throws(APIError) -> Int? {
        guard let given = ttl ?? expiration else { return nil }
        guard let number = given.double, number >= 0 else {
            throw APIError(.invalidField, hint: "ttl and expiration must be numbers of seconds.")
        }
        let seconds = ttl == nil ? number - Double(now / 1_000) : number
        return Int(min(max(seconds, 0), Double(Bounds.timeToLiveSecondsMax)))
    }
}

extension JSON.Object {
    fileprivate init(_ members: [(String, JSON.Value)]) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}

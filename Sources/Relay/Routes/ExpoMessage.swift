import JSON
import Programs
import Storage

/// A message in Expo's format (https://docs.expo.dev/push-notifications/sending-notifications/#message-request-format),
/// read as a `POST /v1/notify` request.
struct ExpoMessage {
    /// The recipients in `to`, in order; `nil` stands for a value that isn't a string.
    let recipients: [String?]
    /// The notification, or the error if the message is invalid.
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

    /// The access token in a recipient such as `ExponentPushToken[…]`.
    static func token(in name: String) -> String? {
        guard name.hasSuffix("]") else { return nil }
        for prefix in ["ExponentPushToken[", "ExpoPushToken["] where name.hasPrefix(prefix) {
            return String(name.dropFirst(prefix.count).dropLast())
        }
        return nil
    }

    /// The message as a body of `POST /v1/notify`.
    ///
    /// As in Expo's API, members that are `null` count as absent; unknown members are ignored.
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
            // This is where expo-notifications looks for the data in a push.
            notification["data"] = .object(JSON.Object([("body", data)]))
        }
        let hasText = ["title", "subtitle", "body"].contains { notification[$0].map { $0 != "" } ?? false }
        if !hasText {
            // Nothing is shown, so there is nothing for the app's extension to change.
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

    /// The sound as a name or as Apple's dictionary; Expo allows the dictionary to omit the name.
    private static func sound(_ value: JSON.Value) -> JSON.Value {
        guard let given = value.object else { return value }
        var sound = JSON.Object()
        sound["name"] = "default"
        for name in ["name", "critical", "volume"] {
            if let value = given[name], !value.isNull { sound[name] = value }
        }
        return .object(sound)
    }

    /// The time to live in seconds; `ttl` takes precedence over `expiration`, a Unix time.
    ///
    /// Values above APNs' maximum are reduced to the maximum.
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

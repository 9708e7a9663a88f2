/// The event and time of a Live Activity push; the order of states matters on the device.
package struct ActivityStep: Sendable {
    /// `aps.event`: `start`, `update` or `end`.
    package let event: String
    /// `aps.timestamp`, in seconds since 1970.
    package let timestamp: Int
}

/// A push with valid headers and payload.
package struct CheckedPush: Sendable {
    /// The device token in lower case.
    package let deviceToken: ArraySlice<UInt8>
    package let topic: ArraySlice<UInt8>
    package let type: PushType?
    /// The client's `apns-id`; `nil` if it sent none.
    package let id: MessageID?
    /// The push's effect on a Live Activity, if it is for one.
    package var activity: ActivityStep?
}

/// Validates pushes against Apple's documentation of the provider API.
///
/// A pure value: no sockets, no clock.
///
/// A push with several errors is refused for the first one in this order: method, path, repeated headers, provider
/// token, device token, topic, push type, other headers, payload. Apple documents no order.
package struct PushValidator: Sendable {
    /// The allowed bundle identifiers or full topics; `nil`: any.
    package var topics: Set<ArraySlice<UInt8>>?
    package var tokenLimits = ConnectionTrust.Limits()

    /// The latest `apns-expiration`, in seconds since 1970: the year 2106.
    ///
    /// A larger value must be milliseconds, sent by mistake.
    package static let expirationMax = UInt64(UInt32.max)
    /// The longest `apns-collapse-id` in bytes.
    package static let collapseIDBytesMax = 64

    /// A validator that allows every topic.
    package init() {}

    /// Validates one push.
    ///
    /// - Parameters:
    ///   - trust: The connection's provider token state.
    ///   - now: Seconds since 1970.
    package func check(
        _ request: PushRequest, to environment: PushEnvironment, now: Int64, trust: inout ConnectionTrust,
        verifier: inout ProviderTokenVerifier
    ) throws(PushRefusal) -> CheckedPush {
        let path = request[.path] ?? []
        guard let method = request[.method], method.equals("POST") else {
            guard path.begins(with: DeviceToken.prefix) else {
                throw PushRefusal(.badPath, "the path must begin with /3/device")
            }
            throw PushRefusal(.methodNotAllowed, "the method must be POST")
        }
        let token = Result { () throws(PushRefusal) in try DeviceToken.inPath(path) }
        if case .failure(let refusal) = token, refusal.reason == .badPath { throw refusal }
        if let field = request.repeatedField {
            throw PushRefusal(.duplicateHeaders, "`\(field.name)` was sent more than once")
        }
        try trust.admit(
            request[.authorization], to: environment, now: now, limits: tokenLimits, verifier: &verifier)
        let deviceToken = try token.get()
        let topic = try checkTopic(request[.topic])
        let type = try checkType(request[.pushType], topic)
        let id = try checkID(request[.id])
        try checkExpiration(request[.expiration])
        try checkPriority(request[.priority], type)
        if let collapseID = request[.collapseID], collapseID.count > Self.collapseIDBytesMax {
            throw PushRefusal(
                .badCollapseID, "`apns-collapse-id` is longer than \(Self.collapseIDBytesMax) bytes")
        }
        let limit = (type ?? Topic.suffixedType(of: topic) ?? .alert).payloadBytesMax
        try PayloadRules.check(request.payload, type: type, limit: limit)
        return CheckedPush(
            deviceToken: deviceToken, topic: topic, type: type, id: id,
            activity: type == .liveactivity ? PayloadRules.activity(in: request.payload) : nil)
    }

    private func checkTopic(_ topic: ArraySlice<UInt8>?) throws(PushRefusal) -> ArraySlice<UInt8> {
        guard let topic, !topic.isEmpty else { throw PushRefusal(.missingTopic, "no `apns-topic` header") }
        guard Topic.isWellFormed(topic) else {
            throw PushRefusal(.badTopic, "`apns-topic` is not a bundle identifier")
        }
        guard let topics else { return topic }
        guard topics.contains(topic) || topics.contains(Topic.bundle(of: topic)) else {
            throw PushRefusal(.topicDisallowed, "`apns-topic` is not one of the configured topics")
        }
        return topic
    }

    private func checkType(
        _ header: ArraySlice<UInt8>?, _ topic: ArraySlice<UInt8>
    ) throws(PushRefusal) -> PushType? {
        guard let header else { return nil }
        guard let type = PushType(header) else {
            throw PushRefusal(.invalidPushType, "`apns-push-type` is not a type that Apple documents")
        }
        guard type != .mdm else { return type }
        let suffix = type.topicSuffix
        let suffixed = Topic.suffixedType(of: topic)
        guard suffix.utf8CodeUnitCount == 0 ? suffixed == nil : suffixed == type else {
            throw PushRefusal(
                .badTopic,
                suffix.utf8CodeUnitCount == 0
                    ? "the topic of a push of type \(type.rawValue) must be the bundle identifier alone"
                    : "the topic of a push of type \(type.rawValue) must end in \(suffix)")
        }
        return type
    }

    private func checkID(_ header: ArraySlice<UInt8>?) throws(PushRefusal) -> MessageID? {
        guard let header else { return nil }
        guard let id = MessageID(canonical: header) else {
            throw PushRefusal(
                .badMessageID, "`apns-id` is not a UUID in canonical form: lower case, 8-4-4-4-12")
        }
        return id
    }

    private func checkExpiration(_ header: ArraySlice<UInt8>?) throws(PushRefusal) {
        guard let header else { return }
        guard !header.isEmpty, header.count <= 10,
            header.isAll(.digits),
            header.reduce(0 as UInt64, { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }) <= Self.expirationMax
        else {
            throw PushRefusal(
                .badExpirationDate, "`apns-expiration` must be a whole number of seconds since 1970")
        }
    }

    private func checkPriority(_ header: ArraySlice<UInt8>?, _ type: PushType?) throws(PushRefusal) {
        let priority: Int
        switch header {
        case nil: priority = 10
        case let text? where text.equals("10"): priority = 10
        case let text? where text.equals("5"): priority = 5
        case let text? where text.equals("1"): priority = 1
        default: throw PushRefusal(.badPriority, "`apns-priority` must be 10, 5 or 1")
        }
        switch type {
        case .background where priority != 5:
            throw PushRefusal(
                .badPriority, "a background push needs `apns-priority` 5 (the default is 10)")
        case .liveactivity where priority == 1:
            throw PushRefusal(.badPriority, "a Live Activity push needs `apns-priority` 10 or 5")
        default: break
        }
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Storage

/// A validated `POST /v1/notify`.
struct NotifyRequest: Sendable {
    let secret: Secret
    /// The only recipient; `nil` for all devices of the secret.
    let deviceToken: DeviceToken?
    private(set) var content: NotificationContent
    let eventID: String?
    /// Whether to respond before it is sent.
    let isAsync: Bool
    /// How it is repeated until it is acknowledged.
    let repetition: Repetition?

    /// Validates a body; fields are checked in the order of docs/reference/api.md.
    init(body: [UInt8], headerSecret: Secret? = nil) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret(orOf: headerSecret)
        deviceToken = try fields.optional(.deviceToken) { $0.string.flatMap(DeviceToken.init) }
        let notification = try fields.notification()
        content = try NotificationContent(
            notification, sealed: try fields.sealed(), isShortened: try fields.flag(.shorten) ?? true)
        eventID = try fields.word(.eventID, most: Bounds.eventIDBytesMax)
        isAsync = try fields.flag(.async) ?? false
        repetition = try fields.repetition(eventID: eventID)
        if repetition != nil, let eventID { repeats(eventID) }
    }

    /// Makes the push replace earlier pushes of the event on the device.
    mutating func repeats(_ eventID: String) {
        content.collapse(under: Repetition.collapseID(of: eventID))
    }

}

extension RequestFields {
    /// The fields of the notification, including texts that senders without nested objects put next to it.
    fileprivate func notification() throws(APIError) -> RequestFields {
        let nested = try optional(.notification, \.object)
        var members = nested ?? JSON.Object()
        var hasText = false
        for field in [RequestField.title, .subtitle, .body] {
            guard let text = try shownText(field) else { continue }
            hasText = true
            if let other = members[field.rawValue], other != "" {
                throw APIError(
                    .invalidField, field: field,
                    hint: "Send \(field.rawValue) either in notification or next to it, not both.")
            }
            members[field.rawValue] = .string(text)
        }
        guard nested != nil || hasText else {
            throw APIError(
                .missingField, field: .notification,
                hint: "Send notification, an object, or a title, subtitle or body.")
        }
        return RequestFields(members, within: .notification)
    }
}

extension NotificationContent {
    /// A digest of everything in a request but the secret and `eventID`.
    ///
    /// - Parameter deviceToken: The only recipient; `nil` for all devices.
    func digest(to deviceToken: DeviceToken?, _ repetition: Repetition? = nil) -> Digest256 {
        Digest256(
            ofParts: [
                "notify", deviceToken?.text, pushType.rawValue, priority.text, collapseID?.text,
                timeToLive.map { String($0.components.seconds) },
                unshortened,
            ] + (hasUnreadBadge ? [DevicePreferences.Badge.unread.rawValue] : [])
                + (repetition.map { [$0.text] } ?? [])
                + (actions.isEmpty ? [] : ["actions " + actions.joined(separator: " ")]))
    }
}

/// `POST /v1/notify`: pushes a notification to all devices of a secret, or to one.
struct NotifyRoute: AnsweringRoute {
    let services: LoopServices

    /// Responds when every device has an outcome, or at the event's deadline.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let wanted = try NotifyRequest(
            body: request.body, headerSecret: services.headerSecret(of: request))
        guard !wanted.content.hasUnreadBadge || services.shared.history != nil else {
            throw APIError(.historyOff, field: .notificationBadge)
        }
        var order = Pushing.Order(
            key: services.shared.hasher.key(of: wanted.secret), content: wanted.content,
            eventID: wanted.eventID,
            digest: wanted.content.digest(to: wanted.deviceToken, wanted.repetition),
            onlyDevice: wanted.deviceToken)
        order.source = .request(.notify, request.body)
        order.repetition = wanted.repetition
        order.actions = wanted.content.actions
        guard !wanted.isAsync else {
            return try await Pushing(services: services).answerAtOnce(order, request, started, &trace)
        }
        return try await Pushing(services: services).answer(order, request, started, &trace)
    }
}

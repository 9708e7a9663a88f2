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
    let content: NotificationContent
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
        var content = try NotificationContent(body: fields)
        eventID = try fields.word(.eventID, most: Bounds.eventIDBytesMax)
        isAsync = try fields.flag(.async) ?? false
        repetition = try fields.repetition(eventID: eventID)
        if repetition != nil, let eventID { content.repeats(eventID) }
        self.content = content
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
        try wanted.content.checkBadge(services.rules)
        let dispatch = Dispatch(
            tenant: services.shared.hasher.key(of: wanted.secret), content: wanted.content,
            audience: wanted.deviceToken.map { .token($0) } ?? .all,
            origin: .request(eventID: wanted.eventID, wanted.repetition), at: services.shared.clock.now)
        return try await services.send(dispatch, isAsync: wanted.isAsync, request, started, &trace)
    }
}

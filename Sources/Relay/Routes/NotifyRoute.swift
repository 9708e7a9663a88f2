import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/notify` request.
struct NotifyRequest: RequestBody {
    /// The only recipient; `nil` for all devices of the secret.
    let deviceToken: DeviceToken?
    let content: NotificationContent
    let eventID: String?
    /// Whether to respond before the notification is sent.
    let isAsync: Bool
    /// How the notification is repeated until it is acknowledged.
    let repetition: Repetition?

    init(_ fields: RequestFields, _ rules: RequestRules, at _: EpochMilliseconds) throws(APIError) {
        deviceToken = try fields.optional(.deviceToken) { $0.string.flatMap(DeviceToken.init) }
        var content = try NotificationContent(body: fields)
        eventID = try fields.word(.eventID, most: Bounds.eventIDBytesMax)
        isAsync = try fields.flag(.async) ?? false
        repetition = try fields.repetition(eventID: eventID)
        if repetition != nil, let eventID { content.repeats(eventID) }
        try content.checkBadge(rules)
        self.content = content
    }
}

/// `POST /v1/notify`: pushes a notification to all devices of a secret or to one of them.
struct NotifyRoute: TenantRoute {
    static let admission = Admission.sending
    static let scope: AccessTokenScope? = .send
    let services: LoopServices

    /// Responds when every device has an outcome or at the event's deadline.
    func answer(
        _ wanted: NotifyRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let dispatch = Dispatch(
            tenant: tenant.key, content: wanted.content,
            audience: wanted.deviceToken.map { .token($0) } ?? .all,
            origin: .request(eventID: wanted.eventID, wanted.repetition), at: services.shared.clock.now)
        return try await services.send(dispatch, isAsync: wanted.isAsync, for: tenant, &trace)
    }
}

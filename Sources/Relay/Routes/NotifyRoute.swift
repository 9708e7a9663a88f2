import APNs
import HTTPServer
import JSON
import Network
import Storage

/// `POST /v1/notify`, checked.
struct NotifyRequest: Sendable {
    let secret: Secret
    /// The one device that it is for; `nil` is all of the secret's.
    let deviceToken: DeviceToken?
    let content: NotificationContent
    let eventID: String?

    /// Checks a body; fields are looked at in the order of docs/API.md.
    init(body: [UInt8]) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret()
        deviceToken = try fields.optional(.deviceToken) { $0.string.flatMap(DeviceToken.init) }
        guard let notification = try fields.object(.notification) else {
            throw APIError(.missingField, field: .notification)
        }
        content = try NotificationContent(notification)
        eventID = try fields.word(.eventID, most: Bounds.eventIDBytesMax)
    }

    /// A digest of everything but the secret and `eventID`.
    var digest: Digest256 {
        Digest256(ofParts: [
            "notify", deviceToken?.text, content.pushType.rawValue, content.priority.text,
            content.collapseID?.text,
            content.timeToLive.map { String($0.components.seconds) },
            String(decoding: content.payload(PushStyle()), as: UTF8.self),
        ])
    }
}

/// `POST /v1/notify`: pushes a notification to every device under a secret, or to one.
struct NotifyRoute: AnsweringRoute {
    let services: LoopServices

    /// Answers when each device has an outcome, or at the event's deadline.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let wanted = try NotifyRequest(body: request.body)
        let order = Pushing.Order(
            key: services.shared.hasher.key(of: wanted.secret), content: wanted.content,
            eventID: wanted.eventID,
            digest: wanted.digest, onlyDevice: wanted.deviceToken)
        return try await Pushing(services: services).answer(order, request, started, &trace)
    }
}

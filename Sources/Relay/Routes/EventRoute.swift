import HTTPServer
import Network
import Storage

/// `POST /v1/event`: pushes an event to every device under a secret.
struct EventRoute: AnsweringRoute {
    let services: LoopServices

    /// Responds when every device has an outcome, or at the event's deadline.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let event = try EventRequest(body: request.body, headerSecret: services.headerSecret(of: request))
        try event.checkSize(sounds: services.apps.sounds)
        var order = Pushing.Order(
            event, of: services.shared.hasher.key(of: event.secret), eventID: event.eventID,
            at: services.shared.clock.now)
        order.source = .request(.event, request.body)
        order.repetition = event.extras?.repetition
        guard event.extras?.isAsync != true else {
            return try await Pushing(services: services).answerAtOnce(order, request, started, &trace)
        }
        return try await Pushing(services: services).answer(order, request, started, &trace)
    }
}

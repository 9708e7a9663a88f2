import HTTPServer
import Network
import Storage

/// `POST /v1/event`: pushes an event to every device under a secret.
struct EventRoute: AnsweringRoute {
    let services: LoopServices

    /// Responds when every device has an outcome, or at the event's deadline.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let wanted = try EventRequest(body: request.body, headerSecret: services.headerSecret(of: request))
        try wanted.content.checkSize(sounds: services.rules.sounds)
        let dispatch = Dispatch(
            tenant: services.shared.hasher.key(of: wanted.secret), content: wanted.content, audience: .all,
            origin: .request(eventID: wanted.eventID, wanted.repetition), at: services.shared.clock.now)
        return try await services.send(dispatch, isAsync: wanted.isAsync, request, started, &trace)
    }
}

extension LoopServices {
    /// Sends what was requested; responds with the results, or at once if it is asynchronous.
    func send(
        _ dispatch: Dispatch, isAsync: Bool, _ request: Request, _ started: MonotonicTime,
        _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        guard isAsync else {
            return Reply(body: try await send(dispatch, request, started, &trace).response)
        }
        try admit(dispatch.tenant, started, &trace)
        if try await !Dispatcher(services: self).sendLater(dispatch) {
            try shared.rates.countUnknownSecret(request, at: loop.now)
        }
        var reply = Reply.ok
        reply.status = 202
        return reply
    }

    /// Sends what was requested, and returns the result.
    func send(
        _ dispatch: Dispatch, _ request: Request, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        try admit(dispatch.tenant, started, &trace)
        let dispatcher = Dispatcher(services: self)
        let devices = try await dispatcher.devices(of: dispatch.tenant)
        if devices.isEmpty { try shared.rates.countUnknownSecret(request, at: loop.now) }
        return try await dispatcher.send(dispatch, to: devices, started, &trace)
    }

    private func admit(
        _ tenant: SecretKey, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) throws(APIError) {
        trace.add(.secretHash(tenant.primary))
        guard !shared.blocked.contains(tenant) else { throw APIError(.blocked) }
        try shared.rates.countEvent(tenant, at: started)
    }
}

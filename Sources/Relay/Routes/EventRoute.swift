import HTTPServer
import Network
import Programs
import Storage

/// `POST /v1/event`: pushes an event to every device under a secret.
struct EventRoute: TenantRoute {
    static let admission = Admission.sending
    static let scope: AccessTokenScope? = .send
    let services: LoopServices

    /// Responds when every device has an outcome or at the event's deadline.
    func answer(
        _ wanted: EventRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let dispatch = Dispatch(
            tenant: tenant.key, content: wanted.content, audience: .all,
            origin: .request(eventID: wanted.eventID, wanted.repetition), at: services.shared.clock.now)
        return try await services.send(dispatch, isAsync: wanted.isAsync, for: tenant, &trace)
    }
}

extension LoopServices {
    /// Sends the request's content; responds with the results, or immediately if the request is asynchronous.
    func send(
        _ dispatch: Dispatch, isAsync: Bool, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        guard isAsync else { return Reply(body: try await send(dispatch, for: tenant, &trace).response) }
        try tenant.note(isKnown: try await Dispatcher(services: self).sendLater(dispatch))
        return .accepted
    }

    /// Sends the request's content, and returns the result.
    func send(
        _ dispatch: Dispatch, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        let dispatcher = Dispatcher(services: self)
        let devices = try await dispatcher.devices(of: tenant.key)
        if devices.isEmpty { try tenant.countAsUnknown() }
        return try await dispatcher.send(dispatch, to: devices, tenant.started, &trace)
    }
}

import Network
import Programs
import Storage

/// Makes apps remove the notification for an event that no longer needs attention.
extension Dispatcher {
    /// Sends a background push to the devices that got the event, once per event.
    ///
    /// The push goes to the devices in the event's response, except for muted devices, devices in quiet hours, and
    /// devices that have already received as many background pushes as Apple recommends.
    func clear(_ event: EventName, _ started: MonotonicTime) async throws(APIError) {
        let shared = services.shared
        let state: EventState
        do throws(StorageError) {
            state = try await shared.storage.state(of: event, at: shared.clock.now)
        } catch {
            throw APIError(error)
        }
        switch state {
        case .unknown: return
        case .inProgress:
            throw APIError(
                .overloaded, retryAfterSeconds: Bounds.claimRetryAfterSeconds,
                logDetail: "the event to clear is still being sent")
        case .answered(let answer):
            let reached = DispatchReport(response: answer).reached
            guard !reached.isEmpty else { return }
            let content = ClearContent(eventID: event.eventID)
            let dispatch = Dispatch(
                tenant: event.key, content: content, audience: .reached(reached),
                origin: .acknowledgement(receiptID: content.receiptID), at: shared.clock.now)
            // The secret is already in the request's trace.
            var trace = RequestTrace()
            _ = try await send(dispatch, to: try await devices(of: event.key), started, &trace)
        }
    }
}

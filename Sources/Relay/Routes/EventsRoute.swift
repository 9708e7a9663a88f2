import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/events` request.
struct EventsRequest: RequestBody {
    /// The events in order; an invalid one is represented by its error.
    let events: [Result<EventRequest, APIError>]

    init(_ fields: RequestFields, _ rules: RequestRules, at now: EpochMilliseconds) throws(APIError) {
        let elements = try fields.optional(.events) { value in
            value.array.flatMap { (1...Bounds.batchEventsMax).contains($0.count) ? $0 : nil }
        }
        guard let elements else { throw APIError(.missingField, field: .events) }
        events = elements.map { element in
            Result { () throws(APIError) in try Self.event(element, rules, at: now) }
        }
    }

    private static func event(
        _ element: JSON.Value, _ rules: RequestRules, at now: EpochMilliseconds
    ) throws(APIError) -> EventRequest {
        guard let object = element.object else {
            throw APIError(.invalidField, field: .events, hint: "An event must be an object.")
        }
        let fields = RequestFields(object)
        guard fields.value(.secret) == nil else {
            throw APIError(
                .invalidField, field: .secret,
                hint: "Send it once, next to events; it applies to all of them.")
        }
        return try EventRequest(fields, rules, at: now)
    }
}

/// `POST /v1/events`: sends several events, each like `POST /v1/event`.
struct EventsRoute: TenantRoute {
    static let admission = Admission.sending
    static let scope: AccessTokenScope? = .send
    static let bodyBounds = BodyBounds.batch
    let services: LoopServices

    /// The outcome of one event in the batch.
    private struct Outcome {
        var reply: Reply
        var trace = RequestTrace()
        /// Details of an error that aren't shown to the sender.
        var detail: String?
    }

    /// The outcomes, by position; confined to the loop.
    private final class Outcomes {
        var byPosition: [Int: Outcome] = [:]
    }

    /// Responds when every event has its response, with the responses in the order of the events.
    func answer(
        _ wanted: EventsRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let devices = try await Dispatcher(services: services).devices(of: tenant.key)
        if devices.isEmpty { try tenant.countAsUnknown() }
        var events: [Int: EventRequest] = [:]
        let outcomes = Outcomes()
        for (position, event) in wanted.events.enumerated() {
            do throws(APIError) {
                let event = try event.get()
                // The first event is counted with the request.
                if !events.isEmpty {
                    try tenant.countEvent()
                    if devices.isEmpty { try tenant.countAsUnknown() }
                }
                events[position] = event
            } catch {
                outcomes.byPosition[position] = outcome(of: error)
            }
        }
        await send(events, to: devices, for: tenant, outcomes)
        let ordered = wanted.events.indices.compactMap { outcomes.byPosition[$0] }
        trace.add(.count("events", ordered.count))
        trace.add(sumsOf: ordered.map(\.trace))
        let codes = Set(ordered.compactMap(\.reply.code?.rawValue)).sorted()
        if !codes.isEmpty { trace.add(.note("codes", codes.joined(separator: " "))) }
        trace.worstStatus = ordered.map(\.reply.status).max()
        // The details of all errors would be too long for one line.
        if let detail = ordered.lazy.compactMap(\.detail).first { trace.add(.note("detail", detail)) }
        return Reply(body: Self.body(ordered.map(\.reply)))
    }

    /// Sends the events concurrently, so that a batch takes only as long as its slowest event.
    private func send(
        _ events: [Int: EventRequest], to devices: [Device], for tenant: AdmittedTenant,
        _ outcomes: Outcomes
    ) async {
        let now = services.shared.clock.now
        let dispatches = events.mapValues { event in
            Dispatch(
                tenant: tenant.key, content: event.content, audience: .all,
                origin: .request(eventID: event.eventID, event.repetition), at: now)
        }
        let claimed = await Dispatcher(services: services).claim(
            dispatches.filter { events[$0.key]?.isAsync == false })
        let started = tenant.started
        nonisolated(unsafe) let route = self  // why: confined to the loop that runs the tasks
        nonisolated(unsafe) let outcomes = outcomes  // why: confined to the loop that runs the tasks
        let tasks = dispatches.sorted { $0.key < $1.key }.map { position, dispatch in
            services.loop.spawn { _ in
                outcomes.byPosition[position] = await route.send(
                    dispatch, isAsync: events[position]?.isAsync == true, to: devices,
                    claimed[position], started)
            }
        }
        await withTaskCancellationHandler {
            for task in tasks { await task.value }
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    private func send(
        _ dispatch: Dispatch, isAsync: Bool, to devices: [Device], _ claimed: Dispatcher.Claimed?,
        _ started: MonotonicTime
    ) async -> Outcome {
        let dispatcher = Dispatcher(services: services)
        var trace = RequestTrace()
        do throws(APIError) {
            guard isAsync else {
                let result = try await dispatcher.send(
                    dispatch, to: devices, claimed: claimed, started, &trace)
                return Outcome(reply: Reply(body: result.response), trace: trace)
            }
            _ = try await dispatcher.sendLater(dispatch)
            return Outcome(reply: .accepted)
        } catch {
            return outcome(of: error)
        }
    }

    private func outcome(of error: APIError) -> Outcome {
        if let limit = error.limit { services.counts.hit(limit) }
        var outcome = Outcome(reply: Reply(error), detail: error.logDetail)
        outcome.trace.add(.count("refused", 1))
        return outcome
    }

    private static func body(_ replies: [Reply]) -> [UInt8] {
        var writer = JSON.Writer(capacity: replies.reduce(64) { $0 + 32 + $1.body.count })
        writer.beginObject()
        writer.member("ok", true)
        writer.name("results")
        writer.beginArray()
        for reply in replies {
            writer.beginObject()
            writer.member("status", reply.status)
            if let seconds = reply.retryAfterSeconds { writer.member("retryAfter", seconds) }
            writer.members(of: reply.body)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }
}

import HTTPServer
import JSON
import Network
import Programs
import Storage

/// Expo's `POST /--/api/v2/push/send`, for up to 100 notifications to apps that register native tokens with the relay.
///
/// A recipient, `ExponentPushToken[…]`, contains an access token with the scope `send` and stands for the devices of
/// that token's secret. Each notification to a recipient is a separate event; limits and results are the same as for
/// `POST /v1/notify`.
struct ExpoSendRoute: ExpoRoute {
    let services: LoopServices

    /// A notification for one recipient.
    private struct Sending: Sendable {
        let position: Int
        let name: String
        let token: Digest256
        let devices: [Device]
        let dispatch: Dispatch
        var trace: RequestTrace
    }

    /// A recipient's tenant and its devices.
    private struct Recipient {
        let tenant: AdmittedTenant
        let devices: [Device]
        let trace: RequestTrace
    }

    /// The recipients of a request.
    private struct Recipients {
        /// The recipients by token, so that each token is looked up only once.
        var known: [Digest256: Result<Recipient, APIError>] = [:]
        /// Why no more tokens are looked up: the address sent too many unknown tokens, the look-ups took too long, or
        /// the database failed.
        var refusal: APIError?
    }

    private struct Outcome {
        let ticket: JSON.Value
        /// Why nothing was sent.
        var error: APIError?
        var trace = RequestTrace()
    }

    /// The outcomes, by position; confined to the loop.
    private final class Outcomes {
        var byPosition: [Int: Outcome] = [:]
    }

    /// Responds when every recipient has a ticket, with the tickets in the order of the recipients.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let body = try Self.value(of: request)
        let elements = body.array ?? [body]
        let most = Bounds.expoNotificationsMax
        let count = elements.reduce(0) { $0 + ($1["to"]?.array?.count ?? 1) }
        guard elements.count <= most, count <= most else {
            let error = APIError(.invalidField, hint: "A request must have at most \(most) notifications.")
            return reply(to: error, named: "PUSH_TOO_MANY_NOTIFICATIONS")
        }
        let outcomes = Outcomes()
        await send(try await sendings(elements, request, started, outcomes), started, outcomes)
        let ordered = (0..<count).compactMap { outcomes.byPosition[$0] }
        try log(ordered, to: &trace)
        let tickets = ordered.map(\.ticket)
        let isSingle = body["to"]?.string != nil
        return Reply(body: (["data": isSingle ? tickets[0] : .array(tickets)] as JSON.Value).encoded())
    }

    // MARK: Recipients

    /// Returns the notifications to send, and adds the outcomes of those that can't be sent to `outcomes`.
    private func sendings(
        _ elements: [JSON.Value], _ request: Request, _ started: MonotonicTime, _ outcomes: Outcomes
    ) async throws(APIError) -> [Sending] {
        let now = services.shared.clock.now
        var recipients = Recipients()
        var sendings: [Sending] = []
        var position = 0
        for element in elements {
            let message = ExpoMessage(element, services.rules, at: now)
            for name in message.recipients {
                do throws(APIError) {
                    guard let name else {
                        throw APIError(.missingField, hint: "to must be a push token, or a list of them.")
                    }
                    let wanted = try message.notification.get()
                    let token = try Self.token(in: name)
                    let recipient = try await recipient(token, of: &recipients, request, started)
                    let dispatch = Dispatch(
                        tenant: recipient.tenant.key, content: wanted.content, audience: .all,
                        origin: .request(eventID: nil), at: now)
                    sendings.append(
                        Sending(
                            position: position, name: name, token: token, devices: recipient.devices,
                            dispatch: dispatch, trace: recipient.trace))
                } catch {
                    outcomes.byPosition[position] = outcome(of: error, name)
                }
                position += 1
            }
        }
        if let refusal = recipients.refusal, sendings.isEmpty,
            outcomes.byPosition.values.allSatisfy({ $0.error?.code == refusal.code })
        {
            throw refusal
        }
        return sendings
    }

    private static func token(in name: String) throws(APIError) -> Digest256 {
        guard let digest = ExpoMessage.token(in: name).flatMap({ AccessTokenText.digest(of: Array($0.utf8)) })
        else { throw APIError(.invalidToken) }
        return digest
    }

    /// Finds the recipient that a token identifies, and counts a notification for its tenant.
    private func recipient(
        _ token: Digest256, of recipients: inout Recipients, _ request: Request, _ started: MonotonicTime
    ) async throws(APIError) -> Recipient {
        if let known = recipients.known[token] {
            let recipient = try known.get()
            // The first notification was counted when the tenant was admitted.
            try recipient.tenant.countEvent()
            return recipient
        }
        // Half of the time is reserved for sending.
        if recipients.refusal == nil,
            services.loop.now.since(started) > services.shared.limits.eventDeadline / 2
        {
            recipients.refusal = APIError(.overloaded, logDetail: "the look-ups of tokens took too long")
        }
        if let refusal = recipients.refusal { throw refusal }
        let found: Result<Recipient, APIError>
        do throws(APIError) {
            var trace = RequestTrace()
            let tenant = try await services.admit(
                .token(token), to: .sending, .send, request, started, &trace)
            let devices = try await Dispatcher(services: services).devices(of: tenant.key)
            if devices.isEmpty {
                try tenant.countAsUnknown()
                throw APIError(.noDevices)
            }
            found = .success(Recipient(tenant: tenant, devices: devices, trace: trace))
        } catch {
            if error.limit == .unknownSecrets || error.code.status >= 500 { recipients.refusal = error }
            found = .failure(error)
        }
        recipients.known[token] = found
        return try found.get()
    }

    // MARK: Sending

    /// Sends the notifications concurrently, so that a request takes only as long as its slowest notification.
    private func send(_ sendings: [Sending], _ started: MonotonicTime, _ outcomes: Outcomes) async {
        nonisolated(unsafe) let route = self  // why: confined to the loop that runs the tasks
        nonisolated(unsafe) let outcomes = outcomes  // why: confined to the loop that runs the tasks
        let tasks = sendings.map { sending in
            services.loop.spawn { _ in
                outcomes.byPosition[sending.position] = await route.send(sending, started)
            }
        }
        await withTaskCancellationHandler {
            for task in tasks { await task.value }
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    private func send(_ sending: Sending, _ started: MonotonicTime) async -> Outcome {
        var trace = sending.trace
        do throws(APIError) {
            let result = try await Dispatcher(services: services).send(
                sending.dispatch, to: sending.devices, started, &trace)
            return Outcome(ticket: ticket(result.report, sending), trace: trace)
        } catch {
            return outcome(of: error, sending.name)
        }
    }

    /// The ticket: `ok` if a device got the push, will get it or didn't want it; otherwise the reason why a push
    /// failed, preferably one to a device that is still registered.
    private func ticket(_ report: DispatchReport, _ sending: Sending) -> JSON.Value {
        var queued: ExpoReceiptID?
        var reasons: [String] = []
        var isUnwanted = report.deliveries.isEmpty
        for delivery in report.deliveries {
            let push = delivery.pushID.flatMap { UUIDv7($0) }
            switch delivery.status {
            case .sent: return Self.accepted(.final(push ?? services.makeID()))
            case .queued:
                // A push that waits for the end of quiet hours is sent under another ID.
                queued = queued ?? push.map { .queued($0, token: sending.token) }
                isUnwanted = isUnwanted || push == nil
            case .failed(let reason): reasons.append(reason)
            case .muted: isUnwanted = true
            }
        }
        if let queued { return Self.accepted(queued) }
        let others = reasons.filter { ExpoFault(reason: $0) != .deviceNotRegistered }
        // A server deletes a recipient that is reported as not registered.
        guard !isUnwanted, let reason = others.first ?? reasons.first else {
            return Self.accepted(.final(services.makeID()))
        }
        return ExpoFault(reason: reason).result("The push failed: \(reason).", name: sending.name)
    }

    private static func accepted(_ id: ExpoReceiptID) -> JSON.Value {
        ["status": "ok", "id": .string(id.text)]
    }

    private func outcome(of error: APIError, _ name: String?) -> Outcome {
        if let limit = error.limit { services.counts.hit(limit) }
        let fault = ExpoFault(error)
        let message =
            if let name, fault == .deviceNotRegistered {
                "\"\(name)\" is not a registered push notification recipient"
            } else {
                error.sentence
            }
        var outcome = Outcome(ticket: fault.result(message, name: name), error: error)
        outcome.trace.add(.count("refused", 1))
        return outcome
    }

    /// Adds the outcomes of the notifications to the request's log line.
    ///
    /// - Throws: The error if nothing was sent and the same request may succeed later.
    private func log(_ outcomes: [Outcome], to trace: inout RequestTrace) throws(APIError) {
        let errors = outcomes.compactMap(\.error)
        if let first = errors.first, errors.count == outcomes.count,
            errors.allSatisfy({ $0.code.status >= 500 })
        {
            throw first
        }
        trace.add(.count("notifications", outcomes.count))
        if outcomes.count == 1 {
            for field in outcomes[0].trace.fields { trace.add(field) }
        } else {
            trace.add(sumsOf: outcomes.map(\.trace))
        }
        let codes = Set(errors.map(\.code.rawValue)).sorted()
        if !codes.isEmpty { trace.add(.note("codes", codes.joined(separator: " "))) }
        trace.worstStatus = errors.map(\.code.status).max()
        // The details of all errors would be too long for one line.
        if let detail = errors.lazy.compactMap(\.logDetail).first { trace.add(.note("detail", detail)) }
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// `POST /mcp`: tools for agents, over the Model Context Protocol.
struct MCPRoute: AnsweringRoute {
    let services: LoopServices

    /// Checks the origin and the secret, then responds as ``MCP`` decides.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let origins = request.headers.values(of: "Origin")
        guard origins.allSatisfy(services.shared.origins.allow) else {
            trace.add(.note("detail", "the Origin is not in RELAY_WEB_ORIGINS"))
            return refusal(
                .invalidRequest("Requests from this web page are not accepted.", status: 403),
                .invalidRequest, &trace)
        }
        guard let secret = services.headerSecret(of: request),
            (1...Bounds.secretBytesMax).contains(secret.bytes.count)
        else {
            return refusal(
                .invalidRequest("Send the secret as Authorization: Bearer.", status: 401),
                .unauthorized, &trace)
        }
        let step = MCP.step(request.body, MCPHeaders(request))
        if case .reply(let reply) = step, let code = ErrorCode(mcpStatus: reply.status) {
            if let coding = request.contentCoding, code == .invalidBody {
                let error = APIError(contentCoding: coding)
                return refusal(
                    .invalidRequest(error.sentence, status: error.code.status), error.code, &trace)
            }
            trace.isRoutine = true
            trace.add(.code(code))
            return Reply(reply, code: code)
        }
        if let refused = await note(step, of: secret, request, &trace) { return refused }
        switch step {
        case .reply(let reply):
            trace.isRoutine = true
            return Reply(reply)
        case .call(let call):
            trace.add(.note("tool", call.tool.rawValue))
            return await run(call, Caller(secret: secret, request: request), &trace)
        }
    }

    private func refusal(_ error: MCPError, _ code: ErrorCode, _ trace: inout RequestTrace) -> Reply {
        trace.add(.code(code))
        return Reply(MCPReply.refusal(error), code: code)
    }

    /// Records the use of a secret with devices; any other secret counts as a guess from the client's address.
    ///
    /// A client that connects with a secret without devices is refused, because agents would otherwise show it as
    /// connected. If the database is unavailable, clients can connect and nothing is recorded.
    private func note(
        _ step: MCPStep, of secret: Secret, _ request: Request, _ trace: inout RequestTrace
    ) async -> Reply? {
        let shared = services.shared
        let key = shared.hasher.key(of: secret)
        let now = services.loop.now
        let isDue = shared.agents?.isDue(key, client: step.client, at: now) ?? false
        guard isDue || step.connects, let devices = try? await shared.storage.devices(of: key) else {
            return nil
        }
        guard devices.isEmpty else {
            services.noteKnown()
            if isDue { shared.agents?.note(key, client: step.client, at: (shared.clock.now, now)) }
            return nil
        }
        // The call itself counts the guess.
        if case .call = step { return nil }
        do throws(APIError) {
            try shared.rates.countUnknownSecret(request, at: now)
        } catch {
            trace.add(error)
            if let limit = error.limit { services.counts.hit(limit) }
            var reply = Reply(MCPReply.refusal(MCPError(error)), code: error.code)
            reply.retryAfterSeconds = error.retryAfterSeconds
            return reply
        }
        guard step.connects else { return nil }
        return refusal(
            .invalidRequest(
                "No devices are registered under this secret. Register the phone, or correct the secret.",
                status: 401), .unauthorized, &trace)
    }

    // MARK: Calls

    /// The caller of a tool.
    struct Caller {
        let secret: Secret
        let request: Request
    }

    /// Admits a call in the same way as the corresponding route.
    func admit(
        _ caller: Caller, to admission: Admission, _ trace: inout RequestTrace
    ) throws(APIError) -> AdmittedTenant {
        try services.admit(caller.secret, to: admission, caller.request, services.loop.now, &trace)
    }

    /// Performs a tool call.
    ///
    /// Errors that can be avoided with other arguments or a pause are returned as results, because the model sees only
    /// results.
    private func run(
        _ call: MCPCall, _ caller: Caller, _ trace: inout RequestTrace
    ) async -> Reply {
        do throws(APIError) {
            switch call.tool {
            case .sendNotification:
                return Reply(call.reply(try await send(call.arguments, caller, &trace)))
            case .askUser:
                return Reply(call.reply(try await ask(call.arguments, caller, &trace)))
            case .listDevices:
                return Reply(call.reply(try await list(call.arguments, caller, &trace)))
            case .scheduleNotification:
                return Reply(call.reply(try await schedule(call.arguments, caller, &trace)))
            case .listScheduled:
                return Reply(call.reply(try await listScheduled(call.arguments, caller, &trace)))
            case .cancelScheduled:
                return Reply(call.reply(try await cancelScheduled(call.arguments, caller, &trace)))
            }
        } catch {
            trace.add(error)
            if let limit = error.limit { services.counts.hit(limit) }
            guard let advice = error.adviceForModel else {
                var reply = Reply(call.reply(MCPError(error)), code: error.code)
                if reply.status >= 400 { reply.retryAfterSeconds = Reply(error).retryAfterSeconds }
                return reply
            }
            return Reply(call.reply(.failed(advice)), code: error.code)
        }
    }

    private func send(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        let arguments: NotificationArguments
        do throws(NotificationArguments.Fault) {
            arguments = try NotificationArguments(given)
        } catch {
            trace.add(.code(.invalidField))
            return .failed(error.sentence)
        }
        let content = try NotificationContent(
            RequestFields(arguments.notification, within: .notification))
        let tenant = try admit(caller, to: NotifyRoute.admission, &trace)
        let dispatch = Dispatch(
            tenant: tenant.key, content: content, audience: .all,
            origin: .request(eventID: arguments.eventID), at: services.shared.clock.now)
        return MCPToolResult(sending: try await services.send(dispatch, for: tenant, &trace).report)
    }

    private func list(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        guard given.members.isEmpty else { return .failed("list_devices takes no arguments.") }
        let tenant = try admit(caller, to: ListRoute.admission, &trace)
        let list = try await ListRoute(services: services).devices(of: tenant, &trace)
        return MCPToolResult(devices: list)
    }
}

extension Reply {
    /// The HTTP response that carries an MCP reply.
    fileprivate init(_ reply: MCPReply, code: ErrorCode? = nil) {
        self.init(status: reply.status, body: reply.body?.encoded() ?? [])
        self.code = code
    }
}

extension ErrorCode {
    /// The error code to log for a message that MCP refuses; `nil` on success.
    fileprivate init?(mcpStatus status: Int) {
        switch status {
        case ..<400: return nil
        case 404: self = .notFound
        default: self = .invalidBody
        }
    }
}

extension APIError {
    /// Advice to the model about the error, if there is any.
    fileprivate var adviceForModel: String? {
        switch code {
        case .payloadTooLarge:
            "\(hint ?? "The notification is too large.") Nothing was sent. Use a shorter sessionID."
        case .eventConflict:
            "Another notification was sent with this eventID, and nothing was sent now. Use a new eventID."
        case .rateLimited:
            "\(sentence) Nothing was done. Try again in \(retryAfterSeconds ?? 1) s."
        case .invalidField, .missingField: "\(sentence) Nothing was done. Correct the argument."
        case .scheduleLimit:
            "\(sentence) Nothing was scheduled. Cancel one that isn't needed: list_scheduled shows them."
        case .noDevices: MCPToolResult.noDevices
        default: nil
        }
    }
}

import HTTP2
import HTTPServer
import Network
import Programs

/// The simulated Web Push services of all vendors: one HTTPS listener, for HTTP/2 and HTTP/1.1.
struct WebPushDoor: Sendable {
    /// How long pending pushes may take when the simulator stops.
    static let stopDeadline = Duration.milliseconds(200)

    private let server: HTTPServer
    private let connections: LoopBound<WebPushConnections>

    /// Starts serving on its own event loop.
    ///
    /// - Parameter host: The host name in the endpoints.
    static func start(
        at address: SocketAddress, host: String, tls: TLSServerContext, desk: WebPushDesk
    ) async throws(NetworkError) -> (WebPushDoor, origin: String) {
        let loop = EventLoop(label: "webpush", timers: .precise)
        let connections = await loop.run { loop in LoopBound(WebPushConnections(desk), on: loop) }
        var options = HTTPServer.Options(address: address)
        options.tls = tls
        options.limits.bodyBytesMax = PushServer.limits.bodyBytes
        options.http2 = { connections.value.makeHandler() }
        var router = Router()
        router.fallback = { request, loop in
            let reaction = await desk.react(to: request, on: loop)
            if case .respond(let response) = reaction { return response }
            // HTTP/1.1 has no streams to reset.
            var response = Response()
            response.isWithheld = true
            return response
        }
        let server = try await HTTPServer.start(
            Service(router: router), options, ledger: ConnectionLedger(limits: options.limits), on: loop)
        let origin = "https://" + Endpoint(host: host, port: server.address.port).description
        desk.shared.withLock { $0.state.subscriptions.origin = origin }
        return (WebPushDoor(server: server, connections: connections), origin)
    }

    /// Stops serving and closes all connections.
    func stop() async {
        await server.stop(within: Self.stopDeadline)
        for task in await connections.loop.run({ _ in connections.value.close() }) { await task.value }
        await connections.loop.stop()
    }
}

/// Decides on Web Pushes and records them, whatever the HTTP version.
struct WebPushDesk: Sendable {
    /// What a connection does with a request.
    enum Reaction {
        case respond(Response)
        case reset(ErrorCode)
        case close
    }

    /// How long a stalled push stays unanswered before its connection is closed, in seconds.
    static let stallSecondsMax: Int64 = 3_600

    let shared: Lock<Shared>
    let printer: PushPrinter?

    /// Reacts after the decided delay; a cancelled task means that the client has disconnected.
    ///
    /// - Parameter stream: The request's own stream; `nil` with HTTP/1.1.
    func react(to request: Request, stream: StreamID? = nil, on loop: isolated EventLoop) async -> Reaction {
        let now = WallClock.system.now
        let (subscription, origin, clockOffset) = shared.withLock { shared in
            (
                shared.state.subscriptions[target: request.target], shared.state.subscriptions.origin ?? "",
                shared.state.settings.clockOffset ?? 0
            )
        }
        let checked = Result { () throws(WebPushRefusal) in
            try WebPushValidator(origin: origin).check(
                request, to: subscription, now: now / 1_000 + clockOffset)
        }
        let push = WebPushRequest(request, to: subscription)
        let decision = shared.withLock { $0.state.decide(checked, by: push.vendor ?? .google) }
        var record = PushRecord(
            receivedAt: now, push: .webPush(push), id: decision.id, detail: decision.detail,
            rule: decision.rule, outcome: .abandoned)
        if decision.delay > .zero, decision.action != .stall {
            try? await Task.sleep(for: decision.delay)
        }
        var reaction = Reaction.close
        if !Task.isCancelled {
            switch decision.action {
            case .pass: preconditionFailure("a decision never passes")
            case .answer(let answer):
                record.outcome = .answered(status: answer.status, reason: answer.reason)
                reaction = .respond(
                    WebPushWriter.response(
                        answer, by: push.vendor, id: decision.id,
                        timeToLive: (try? checked.get())?.timeToLive, origin: origin))
            case .stall: record.outcome = .stalled
            case .reset(let code) where stream != nil:
                record.outcome = .reset(code)
                reaction = .reset(code)
            case .reset, .close: record.outcome = .closed
            }
        }
        let sealed = record
        shared.withLock { $0.seal(sealed, hasClientID: false) }
        printer?.print(sealed, on: loop)
        if sealed.outcome == .stalled { try? await Task.sleep(for: .seconds(Self.stallSecondsMax)) }
        return reaction
    }
}

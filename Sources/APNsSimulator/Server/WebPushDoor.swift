import HTTPServer
import Network
import Programs

/// The simulated Web Push services of all vendors: one HTTPS listener, HTTP/1.1.
struct WebPushDoor: Sendable {
    /// The largest body that gets a vendor's answer, in bytes; a larger one gets a plain 413.
    static let bodyBytesMax = 256 * 1024
    /// The longest time that a push is not answered, in seconds; then its connection is closed.
    static let stallSecondsMax: Int64 = 3_600
    /// How long pending pushes may take when the simulator stops.
    static let stopDeadline = Duration.milliseconds(200)

    private let loop: EventLoop
    private let server: HTTPServer

    /// Starts serving on an event loop of its own.
    ///
    /// - Parameter host: The host of the endpoints, a name.
    static func start(
        at address: SocketAddress, host: String, tls: TLSServerContext, shared: Lock<Shared>,
        printer: PushPrinter?
    ) async throws(NetworkError) -> (WebPushDoor, origin: String) {
        var options = HTTPServer.Options(address: address)
        options.tls = tls
        options.limits.bodyBytesMax = bodyBytesMax
        var router = Router()
        router.fallback = { request, loop in
            await answer(request, shared: shared, printer: printer, on: loop)
        }
        let loop = EventLoop(label: "webpush", timers: .precise)
        let server = try await HTTPServer.start(
            Service(router: router), options, ledger: ConnectionLedger(limits: options.limits), on: loop)
        let origin = "https://" + Endpoint(host: host, port: server.address.port).description
        shared.withLock { $0.state.subscriptions.origin = origin }
        return (WebPushDoor(loop: loop, server: server), origin)
    }

    /// Stops serving and closes all connections.
    func stop() async {
        await server.stop(within: Self.stopDeadline)
        await loop.stop()
    }

    private static func answer(
        _ request: Request, shared: Lock<Shared>, printer: PushPrinter?, on loop: isolated EventLoop
    ) async -> Response {
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
        let vendor = push.vendor
        let decision = shared.withLock { $0.state.decide(checked, by: vendor ?? .google) }
        var record = PushRecord(
            receivedAt: now, push: .webPush(push), id: decision.id, detail: decision.detail,
            rule: decision.rule, outcome: .abandoned)
        if decision.delay > .zero, decision.action != .stall {
            // Ends early if the client leaves.
            try? await Task.sleep(for: decision.delay)
        }
        var response = Response()
        response.isWithheld = true
        if !Task.isCancelled {
            switch decision.action {
            case .pass: preconditionFailure("a decision never passes")
            case .answer(let answer):
                record.outcome = .answered(status: answer.status, reason: answer.reason)
                response = WebPushWriter.response(
                    answer, by: vendor, id: decision.id, timeToLive: (try? checked.get())?.timeToLive,
                    origin: origin)
            case .stall: record.outcome = .stalled
            case .reset, .close: record.outcome = .closed
            }
        }
        let sealed = record
        shared.withLock { $0.seal(sealed, hasClientID: false) }
        printer?.print(sealed, on: loop)
        if sealed.outcome == .stalled { try? await Task.sleep(for: .seconds(stallSecondsMax)) }
        return response
    }
}

import HTTPServer
import Network

/// The admin listener: `/metrics` for Prometheus, the probes, and what `relay revoke` asks, on an address and a thread of their own.
///
/// Never on the public listener: what it tells is for whoever runs the relay.
struct AdminServer: Sendable {
    /// The listener's paths.
    enum Path: String, CaseIterable {
        case metrics = "/metrics"
        case health = "/health"
        case ready = "/ready"
        case revoke = "/v1/secret/revoke"
    }

    /// Where it listens; port 0 has become the one that the system chose.
    let address: SocketAddress
    private let loop: EventLoop
    private let server: HTTPServer

    /// The address to listen on, checked before anything expensive is opened.
    ///
    /// A default address that another program has becomes ``ListenAddress/off``, with a warning: the relay's work
    /// doesn't depend on it.
    static func available(_ listen: ListenAddress, log: Log) throws(StartFailure) -> ListenAddress {
        guard let address = listen.address, address.port != 0 else { return listen }
        do throws(NetworkError) {
            try Listener.checkFree(address)
            return listen
        } catch {
            guard listen.isDefault, case .addressInUse = error else { throw failure(error) }
            log(
                .warning, "admin.off",
                [.note("error", error.description), .note("setting", "RELAY_ADMIN_LISTEN")])
            return .off
        }
    }

    /// Serves what `metrics` says; `nil` when that is switched off.
    static func start(
        _ listen: ListenAddress, access: AdminGuard, metrics: MetricsSource, revocation: Revocation, log: Log
    ) async throws(StartFailure) -> AdminServer? {
        guard let address = listen.address else { return nil }
        var options = HTTPServer.Options(address: address)
        options.limits.bodyBytesMax = Bounds.requestBodyBytesMax
        options.limits.connectionsMax = Bounds.adminConnectionsMax
        options.limits.connectionsPerAddressMax = Bounds.adminConnectionsMax
        let loop = EventLoop(label: "relay.admin")
        do throws(NetworkError) {
            let server = try await HTTPServer.start(
                service(access, metrics, revocation, log), options,
                ledger: ConnectionLedger(limits: options.limits),
                on: loop)
            return AdminServer(address: server.address, loop: loop, server: server)
        } catch {
            await loop.stop()
            throw failure(error)
        }
    }

    /// Answers what it is asked now, and ends.
    func stop() async {
        await server.stop(within: Bounds.adminClosingDeadline)
        await loop.stop()
    }

    private static func service(
        _ access: AdminGuard, _ metrics: MetricsSource, _ revocation: Revocation, _ log: Log
    ) -> Service {
        var router = Router()
        router.on(.get, Path.metrics.rawValue) { request, _ in
            if let refusal = access.refusal(of: request, isOpen: false, changesData: false) {
                return refusal.response
            }
            guard let snapshot = await metrics.snapshot() else {
                log(.warning, "metrics.failed", [.reason("an event loop does not answer")])
                return Response(
                    status: .serviceUnavailable, contentType: "text/plain; charset=utf-8",
                    body: Array("an event loop does not answer\n".utf8))
            }
            return Response(
                contentType: Exposition.contentType, body: Exposition.text(Metrics.table, of: snapshot))
        }
        router.onSync(.get, Path.health.rawValue) { _ in Reply.ok.response(requestID: nil) }
        router.on(.get, Path.ready.rawValue) { request, _ in
            if let refusal = access.refusal(of: request, isOpen: true, changesData: false) {
                return refusal.response
            }
            return await metrics.readiness().reply.response(requestID: nil)
        }
        let bucket = TokenBucket(perMinute: Bounds.adminChangesPerMinute)
        let fullAt = Lock(MonotonicTime(nanoseconds: 0))
        router.on(.post, Path.revoke.rawValue) { request, _ in
            if let refusal = access.refusal(of: request, isOpen: false, changesData: true) {
                log(.warning, "secret.not_revoked", [.reason("\(refusal)")])
                return refusal.response
            }
            let taking = fullAt.withLock { moment in
                let taking = bucket.take(fullAt: moment, at: .current)
                if case .taken(let next) = taking { moment = next }
                return taking
            }
            if case .refused(let wait) = taking { return AdminGuard.Refusal.rate(wait: wait).response }
            return await revocation.answer(request)
        }
        return Service(router: router)
    }

    private static func failure(_ error: NetworkError) -> StartFailure {
        let hint = if case .addressInUse = error { ", or off" } else { "" }
        return StartFailure(.unavailable, "RELAY_ADMIN_LISTEN: \(error.description)\(hint)")
    }
}

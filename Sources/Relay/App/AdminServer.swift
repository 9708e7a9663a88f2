import HTTPServer
import Network
import Storage

/// The admin listener: `/metrics`, health probes, the console, and requests from commands that change data.
///
/// It has its own address and thread, because its information is only for the relay's operator.
struct AdminServer: Sendable {
    /// The listener's paths.
    enum Path: String, CaseIterable {
        case metrics = "/metrics"
        case health = "/health"
        case ready = "/ready"
        case revoke = "/v1/secret/revoke"
        case block = "/v1/secret/block"
        case unblock = "/v1/secret/unblock"
        case cancelSchedule = "/v1/schedule/cancel"
        case revokeToken = "/v1/token/revoke"
        case logLevel = "/v1/log-level"
    }

    /// The listening address, as a URL or as configured; port 0 is replaced by the chosen port.
    let place: String
    private let loop: EventLoop
    private let server: HTTPServer
    /// Records the last hour for the console.
    private let recording: Task<Void, Never>

    /// The address to listen on.
    ///
    /// If another program uses the default address, this is ``ListenAddress/off``: the relay works without the
    /// listener.
    static func available(_ listen: ListenAddress) throws(StartError) -> ListenAddress {
        do throws(NetworkError) {
            if let path = listen.unixPath { try Listener.checkFree(unixPath: path) }
            if let address = listen.address, address.port != 0 { try Listener.checkFree(address) }
            return listen
        } catch {
            guard listen.isDefault, case .addressInUse = error else { throw failure(error) }
            return .off
        }
    }

    /// Starts the listener; `nil` if it is off.
    static func start(
        _ listen: ListenAddress, access: AdminGuard, metrics: MetricsSource, console: Console,
        revocation: Revocation, blocking: Blocking, removals: NamedRemovals, log: Log
    ) async throws(StartError) -> AdminServer? {
        guard !listen.isOff, let anyPort = SocketAddress(ip: "127.0.0.1", port: 0) else { return nil }
        var options = HTTPServer.Options(address: listen.address ?? anyPort)
        options.unixPath = listen.unixPath
        options.limits.bodyBytesMax = Bounds.requestBodyBytesMax
        options.limits.connectionsMax = Bounds.adminConnectionsMax
        options.limits.connectionsPerAddressMax = Bounds.adminConnectionsMax
        let loop = EventLoop(label: "relay.admin")
        do throws(NetworkError) {
            let server = try await HTTPServer.start(
                service(access, metrics, console, revocation, blocking, removals, log), options,
                ledger: ConnectionLedger(limits: options.limits),
                on: loop)
            let place = listen.unixPath == nil ? "http://\(server.address)" : listen.text
            return AdminServer(
                place: place, loop: loop, server: server, recording: Task { await console.run() })
        } catch {
            await loop.stop()
            throw failure(error)
        }
    }

    /// Responds to pending requests, then stops.
    func stop() async {
        recording.cancel()
        await server.stop(within: Bounds.adminClosingDeadline)
        await loop.stop()
        await recording.value
    }

    private static func service(
        _ access: AdminGuard, _ metrics: MetricsSource, _ console: Console, _ revocation: Revocation,
        _ blocking: Blocking, _ removals: NamedRemovals, _ log: Log
    ) -> Service {
        var router = Router()
        router.on(.get, Path.metrics.rawValue) { request, _ in
            if let refusal = access.refusal(of: request, isOpen: false, changesData: false) {
                return refusal.response
            }
            guard let snapshot = await metrics.snapshot() else {
                log(.warning, "metrics.failed", [.reason("an event loop does not respond")])
                return .silentLoop
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
        let changes = AdminChanges(access)
        let answers: [(Path, @Sendable (Request) async -> Response)] = [
            (.revoke, { await revocation.answer($0) }), (.block, { await blocking.block($0) }),
            (.unblock, { await blocking.unblock($0) }),
            (
                .cancelSchedule,
                { request in
                    await removals.answer(request) { fields throws(APIError) in
                        .schedule(try ScheduleReference(fields))
                    }
                }
            ),
            (
                .revokeToken,
                { request in
                    await removals.answer(request) { fields throws(APIError) in
                        .accessToken(try TokenRevokeRequest(fields).id)
                    }
                }
            ),
        ]
        for (path, answer) in answers {
            router.on(.post, path.rawValue) { request, _ in
                if let refusal = changes.refusal(of: request) {
                    log(
                        .warning, path == .revoke ? "secret.not_revoked" : "secret.not_changed",
                        [.reason(refusal.name)])
                    return refusal.response
                }
                return await answer(request)
            }
        }
        console.add(to: &router)
        LogLevelRoute(log: log, access: access, changes: changes).add(to: &router)
        return Service(router: router)
    }

    private static func failure(_ error: NetworkError) -> StartError {
        let hint = if case .addressInUse = error { ", or off" } else { "" }
        return StartError(.adminAddress, "RELAY_ADMIN_LISTEN: \(error.description)\(hint)")
    }
}

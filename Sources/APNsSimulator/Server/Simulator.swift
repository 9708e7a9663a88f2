package import Network
package import PushSealing

/// The simulated APNs (both environments, on several event loops) and Web Push services, with shared state.
package final class Simulator: Sendable {
    /// The options for starting the simulator.
    package struct Options: Sendable {
        package var start = SimulatorState.Start()
        package var keys = KeyPolicy.anyKey
        /// The number of event loops that serve pushes.
        package var loops = 1
        /// The IP address for both environments.
        package var host = "127.0.0.1"
        /// 0: a free port chosen by the system.
        package var productionPort: UInt16 = 0
        package var sandboxPort: UInt16 = 0
        /// `nil`: no Web Push services.
        package var webPushPort: UInt16?
        /// The host of Web Push endpoints.
        package var webPushHost = "localhost"
        /// How pushes are printed to standard output; `nil`: not at all.
        package var print: PushPrinter.Form?
        /// The keys that open sealed notifications when pushes are shown.
        package var notificationKeys: [NotificationKey] = []

        /// One loop on loopback, accepting any key.
        package init() {}
    }

    let shared: Lock<Shared>
    private let servers: [LoopBound<PushServer>]
    let notificationKeys: [NotificationKey]
    /// The address of each environment.
    package let addresses: [PushEnvironment: SocketAddress]
    private let webPushDoor: WebPushDoor?
    /// The origin of Web Push endpoints; `nil` without Web Push services.
    package let webPushOrigin: String?

    /// Starts serving.
    ///
    /// - Parameters:
    ///   - tls: For APNs.
    ///   - webPushTLS: For the Web Push services.
    package static func start(
        _ options: Options, tls: TLSServerContext, webPushTLS: TLSServerContext
    ) async throws(NetworkError) -> Simulator {
        let shared = Lock(Shared(SimulatorState(options.start)))
        let printer = options.print.map { PushPrinter($0, keys: options.notificationKeys) }
        var addresses: [PushEnvironment: SocketAddress] = [:]
        for (environment, port) in [
            (PushEnvironment.production, options.productionPort), (.sandbox, options.sandboxPort),
        ] {
            guard let address = SocketAddress(ip: options.host, port: port) else {
                throw .badAddress(options.host)
            }
            try Listener.checkFree(address)
            addresses[environment] = address
        }
        var servers: [LoopBound<PushServer>] = []
        for index in 0..<max(1, options.loops) {
            let loop = EventLoop(label: "apns.\(index)", timers: .precise)
            let wanted = addresses
            let (server, bound) = try await loop.run {
                loop throws(NetworkError) -> (LoopBound<PushServer>, [PushEnvironment: SocketAddress]) in
                let server = PushServer(on: loop, shared: shared, keys: options.keys, printer: printer)
                var bound: [PushEnvironment: SocketAddress] = [:]
                for (environment, address) in wanted {
                    bound[environment] = try server.listen(
                        environment, at: address, isShared: options.loops > 1, tls: tls)
                }
                return (LoopBound(server, on: loop), bound)
            }
            servers.append(server)
            addresses = bound
        }
        var webPush: (door: WebPushDoor, origin: String)?
        if let port = options.webPushPort {
            guard let address = SocketAddress(ip: options.host, port: port) else {
                throw .badAddress(options.host)
            }
            webPush = try await WebPushDoor.start(
                at: address, host: options.webPushHost, tls: webPushTLS,
                desk: WebPushDesk(shared: shared, printer: printer))
        }
        return Simulator(
            shared: shared, servers: servers, addresses: addresses, webPush: webPush,
            notificationKeys: options.notificationKeys)
    }

    private init(
        shared: Lock<Shared>, servers: [LoopBound<PushServer>], addresses: [PushEnvironment: SocketAddress],
        webPush: (door: WebPushDoor, origin: String)?, notificationKeys: [NotificationKey]
    ) {
        webPushDoor = webPush?.door
        webPushOrigin = webPush?.origin
        self.notificationKeys = notificationKeys
        self.shared = shared
        self.servers = servers
        self.addresses = addresses
    }

    /// Stops serving and closes all connections.
    package func stop() async {
        await webPushDoor?.stop()
        for server in servers {
            await server.loop.run { _ in server.value.stop() }
            await server.loop.stop()
        }
    }

    /// Applies a command to the matching connections and returns how many there were.
    package func apply(_ command: ConnectionCommand, to target: ConnectionTarget) async -> Int {
        var count = 0
        for server in servers {
            count += await server.loop.run { _ in server.value.apply(command, to: target) }
        }
        return count
    }

    /// Applies changed settings on every loop.
    package func applySettings() async {
        let settings = shared.withLock { $0.state.settings }
        for server in servers { await server.loop.run { _ in server.value.apply(settings) } }
    }

    /// The open connections, oldest first.
    package func connections() async -> [ConnectionInfo] {
        var infos: [ConnectionInfo] = []
        for server in servers { infos += await server.loop.run { _ in server.value.infos } }
        return infos.sorted { $0.id < $1.id }
    }

    /// Waits at most `wait` for a push numbered above `cursor`.
    ///
    /// Call it on `loop`, whose timer it uses.
    func waitForPush(after cursor: UInt64, wait: Duration, on loop: isolated EventLoop) async {
        var timer: Timer?
        var waiting: PushWaiter?
        await withCheckedContinuation { continuation in
            let waiter = PushWaiter(continuation)
            waiting = waiter
            let isThere = shared.withLock { shared in
                guard shared.state.log.last <= cursor else { return true }
                shared.waiters.append(waiter)
                return false
            }
            guard !isThere else { return waiter.wake() }
            timer = Timer(on: loop) { waiter.wake() }
            timer?.schedule(after: wait)
        }
        timer?.cancel()
        shared.withLock { shared in shared.waiters.removeAll { $0 === waiting } }
    }
}

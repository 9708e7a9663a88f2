package import Network

/// The simulated APNs: both environments on several event loops, behind what they share.
package final class Simulator: Sendable {
    /// What the simulator is started with.
    package struct Options: Sendable {
        package var start = SimulatorState.Start()
        package var keys = KeyPolicy.anyKey
        /// How many event loops serve pushes.
        package var loops = 1
        /// The address that both environments are served at.
        package var host = "127.0.0.1"
        /// 0: the system chooses.
        package var productionPort: UInt16 = 0
        package var sandboxPort: UInt16 = 0
        /// How pushes are printed on standard output; `nil`: not at all.
        package var print: PushPrinter.Form?

        /// One loop on loopback, with any key.
        package init() {}
    }

    let shared: Lock<Shared>
    private let servers: [LoopBound<PushServer>]
    /// Where each environment is served.
    package let addresses: [PushEnvironment: SocketAddress]

    /// Starts serving.
    package static func start(
        _ options: Options, tls: TLSServerContext
    ) async throws(NetworkError) -> Simulator {
        let shared = Lock(Shared(SimulatorState(options.start)))
        let printer = options.print.map { PushPrinter($0) }
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
        return Simulator(shared: shared, servers: servers, addresses: addresses)
    }

    private init(
        shared: Lock<Shared>, servers: [LoopBound<PushServer>], addresses: [PushEnvironment: SocketAddress]
    ) {
        self.shared = shared
        self.servers = servers
        self.addresses = addresses
    }

    /// Stops serving: every connection is cut.
    package func stop() async {
        for server in servers {
            await server.loop.run { _ in server.value.stop() }
            await server.loop.stop()
        }
    }

    /// Does something to connections and returns how many they were, when it is done.
    package func apply(_ command: ConnectionCommand, to target: ConnectionTarget) async -> Int {
        var count = 0
        for server in servers {
            count += await server.loop.run { _ in server.value.apply(command, to: target) }
        }
        return count
    }

    /// Makes the shared settings hold on every loop.
    package func applySettings() async {
        let settings = shared.withLock { $0.state.settings }
        for server in servers { await server.loop.run { _ in server.value.apply(settings) } }
    }

    /// The open connections, the oldest first.
    package func connections() async -> [ConnectionInfo] {
        var infos: [ConnectionInfo] = []
        for server in servers { infos += await server.loop.run { _ in server.value.infos } }
        return infos.sorted { $0.id < $1.id }
    }

    /// Waits until there is a push behind `cursor`, for `wait` at most.
    ///
    /// Called on `loop`, whose timer is used.
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

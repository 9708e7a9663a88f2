import APNs
import HTTPServer
import Network

/// The event loops, and on each a server and its connections to APNs.
struct Serving {
    private var loops: [EventLoop] = []
    private var servers: [HTTPServer] = []
    private var clients: [LoopBound<LoopClients>] = []
    private var services: [LoopBound<LoopServices>] = []
    /// Sends what waits, on the first loop.
    private var worker: LoopBound<RetryWorker>?
    /// Where the servers listen; port 0 has become the one that the system chose.
    private(set) var address: SocketAddress?

    private let wanted: SocketAddress
    /// Counts the clients' connections; made at the start.
    private var ledger: ConnectionLedger?

    /// Starts so many loops, and finds out whether the address can be listened on.
    init(_ configuration: ServerConfiguration, loops count: Int) throws(StartFailure) {
        guard let wanted = SocketAddress(ip: configuration.host, port: configuration.port) else {
            throw StartFailure(.configuration, "\(Quoted.value(configuration.host)) is no address")
        }
        self.wanted = wanted
        do throws(NetworkError) {
            if wanted.port != 0 { try Listener.checkFree(wanted) }
        } catch {
            throw StartFailure(.unavailable, error.description)
        }
        for index in 0..<count { loops.append(EventLoop(label: "relay.loop.\(index)")) }
    }

    /// Starts a server on each loop, all on one address.
    ///
    /// After a failure ``stop(within:)`` takes down what was started.
    mutating func start(
        _ configuration: ServerConfiguration, tls: TLSServerContext?, services: Services, apns: APNsSide
    ) async throws(StartFailure) {
        var options = Self.options(configuration, wanted, tls: tls, log: services.log)
        options.isShared = loops.count > 1
        let ledger = ConnectionLedger(limits: options.limits, isExempt: configuration.trustedProxies.contains)
        self.ledger = ledger
        for loop in loops {
            do throws(NetworkError) {
                let waitingMax = services.limits.waitingPushesPerLoopMax
                let count = loops.count
                let clients = await loop.run { loop in
                    LoopBound(apns.clients(on: loop, loops: count, waitingMax: waitingMax), on: loop)
                }
                self.clients.append(clients)
                let bound = await loop.run { loop in
                    LoopBound(
                        LoopServices(loop: loop, shared: services, apps: apns.apps, senders: clients.value),
                        on: loop)
                }
                self.services.append(bound)
                if worker == nil {
                    worker = await loop.run { loop in
                        let worker = RetryWorker(on: bound.value)
                        worker.start()
                        return LoopBound(worker, on: loop)
                    }
                }
                let server = try await HTTPServer.start(API(bound).service, options, ledger: ledger, on: loop)
                servers.append(server)
                // The loops after the first share the port that the first was given.
                options.address = server.address
                address = server.address
            } catch {
                throw StartFailure(.unavailable, error.description)
            }
        }
    }

    /// Where metrics come from, once it has started.
    func metrics(
        _ configuration: ServerConfiguration, tls: TLSServerContext?, shared: Services, database: String
    ) -> MetricsSource? {
        guard let ledger else { return nil }
        return MetricsSource(
            loops: zip(services, clients).map { MetricsSource.Loop(services: $0, clients: $1) },
            shared: shared, ledger: ledger, connectionsMax: configuration.connectionsMax, tls: tls,
            database: database)
    }

    /// Goes on with other apps on every loop; keys that are gone finish what they have.
    func use(_ apps: Apps) async {
        for (clients, services) in zip(clients, services) {
            await clients.loop.run { loop in
                services.value.use(apps)
                clients.value.keep(apps.keys, on: loop)
            }
        }
    }

    /// Stops accepting, lets what is in flight be answered until the deadline, then ends the loops.
    mutating func stop(within deadline: Duration) async {
        let end = MonotonicTime.current + deadline
        await withTaskGroup { group in
            for server in servers { group.addTask { await server.stop(within: deadline) } }
            if let worker {
                group.addTask { await worker.loop.run { _ in await worker.value.stop(within: deadline) } }
            }
        }
        // Pushes that are still out belong to events whose answer went out without them: cut off they would be sent again.
        let left = max(end.since(MonotonicTime.current), Bounds.apnsClosingDeadline)
        await withTaskGroup { group in
            for clients in clients {
                group.addTask {
                    await clients.loop.run { loop in await clients.value.stop(on: loop, deadline: left) }
                }
            }
        }
        servers = []
        worker = nil
        clients = []
        services = []
        for loop in loops { await loop.stop() }
        loops = []
    }

    private static func options(
        _ configuration: ServerConfiguration, _ address: SocketAddress, tls: TLSServerContext?, log: Log
    ) -> HTTPServer.Options {
        var options = HTTPServer.Options(address: address)
        options.tls = tls
        options.limits.bodyBytesMax = Bounds.requestBodyBytesMax
        options.limits.headDeadline = configuration.headDeadline
        options.limits.bodyDeadline = configuration.bodyDeadline
        options.limits.idleDeadline = configuration.idleTimeout
        options.limits.handshakeDeadline = configuration.tlsHandshakeDeadline
        options.limits.connectionsMax = configuration.connectionsMax
        options.limits.connectionsPerAddressMax = configuration.connectionsPerAddressMax
        options.limits.connectionMemoryBytesMax = configuration.connectionsMemoryMiB << 20
        options.onExhausted = { number in
            log(.error, "accept.failed", [.reason(FileFault(errno: number).reason)])
        }
        return options
    }
}

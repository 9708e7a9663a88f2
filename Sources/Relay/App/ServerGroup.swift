import APNs
import HTTPServer
import Network
import Programs
import WebPush

/// The event loops, each with a server and its connections to APNs.
struct ServerGroup {
    private var loops: [EventLoop] = []
    private var servers: [HTTPServer] = []
    private var clients: [LoopBound<LoopClients>] = []
    private var services: [LoopBound<LoopServices>] = []
    private var webPushSenders: [LoopBound<WebPush.Sender>] = []
    /// The workers on the first loop that send queued pushes and scheduled dispatches.
    private var workers: [LoopBound<DueWorker>] = []
    /// The listening address; port 0 is replaced by the chosen port.
    private(set) var address: SocketAddress?

    private let wanted: SocketAddress
    /// Counts client connections; created at startup.
    private var ledger: ConnectionLedger?

    /// Starts the loops.
    init(_ configuration: ServerConfiguration, loops count: Int) throws(StartError) {
        guard let wanted = SocketAddress(ip: configuration.host, port: configuration.port) else {
            throw StartError(.address, "\(Quoted.value(configuration.host)) is not an IP address")
        }
        self.wanted = wanted
        for index in 0..<count { loops.append(EventLoop(label: "relay.loop.\(index)")) }
    }

    /// Starts a server on each loop, all on one address.
    ///
    /// After a failure, ``stop(within:)`` stops the servers that were started.
    mutating func start(
        _ configuration: ServerConfiguration, tls: TLSServerContext?, services: Services, apns: APNsBackend,
        webPush: WebPushBackend?
    ) async throws(StartError) {
        var options = Self.options(configuration, wanted, tls: tls, log: services.log)
        options.isShared = loops.count > 1
        let ledger = ConnectionLedger(limits: options.limits, isExempt: configuration.trustedProxies.contains)
        self.ledger = ledger
        let page = configuration.servesPage ? Page() : nil
        for loop in loops {
            do throws(NetworkError) {
                let waitingMax = services.limits.waitingPushesPerLoopMax
                let count = loops.count
                let clients = await loop.run { loop in
                    LoopBound(apns.clients(on: loop, loops: count, waitingMax: waitingMax), on: loop)
                }
                self.clients.append(clients)
                let sender = await loop.run { loop in webPush.map { LoopBound($0.sender(on: loop), on: loop) }
                }
                if let sender { webPushSenders.append(sender) }
                let bound = await loop.run { loop in
                    LoopBound(
                        LoopServices(
                            loop: loop, shared: services, apps: apns.apps, senders: clients.value,
                            webPushSender: sender?.value),
                        on: loop)
                }
                self.services.append(bound)
                if workers.isEmpty {
                    workers = await loop.run { loop in
                        let services = bound.value
                        let works: [any DueWork] = [DuePushes(on: services), DueSchedules(on: services)]
                        return works.map { work in
                            let worker = DueWorker(work, on: services)
                            worker.start()
                            return LoopBound(worker, on: loop)
                        }
                    }
                }
                let server = try await HTTPServer.start(
                    API(bound, page: page, hasDoors: configuration.hasDoors).service, options, ledger: ledger,
                    on: loop)
                servers.append(server)
                // The other loops share the port chosen for the first.
                options.address = server.address
                address = server.address
            } catch {
                throw StartError(.address, error.description)
            }
        }
    }

    /// The source of metrics; `nil` before startup.
    func metrics(
        _ configuration: ServerConfiguration, tls: TLSServerContext?, shared: Services, database: String
    ) -> MetricsSource? {
        guard let ledger else { return nil }
        return MetricsSource(
            loops: zip(services, clients).map { MetricsSource.Loop(services: $0, clients: $1) },
            shared: shared, ledger: ledger, connectionsMax: configuration.connectionsMax, tls: tls,
            database: database)
    }

    /// Replaces the apps on every loop; clients for removed keys finish their pushes.
    func use(_ apps: Apps) async {
        for (clients, services) in zip(clients, services) {
            await clients.loop.run { loop in
                services.value.use(apps)
                clients.value.keep(apps.keys, on: loop)
            }
        }
    }

    /// Has every loop read the system's time zones again.
    func renewTimeZones() async {
        for services in services {
            await services.loop.run { _ in services.value.renewTimeZones() }
        }
    }

    /// Stops accepting requests, waits for those in flight until the deadline, then ends the loops.
    mutating func stop(within deadline: Duration) async {
        let end = MonotonicTime.current + deadline
        await withTaskGroup { group in
            for server in servers { group.addTask { await server.stop(within: deadline) } }
            for worker in workers {
                group.addTask { await worker.loop.run { _ in await worker.value.stop(within: deadline) } }
            }
        }
        // The events' responses didn't wait for these pushes; pushes that are cut off would be sent again.
        let left = max(end.since(MonotonicTime.current), Bounds.apnsClosingDeadline)
        await withTaskGroup { group in
            for clients in clients {
                group.addTask {
                    await clients.loop.run { loop in await clients.value.stop(on: loop, deadline: left) }
                }
            }
            for sender in webPushSenders {
                group.addTask { await sender.loop.run { _ in await sender.value.stop(deadline: left) } }
            }
        }
        servers = []
        workers = []
        clients = []
        webPushSenders = []
        services = []
        for loop in loops { await loop.stop() }
        loops = []
    }

    private static func options(
        _ configuration: ServerConfiguration, _ address: SocketAddress, tls: TLSServerContext?, log: Log
    ) -> HTTPServer.Options {
        var options = HTTPServer.Options(address: address)
        options.tls = tls
        options.limits.bodyBytesMax = BodyBounds.single.bytesMax
        let batches: [RouteName] = [.events, .expoSend, .expoReceipts, .openChamberSend]
        options.limits.bodyBytesMaxOfPaths = Dictionary(
            uniqueKeysWithValues: batches.map { ($0.path, BodyBounds.batch.bytesMax) })
        options.limits.headDeadline = configuration.headDeadline
        options.limits.bodyDeadline = configuration.bodyDeadline
        options.limits.idleDeadline = configuration.idleTimeout
        options.limits.handshakeDeadline = configuration.tlsHandshakeDeadline
        options.limits.connectionsMax = configuration.connectionsMax
        options.limits.connectionsPerAddressMax = configuration.connectionsPerAddressMax
        options.limits.connectionMemoryBytesMax = configuration.connectionsMemoryMiB << 20
        options.onExhausted = { number in
            log(.error, "accept.failed", [.reason(FileError(errno: number).reason)])
        }
        return options
    }
}

import APNs
import HTTPServer
import Network
import Storage

/// Puts the program together, runs it, and takes it apart again in the right order.
///
/// The only place that knows every part.
struct Application {
    private let configuration: ServeConfiguration
    private let log: Log

    /// Serves until a request to stop, and says how the process shall end.
    static func run(
        _ configuration: ServeConfiguration, requests: AsyncStream<SignalRequest>,
        isStopping: @escaping @Sendable () -> Bool
    ) async -> ExitStatus {
        let isTerminal = StandardError.isTerminal
        let formatter = LogFormatter(
            format: configuration.log.format ?? (isTerminal ? .text : .json), colour: isTerminal)
        let log = Log(level: configuration.log.level, formatter: formatter, write: StandardError.write)
        let application = Application(configuration: configuration, log: log)
        let status: ExitStatus
        do throws(StartFailure) {
            try await application.serve(requests, isStopping)
            status = .success
        } catch {
            await log.close()
            StandardError.message(error.message)
            return error.status
        }
        await log.close()
        return status
    }

    // MARK: Life

    private func serve(
        _ requests: AsyncStream<SignalRequest>, _ isStopping: @escaping @Sendable () -> Bool
    ) async throws(StartFailure) {
        let tls = try loadTLS()
        let apns = try APNsSide(configuration.apns, log: log)
        let adminListen = try AdminServer.available(configuration.server.adminListen, log: log)
        var serving = try Serving(configuration.server, loops: loopCount)
        let storage: any Storage
        do throws(StartFailure) {
            storage = try await openStorage(isStopping)
        } catch {
            await serving.stop(within: .zero)
            throw error
        }
        let deliveryLog = DeliveryLog(storage: storage, log: log)
        let queue = PushQueue(storage: storage, log: log, options: queueOptions)
        let services = makeServices(storage, deliveryLog, queue, apns)
        var server = configuration.server
        server.connectionsMax = connectionsMax(of: server)
        server.adminListen = adminListen
        let admin: AdminServer?
        do throws(StartFailure) {
            try await serving.start(server, tls: tls, services: services, apns: apns)
            admin = try await startAdmin(serving, server, tls, services)
        } catch {
            await serving.stop(within: .zero)
            await storage.close()
            throw error
        }
        logStart(serving.address, admin?.address)
        let upkeep = Upkeep(
            storage: storage, log: log, clock: services.clock, retention: configuration.delivery.logRetention)
        let upkeeping = Task { await upkeep.run() }
        await withTaskGroup { group in
            group.addTask { await deliveryLog.run() }
            group.addTask { await queue.run() }
            await untilStop(requests, tls, apns, serving, services)
            log(
                .info, "stopping",
                [.note("deadline", DurationText.render(configuration.server.shutdownDeadline))])
            await serving.stop(within: configuration.server.shutdownDeadline)
            await admin?.stop()
            upkeeping.cancel()
            // Not cancelled: what they still have is written, and tried again for a while.
            queue.finish()
            deliveryLog.finish()
        }
        await upkeeping.value
        await storage.close()
        log(.info, "stopped")
    }

    /// Waits for the request to stop, and obeys the others on the way.
    private func untilStop(
        _ requests: AsyncStream<SignalRequest>, _ tls: TLSServerContext?, _ apns: APNsSide,
        _ serving: Serving, _ services: Services
    ) async {
        for await request in requests {
            switch request {
            case .stop: return
            case .reload:
                reload(tls)
                await reloadApps(apns, serving, services)
            }
        }
    }

    /// Reads the apps file again; one that has a problem changes nothing.
    private func reloadApps(_ apns: APNsSide, _ serving: Serving, _ services: Services) async {
        guard let path = configuration.apns.appsFile else { return }
        switch AppsFile.read(path, keeping: apns.apps.keys) {
        case .success(let apps):
            apns.use(apps)
            await serving.use(apps)
            services.apnsHealth.use(apps)
            log(.info, "reload", [.count("apps", apps.count ?? 1), .count("keys", apps.keys.count)])
        case .failure(let problems):
            for problem in problems.all.prefix(Bounds.problemsLoggedMax) {
                log(.error, "reload.failed", [.note("file", "APNS_APPS_FILE"), .note("error", problem)])
            }
            log(
                .error, "reload.failed", [.count("problems", problems.all.count), .note("apps", "unchanged")])
        }
    }

    private func reload(_ tls: TLSServerContext?) {
        guard let tls else {
            log(.info, "reload", [.note("certificate", "none")])
            return
        }
        do throws(NetworkError) {
            try tls.reload()
            log(.info, "reload", [.note("certificate", "read again")])
        } catch {
            log(.error, "reload.failed", [.note("error", error.description)])
        }
    }

    // MARK: Parts

    private var loopCount: Int {
        configuration.server.loops ?? min(max(1, Processors.count), Bounds.loopsDefaultMax)
    }

    private func loadTLS() throws(StartFailure) -> TLSServerContext? {
        guard let files = configuration.server.tls else { return nil }
        do throws(NetworkError) {
            return try TLSServerContext(
                certificateFile: files.certificateFile, keyFile: files.keyFile, alpn: ["http/1.1"])
        } catch {
            throw StartFailure(
                .configuration, "RELAY_TLS_CERT_FILE, RELAY_TLS_KEY_FILE: \(error.description)")
        }
    }

    private func startAdmin(
        _ serving: Serving, _ server: ServerConfiguration, _ tls: TLSServerContext?, _ services: Services
    ) async throws(StartFailure) -> AdminServer? {
        let database = configuration.database.engine.rawValue
        guard
            let metrics = serving.metrics(server, tls: tls, shared: services, database: database)
        else { return nil }
        return try await AdminServer.start(
            server.adminListen, access: server.adminAccess, metrics: metrics,
            revocation: Revocation(storage: services.storage, hasher: services.hasher, log: log), log: log)
    }

    private func openStorage(
        _ isStopping: @escaping @Sendable () -> Bool
    ) async throws(StartFailure) -> any Storage {
        let database = configuration.database
        let server = configuration.databaseServer
        let start = DatabaseStart(
            place: OpenStorage.description(of: database),
            // Nobody starts a file.
            deadline: database.engine == .sqlite ? .zero : server.startDeadline,
            log: log, isStopping: isStopping)
        let (storage, steps) = try await start.open { () async throws(StorageError) in
            try await OpenStorage.open(database, options: server.options)
        }
        for step in steps {
            log(.info, "migrated", [.count("version", step.rawValue), .note("step", step.summary)])
        }
        return storage
    }

    private func makeServices(
        _ storage: any Storage, _ deliveryLog: DeliveryLog, _ queue: PushQueue, _ apns: APNsSide
    ) -> Services {
        let delivery = configuration.delivery
        return Services(
            storage: storage,
            hasher: delivery.hasher,
            secretBytesMin: delivery.secretBytesMin,
            limits: DeliveryLimits(
                devicesPerSecretMax: delivery.devicesPerSecretMax, eventDeadline: delivery.eventDeadline,
                pushesPerEventMax: delivery.pushesPerEventMax,
                pushesPerLoopMax: max(1, delivery.pushesMax / loopCount),
                claimLeaseMargin: Bounds.claimLeaseMargin(
                    databaseTimeout: configuration.databaseServer.options.callTimeout)),
            rates: RateLimits(
                RateLimitConfiguration(
                    eventsPerMinute: delivery.eventsPerMinute,
                    registrationsPerMinute: delivery.registrationsPerMinute,
                    unknownSecretsPerMinute: delivery.unknownSecretsPerMinute,
                    trustedProxies: configuration.server.trustedProxies)),
            clock: .system,
            log: log,
            deliveryLog: deliveryLog,
            queue: queue,
            apnsHealth: APNsHealth(configuration.apns.apps),
            queueAgeMax: delivery.readyQueueAge,
            checkCredentials: apns.checkCredentials)
    }

    private var queueOptions: PushQueue.Options {
        let delivery = configuration.delivery
        var options = PushQueue.Options()
        options.perSecretMax = delivery.queuePerSecretMax
        options.totalMax = delivery.queueMax
        options.schedule = RetrySchedule(delayMax: delivery.retryDelayMax)
        options.workMax =
            configuration.apns.servers.pushTimeout * OutcomePolicy.attemptsAtOnceMax + Bounds.retryWorkMargin
        return options
    }

    // MARK: What the first lines say

    private func logStart(_ address: SocketAddress?, _ admin: SocketAddress?) {
        let apns = configuration.apns
        let scheme = configuration.server.tls == nil ? "http" : "https"
        let bundle = apns.apps.defaultBundleID?.text ?? "named by each registration"
        let keys = apns.apps.keys.map(\.keyID).joined(separator: " ")
        let teams = Set(apns.apps.keys.map(\.teamID)).sorted().joined(separator: " ")
        log(
            .info, "start",
            [
                .note("version", Version.current),
                .note("listening", "\(scheme)://\(address?.description ?? "-")"),
                .note("admin", admin.map { "http://\($0)" } ?? "off"),
                .count("loops", loopCount),
                .note("database", OpenStorage.description(of: configuration.database)),
                .note("production", apns.servers.production.description),
                .note("sandbox", apns.servers.sandbox.description),
                .note("team", teams), .note("key", keys),
                .note("bundle", bundle),
            ])
        for origin in [apns.servers.production, apns.servers.sandbox] where !origin.isApple {
            log(.warning, "apns.not_apple", [.note("server", origin.description)])
        }
    }

    /// As many connections as are wanted and leave descriptors for the database and for APNs.
    private func connectionsMax(of server: ServerConfiguration) -> Int {
        let needed = server.connectionsMax + Bounds.fileDescriptorsReserved
        let limit = FileDescriptors.raiseLimit()
        guard limit < needed else { return server.connectionsMax }
        log(.warning, "files.limit", [.count("limit", limit), .count("needed", needed)])
        return max(1, limit - Bounds.fileDescriptorsReserved)
    }
}

/// Why the relay could not start: one message for a person, and how the process ends.
struct StartFailure: Error, Sendable {
    let status: ExitStatus
    /// One sentence, without secrets.
    let message: String

    /// A failure.
    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

import APNs
import HTTPServer
import Network
import Programs
import Storage
import WebPush

/// Assembles the program, runs it, and shuts it down in the right order.
///
/// Only this type depends on every part.
struct Application {
    private let configuration: ServeConfiguration
    private let log: Log

    /// Runs the relay until asked to stop, and returns the exit status.
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
        do throws(StartError) {
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

    // MARK: Lifecycle

    private func serve(
        _ requests: AsyncStream<SignalRequest>, _ isStopping: @escaping @Sendable () -> Bool
    ) async throws(StartError) {
        var subject = PreconditionSubject(configuration)
        try await Precondition.require(Precondition.beforeOpening, of: subject, log: log)
        let tls = try loadTLS()
        let apns = try APNsBackend(configuration.apns, log: log)
        let adminListen = try AdminServer.available(configuration.server.adminListen)
        var serving = try ServerGroup(configuration.server, loops: loopCount)
        let storage: any Storage
        do throws(StartError) {
            storage = try await openStorage(isStopping)
        } catch {
            await serving.stop(within: .zero)
            throw error
        }
        let writes = WriteWatch(storage: storage, log: log)
        let deliveryLog = DeliveryLog(
            storage: storage, log: log, writes: writes,
            options: DeliveryLog.Options(kept: configuration.delivery.loggedDeliveries))
        let queue = PushQueue(
            storage: storage, deliveryLog: deliveryLog, log: log, options: queueOptions)
        let history = configuration.delivery.history.map {
            History(storage: storage, log: log, options: $0)
        }
        let agents = AgentUses(storage: storage, log: log)
        let blocked = BlockList(storage: storage, log: log)
        do throws(StorageError) {
            // Read before the first request, because a relay that doesn't know the blocked secrets must not serve
            // requests.
            try await blocked.read()
        } catch {
            await serving.stop(within: .zero)
            await storage.close()
            let place = OpenStorage.description(of: configuration.database)
            throw StartError(
                .database, "\(place): cannot read the blocked secrets: \(error.logDetail)")
        }
        let webPush: WebPushBackend?
        do throws(StartError) {
            webPush = try await loadWebPush(storage)
        } catch {
            await serving.stop(within: .zero)
            await storage.close()
            throw error
        }
        var services = makeServices(storage, writes, deliveryLog, history, queue, blocked, apns)
        services.agents = agents
        services.tracer = makeTracer()
        services.webPush = webPush?.keys
        var server = configuration.server
        server.connectionsMax = connectionsMax(of: server)
        server.adminListen = adminListen
        let admin: AdminServer?
        do throws(StartError) {
            try await serving.start(server, tls: tls, services: services, apns: apns, webPush: webPush)
            admin = try await startAdmin(serving, server, tls, services)
        } catch {
            await serving.stop(within: .zero)
            await storage.close()
            throw error
        }
        logStart(serving.address, admin?.place, webPush)
        let maintenance = Maintenance(
            storage: storage, log: log, clock: services.clock, retention: configuration.delivery.logRetention,
            history: history, devices: services.deviceRetention, figures: services.pruning)
        let upkeeping = Task { await maintenance.run() }
        subject.database = .opened(writes)
        let opened = subject
        // Optional parts don't delay startup.
        let watching = Task {
            try? await Precondition.require([.databaseWrites], of: opened, log: log)
            await writes.run()
        }
        let blockReading = Task { await blocked.run() }
        let databaseClock = services.databaseClock
        let clockReading = Task { await databaseClock.run() }
        let replies = services.replies
        let replyReading = Task { await replies.run() }
        await withTaskGroup { group in
            group.addTask { await deliveryLog.run() }
            if let history { group.addTask { await history.run() } }
            group.addTask { await agents.run() }
            if let tracer = services.tracer { group.addTask { await tracer.run() } }
            group.addTask {
                await queue.run()
                // The queue appends rows until `run` returns.
                deliveryLog.finish()
            }
            await untilStop(requests, tls, apns, serving, services)
            log(
                .info, "stopping",
                [.note("deadline", DurationText.render(configuration.server.shutdownDeadline))])
            // Senders that are waiting for replies ask another relay, or ask again after the restart.
            replies.finish()
            await serving.stop(within: configuration.server.shutdownDeadline)
            await admin?.stop()
            upkeeping.cancel()
            watching.cancel()
            blockReading.cancel()
            clockReading.cancel()
            replyReading.cancel()
            // These aren't cancelled: they write the remaining rows, with a few retries.
            queue.finish()
            history?.finish()
            agents.finish()
            services.tracer?.finish()
        }
        await upkeeping.value
        await watching.value
        await blockReading.value
        await clockReading.value
        await replyReading.value
        await storage.close()
        log(.info, "stopped")
    }

    /// Waits for a stop request and handles other requests in the meantime.
    private func untilStop(
        _ requests: AsyncStream<SignalRequest>, _ tls: TLSServerContext?, _ apns: APNsBackend,
        _ serving: ServerGroup, _ services: Services
    ) async {
        for await request in requests {
            switch request {
            case .stop: return
            case .reload:
                reload(tls)
                // Done regardless of whether the other reloads succeed.
                await serving.renewTimeZones()
                await reloadApps(apns, serving, services)
            }
        }
    }

    /// Reloads the apps file; a file with problems changes nothing.
    private func reloadApps(_ apns: APNsBackend, _ serving: ServerGroup, _ services: Services) async {
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
            log(.info, "reload", [.note("certificate", "reloaded")])
        } catch {
            log(.error, "reload.failed", [.note("error", error.description)])
        }
    }

    // MARK: Parts

    private var loopCount: Int {
        configuration.server.loops ?? min(max(1, Processors.count), Bounds.loopsDefaultMax)
    }

    private func loadTLS() throws(StartError) -> TLSServerContext? {
        guard let files = configuration.server.tls else { return nil }
        do throws(NetworkError) {
            return try TLSServerContext(
                certificateFile: files.certificateFile, keyFile: files.keyFile, alpn: ["http/1.1"])
        } catch {
            throw StartError(.certificate, error.description)
        }
    }

    private func startAdmin(
        _ serving: ServerGroup, _ server: ServerConfiguration, _ tls: TLSServerContext?, _ services: Services
    ) async throws(StartError) -> AdminServer? {
        let database = configuration.database.engine.rawValue
        guard
            let metrics = serving.metrics(server, tls: tls, shared: services, database: database)
        else { return nil }
        return try await AdminServer.start(
            server.adminListen, access: server.adminAccess, metrics: metrics,
            console: Console(
                access: server.adminAccess,
                snapshot: { await metrics.snapshot(checksReadiness: $0) },
                apps: { services.apnsHealth.apps }, webPushKey: services.webPush?.current.keyID,
                settings: ConsoleSettings(
                    settings: configuration.inForce,
                    database: OpenStorage.description(of: configuration.database)),
                storage: services.storage),
            revocation: Revocation(storage: services.storage, hasher: services.hasher, log: log),
            blocking: Blocking(
                storage: services.storage, list: services.blocked, clock: services.clock, log: log),
            removals: NamedRemovals(storage: services.storage, hasher: services.hasher, log: log),
            log: log)
    }

    private func openStorage(
        _ isStopping: @escaping @Sendable () -> Bool
    ) async throws(StartError) -> any Storage {
        let database = configuration.database
        let server = configuration.databaseServer
        let start = DatabaseStart(
            place: OpenStorage.description(of: database), engine: database.engine,
            // A file has no server to wait for.
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

    private func loadWebPush(_ storage: any Storage) async throws(StartError) -> WebPushBackend? {
        guard let webPush = configuration.webPush else { return nil }
        return try await WebPushBackend(
            webPush, storage: storage, hasher: configuration.delivery.hasher, at: WallClock.system.now)
    }

    private func makeTracer() -> Tracer? {
        guard var options = configuration.traces else { return nil }
        options.database = configuration.database.engine.telemetryName
        let servers = configuration.apns.servers
        options.apnsHosts = (
            servers.origin(of: .production).host, servers.origin(of: .sandbox).host
        )
        return Tracer(options, log: log)
    }

    private func makeServices(
        _ storage: any Storage, _ writes: WriteWatch, _ deliveryLog: DeliveryLog,
        _ history: History?, _ queue: PushQueue, _ blocked: BlockList, _ apns: APNsBackend
    ) -> Services {
        let delivery = configuration.delivery
        let challenges = delivery.registration.challengeCodes != nil
        return Services(
            storage: storage,
            hasher: delivery.hasher,
            secretBytesMin: delivery.secretBytesMin,
            limits: DeliveryLimits(
                devicesPerSecretMax: delivery.devicesPerSecretMax,
                schedulesPerSecretMax: delivery.schedulesPerSecretMax, eventDeadline: delivery.eventDeadline,
                pushesPerEventMax: delivery.pushesPerEventMax,
                pushesPerLoopMax: max(1, delivery.pushesMax / loopCount),
                activityInterval: delivery.activityInterval,
                claimLeaseMargin: Bounds.claimLeaseMargin(
                    databaseTimeout: configuration.databaseServer.options.callTimeout),
                outcomeSettleTime: Bounds.outcomeSettleTime(
                    databaseTimeout: configuration.databaseServer.options.callTimeout)),
            rates: RateLimits(
                RateLimitConfiguration(
                    eventsPerMinute: delivery.eventsPerMinute,
                    registrationsPerMinute: delivery.registrationsPerMinute,
                    unknownSecretsPerMinute: delivery.unknownSecretsPerMinute,
                    devicePushesPerMinute: delivery.devicePushesPerMinute,
                    deviceSecretsPerDay: delivery.deviceSecretsPerDay,
                    challengesPerDevicePerHour: challenges ? Bounds.challengesPerDevicePerHour : 0,
                    challengesPerAddressPerMinute: challenges ? Bounds.challengesPerAddressPerMinute : 0,
                    trustedProxies: configuration.server.trustedProxies)),
            blocked: blocked,
            clock: .system,
            log: log,
            deliveryLog: deliveryLog,
            history: history,
            queue: queue,
            schedules: ScheduleQueue(storage: storage),
            apnsHealth: APNsHealth(configuration.apns.apps),
            registration: delivery.registration,
            deviceTotal: DeviceTotal(max: delivery.devicesMax, storage: storage),
            deviceRetention: DeviceRetention(
                storage: storage, log: log, clock: .system, lifetime: delivery.deviceLifetime),
            queueAgeMax: delivery.readyQueueAge,
            checkCredentials: apns.checkCredentials,
            writes: writes,
            databaseClock: DatabaseClock(storage: storage, clock: .system, log: log),
            replies: ReplyWaits(storage: storage, clock: .system), origins: configuration.server.webOrigins,
            openChamberApp: configuration.server.openChamberApp)
    }

    private var queueOptions: PushQueue.Options {
        let delivery = configuration.delivery
        var options = PushQueue.Options()
        options.perSecretMax = delivery.queuePerSecretMax
        options.totalMax = delivery.queueMax
        options.bytesMax = delivery.queueMebibytesMax << 20
        options.schedule = RetrySchedule(delayMax: delivery.retryDelayMax)
        options.confirmTime = configuration.databaseServer.options.callTimeout
        let apns = configuration.apns.servers.pushTimeout * OutcomePolicy.attemptsAtOnceMax
        let webPush = configuration.webPush.map {
            $0.senderSettings.pushTimeout * WebPushPolicy.attemptsAtOnceMax
        }
        options.workMax = max(apns, webPush ?? .zero) + Bounds.retryWorkMargin
        return options
    }

    // MARK: First log lines

    private func logStart(_ address: SocketAddress?, _ admin: String?, _ webPush: WebPushBackend?) {
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
                .note("admin", admin ?? "off"),
                .count("loops", loopCount),
                .note("database", OpenStorage.description(of: configuration.database)),
                .note("production", apns.servers.production.description),
                .note("sandbox", apns.servers.sandbox.description),
                .note("team", teams), .note("key", keys),
                .note("bundle", bundle),
                .note("webpush", webPush?.keys.current.keyID ?? "off"),
            ])
        for origin in [apns.servers.production, apns.servers.sandbox] {
            guard let proxy = apns.servers.proxy(for: origin) else { continue }
            log(.info, "apns.proxy", [.note("server", origin.description), .note("proxy", "\(proxy)")])
        }
        for origin in [apns.servers.production, apns.servers.sandbox] where !origin.isApple {
            log(.warning, "apns.not_apple", [.note("server", origin.description)])
        }
    }

    /// The configured number of connections, lowered if needed to leave descriptors for the database and APNs.
    private func connectionsMax(of server: ServerConfiguration) -> Int {
        let needed = server.connectionsMax + Bounds.fileDescriptorsReserved
        let limit = FileDescriptors.raiseLimit()
        guard limit < needed else { return server.connectionsMax }
        return max(1, limit - Bounds.fileDescriptorsReserved)
    }
}

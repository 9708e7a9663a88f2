import Network
import Storage

/// `relay check`: finds out why nothing arrives, and changes nothing.
enum CheckCommand {
    /// Checks everything, and tells each part as soon as it is known.
    ///
    /// A signal ends it; the time is bounded by ``Bounds/checkDeadline``.
    static func run(_ sources: SettingSources, _ options: CommandOptions, _ style: OutputStyle) -> ExitStatus
    {
        let configuration = CheckConfiguration(sources)
        var secret = configuration.secret
        if secret == nil, options.has(.devices) || options.has(.send) {
            do throws(ExitStatus) {
                secret = try SecretInput.require(nil)
            } catch {
                return error
            }
        }
        let isJSON = options.has(.json)
        let check = CheckRun(
            configuration: configuration, secret: secret, sends: options.has(.send),
            board: CheckBoard { finding in
                if !isJSON { StandardOutput.write(CheckText.text(finding, style)) }
            })
        return CommandTask.run {
            let report = await check.report(within: Bounds.checkDeadline)
            StandardOutput.write(
                isJSON
                    ? String(decoding: report.body, as: UTF8.self) + "\n" : CheckText.summary(report, style))
            return report.isGood ? .success : .unhealthy
        }
    }
}

/// One run of all checks: those that wait for something go on at the same time.
struct CheckRun: Sendable {
    let configuration: CheckConfiguration
    let secret: Secret?
    /// Whether a test push is sent to the secret's devices.
    let sends: Bool
    let board: CheckBoard
    var clock = WallClock.system

    /// Everything that was found within a time.
    func report(within limit: Duration) async -> CheckReport {
        let (end, ended) = AsyncStream.makeStream(of: Void.self)
        Task {
            await run()
            ended.finish()
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            ended.finish()
        }
        for await _ in end {}
        timer.cancel()
        return board.finish()
    }

    private func run() async {
        let loop = EventLoop(label: "relay.check")
        board.put(.configuration, configurationFindings)
        board.put(.key, KeyCheck.findings(configuration))
        putMachine()
        async let apns = apnsFound(on: loop)
        async let relay: Void = putRelay()
        let database = await databaseFound()
        board.put(.database, database.findings)
        let isReadable = !database.findings.contains { $0.status == .failed && $0.subject != "write" }
        async let devices: Void = putDevices(isReadable: isReadable, on: loop)
        let found = await apns
        board.put(.apns, found.hosts)
        board.put(.push, found.pushes)
        board.put(.clock, ClockCheck.findings(found.clocks + [database.clock].compactMap(\.self)))
        await relay
        await devices
        await loop.stop()
    }

    private var configurationFindings: [CheckFinding] {
        guard !configuration.problems.isEmpty else {
            return [.ok(.configuration, "", "relay serve can start with it")]
        }
        return configuration.problems.map { .fault(.badSetting, .configuration, "", $0) }
    }

    /// What needs no network.
    private func putMachine() {
        let file = configuration.database.flatMap { OpenStorage.file(of: $0) }
        board.put(.disk, file.map { DiskCheck.findings(path: $0) } ?? [])
        let tls = configuration.server?.tls
        board.put(.certificate, tls.map { CertificateCheck.findings($0, clock: clock) } ?? [])
        let limit = FileDescriptors.raiseLimit()
        board.put(
            .files,
            configuration.server.map {
                [FileLimitCheck.finding(limit: limit, connectionsMax: $0.connectionsMax)]
            } ?? [])
    }

    private func apnsFound(on loop: EventLoop) async -> APNsCheck.Found {
        guard let servers = configuration.servers else {
            let text = "a setting has to be mended first"
            return APNsCheck.Found(hosts: [.skipped(.apns, "", text)], pushes: [.skipped(.push, "", text)])
        }
        return await APNsCheck(servers: servers, apps: configuration.apps, clock: clock).run(on: loop)
    }

    private func databaseFound() async -> DatabaseCheck.Found {
        guard let database = configuration.database else {
            return DatabaseCheck.Found(findings: [
                .skipped(.database, "", "DATABASE_URL has to be mended first")
            ])
        }
        return await DatabaseCheck.run(database, options: serverOptions, clock: clock)
    }

    private var serverOptions: ServerOptions { configuration.databaseServer?.options ?? ServerOptions() }

    private func putRelay() async {
        guard let server = configuration.server else { return board.put(.relay, []) }
        let place = HealthConfiguration(port: server.port, host: server.host, isTLS: server.tls != nil)
        board.put(.relay, [await RelayCheck.finding(place)])
    }

    private func putDevices(isReadable: Bool, on loop: EventLoop) async {
        guard let secret else {
            board.put(.device, [])
            return board.put(.send, [])
        }
        guard let database = configuration.database, let delivery = configuration.delivery, isReadable else {
            board.put(.device, [.skipped(.device, "", "the database can't be read")])
            return board.put(.send, sends ? [.skipped(.send, "", "the database can't be read")] : [])
        }
        let found = await DeviceCheck.run(
            secret, database, options: serverOptions, hasher: delivery.hasher, apps: configuration.apps)
        board.put(.device, found.findings)
        guard sends else { return board.put(.send, []) }
        guard let servers = configuration.servers, let apps = configuration.apps else {
            return board.put(.send, [.skipped(.send, "", "there is no key to sign with")])
        }
        board.put(
            .send, await SendCheck(servers: servers, apps: apps, clock: clock).run(found.devices, on: loop))
    }
}

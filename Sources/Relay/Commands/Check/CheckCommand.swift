import Network
import Programs
import Storage

/// `relay check`: finds out why no pushes arrive, and changes nothing.
enum CheckCommand {
    /// Runs all checks and reports each part as soon as its result is known.
    ///
    /// A signal ends the run, and ``Bounds/checkDeadline`` limits its duration.
    static func run(_ sources: SettingSources, _ options: CommandOptions, _ style: OutputStyle) -> ExitStatus
    {
        let configuration = CheckConfiguration(sources)
        do throws(ConfigurationError) {
            try DatabaseOwner.become([configuration.database].compactMap(\.self), for: "check")
        } catch {
            StandardError.message(error.description)
            return .configuration
        }
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
            return report.isGood ? .success : .failed
        }
    }
}

/// One run of all checks; those that wait for something run concurrently.
struct CheckRun: Sendable {
    let configuration: CheckConfiguration
    let secret: Secret?
    /// Whether a test push is sent to the secret's devices.
    let sends: Bool
    let board: CheckBoard
    var clock = WallClock.system

    /// Runs all checks and returns what they find within a time limit.
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
        let look = configuration.database.map {
            DatabaseCheck.Look($0, options: serverOptions, clock: clock)
        }
        var subject = PreconditionSubject(
            configuration, look.map { .look($0) } ?? .none, clock: clock, relayRuns: false)
        let problems = await findings(.settings, subject: subject)
        board.put(
            .configuration,
            problems.isEmpty ? [.ok(.configuration, "", "relay serve can start with it")] : problems)
        board.put(.key, KeyCheck.findings(configuration))
        async let apns = apnsFound(on: loop)
        let relay = await relayFinding()
        subject.relayRuns = relay.map(RelayCheck.isRelay) ?? false
        let certificates = await findings(.webPushCertificates, subject: subject)
        board.put(
            .webPush, certificates.isEmpty ? [WebPushCheck.finding(configuration.webPush)] : certificates)
        await putMachine(subject)
        board.put(.relay, relay.map { [$0] } ?? [])
        let database = await look?.found()
        board.put(
            .database,
            await databaseFindings(subject, isThere: look != nil)
                + zoneFindings(isReadable: database?.isReadable ?? false))
        async let devices: Void = putDevices(isReadable: database?.isReadable ?? false, on: loop)
        var found = await apns
        let clocks = found.clocks + [database?.clock].compactMap(\.self)
        found.pushes = found.pushes.withClocks(clocks, now: clock.now)
        board.put(.apns, found.hosts)
        board.put(.push, found.pushes)
        board.put(.clock, ClockCheck.findings(clocks))
        await devices
        await loop.stop()
    }

    /// The findings about some of the preconditions for `relay serve`.
    private func findings(
        _ names: Precondition.Name..., subject: PreconditionSubject
    ) async -> [CheckFinding] {
        var findings: [CheckFinding] = []
        for name in names { findings += await Precondition(name).test(subject) }
        return findings
    }

    /// Runs the checks that concern only this machine.
    private func putMachine(_ subject: PreconditionSubject) async {
        let file = configuration.database.flatMap { OpenStorage.file(of: $0) }
        board.put(.disk, file.map { DiskCheck.findings(path: $0) } ?? [])
        board.put(.certificate, await findings(.certificate, .certificateDates, subject: subject))
        board.put(.files, await findings(.openFiles, subject: subject))
        board.put(.listen, await findings(.address, .adminAddress, subject: subject))
    }

    private func databaseFindings(_ subject: PreconditionSubject, isThere: Bool) async -> [CheckFinding] {
        guard isThere else { return [.skipped(.database, "", "fix DATABASE_URL first")] }
        return await findings(.database, .databaseWrites, subject: subject)
    }

    private func zoneFindings(isReadable: Bool) async -> [CheckFinding] {
        guard isReadable, let database = configuration.database else { return [] }
        return await TimeZoneCheck.findings(database, options: serverOptions)
    }

    private func apnsFound(on loop: EventLoop) async -> APNsCheck.Found {
        guard let servers = configuration.servers else {
            let text = "fix the settings first"
            return APNsCheck.Found(hosts: [.skipped(.apns, "", text)], pushes: [.skipped(.push, "", text)])
        }
        return await APNsCheck(servers: servers, apps: configuration.apps, clock: clock).run(on: loop)
    }

    private var serverOptions: ServerOptions { configuration.databaseServer?.options ?? ServerOptions() }

    private func relayFinding() async -> CheckFinding? {
        guard let server = configuration.server else { return nil }
        return await RelayCheck.finding(
            HealthConfiguration(port: server.port, host: server.host, isTLS: server.tls != nil))
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
            secret, database, options: serverOptions, hasher: delivery.hasher, apps: configuration.apps,
            webPush: configuration.webPush)
        board.put(.device, found.findings)
        guard sends else { return board.put(.send, []) }
        guard let servers = configuration.servers, let apps = configuration.apps else {
            return board.put(.send, [.skipped(.send, "", "no signing key")])
        }
        board.put(
            .send,
            await SendCheck(servers: servers, apps: apps, webPush: found.webPush, clock: clock)
                .run(found.devices, on: loop))
    }
}

extension RelayCommand {
    static let check = RelayCommand(
        "check", "Find out why pushes don't arrive: settings, key, clock, APNs, database, certificate.",
        about: """
            Finds out why pushes don't arrive, and changes nothing. It takes the settings of relay serve (see
            its --help); run it as the relay's user. It checks the settings, keys, clock, connection to APNs,
            database, disk, certificate, open files and the running relay. It also checks whether APNs accepts
            the keys and bundle IDs, with a push to a device token that can't exist. Given a secret, it also
            checks its devices and the last push to each. It finishes within a minute.

            Exit status 0 if nothing failed (warnings are allowed), 1 if something did, 130 if interrupted.
            docs/operate/diagnose.md lists the faults; the output says how to fix them.
            """,
        options: [.json, .devices, .send],
        settings: [Settings.secret.row],
        furtherSettings: Settings.served
    ) { call throws(ConfigurationError) in
        CheckCommand.run(call.sources, call.options, call.style)
    }
}

extension CommandOption {
    static let devices = CommandOption(
        "--devices", "Also check a secret's devices; asks for the secret if none is given.")
    static let send = CommandOption(
        "--send", "Send a test push to the secret's devices; implies --devices.")
}

import Glibc
import Network

/// `opencode-bridge serve`.
enum ServeCommand {
    /// Runs the bridge until SIGTERM or SIGINT.
    static func run(_ configuration: Configuration, _ environment: [String: String])
        throws(SettingProblems) -> ExitStatus
    {
        let console = Console(isVerbose: configuration.isVerbose)
        let access = try RelayAccess(configuration)
        if let warning = access.warning { console.note("warning: \(warning)") }
        var relay = access.relay
        relay.repeatEvery = configuration.repeatEvery
        let repeating = relay
        let ownership: QueueOwnership
        let outbox: Outbox
        do throws(SmallFile.Fault) {
            guard let owner = try QueueOwnership(directory: configuration.stateDirectory) else {
                console.note("another bridge serves with \(configuration.stateDirectory); stop it first")
                return .unavailable
            }
            ownership = owner
            outbox = try Outbox(
                directory: configuration.stateDirectory, sealer: access.sealer, console)
        } catch {
            throw SettingProblems(["the queue in \(configuration.stateDirectory) can't be used: \(error)"])
        }
        prepareSignals()
        let replies = ReplyDesk(
            ReplyDesk.Parts(relay: relay, opener: configuration.allowsReplies ? access.opener : nil), console)
        let activities =
            configuration.activityInterval > .zero
            ? ActivityDesk(
                ActivityBoard.Options(
                    interval: configuration.activityInterval, hasTexts: access.sealer == nil),
                ActivityDesk.Parts(relay: relay, sealer: access.sealer, outbox: outbox), console) : nil
        let bridge = Bridge(
            Bridge.Parts(
                findServer: {
                    ServerPlace.find(given: configuration.openCode, environment: environment) {
                        ServiceFiles.read(environment)
                    }
                },
                options: configuration.options, quiet: configuration.quiet,
                silenceMax: configuration.streamSilenceMax, outbox: outbox, replies: replies,
                activities: activities,
                post: { await repeating.post($0) },
                console: console))
        let ended = ThreadSemaphore()
        let task = Task {
            await bridge.run()
            ended.signal()
        }
        console.note(
            "ringing through \(relay.address) with \(access.sealer == nil ? "readable" : "sealed") texts")
        if configuration.allowsReplies {
            console.note(
                "phones can answer permissions\(access.sealer == nil ? "; so could the relay" : ", with sealed replies only")"
            )
        }
        waitForSignal()
        task.cancel()
        ended.wait()
        withExtendedLifetime(ownership) {}
        return .success
    }

    private static var stopping: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        return set
    }

    /// Blocks the signals for which the main thread waits, before a second thread exists.
    private static func prepareSignals() {
        signal(SIGPIPE, SIG_IGN)
        var set = stopping
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func waitForSignal() {
        var set = stopping
        while sigwaitinfo(&set, nil) < 0 {}
        // A second signal ends the program at once.
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

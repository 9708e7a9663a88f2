import Glibc
import Network
import Programs

enum ServeCommand {
    /// Runs the bridge until SIGTERM or SIGINT.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let (configuration, environment) = (try call.configuration(), call.environment)
        let console = Console(isVerbose: configuration.isVerbose)
        let access = try RelayAccess(configuration)
        if let warning = access.warning { console.note("warning: \(warning)") }
        var relay = access.relay
        relay.repeatEvery = configuration.repeatEvery
        let repeating = relay
        let ownership: QueueOwnership
        let outbox: Outbox
        do throws(FileError) {
            guard let owner = try QueueOwnership(directory: configuration.stateDirectory) else {
                console.note("another bridge is using \(configuration.stateDirectory); stop it first")
                return .unavailable
            }
            ownership = owner
            outbox = try Outbox(
                directory: configuration.stateDirectory, sealer: access.sealer, console)
        } catch {
            throw ConfigurationError(["the queue in \(configuration.stateDirectory) can't be used: \(error)"])
        }
        Signals.prepare()
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
                "phones can answer permissions\(access.sealer == nil ? "; so could the relay" : " and questions, with sealed replies only")"
            )
        }
        waitForSignal()
        task.cancel()
        ended.wait()
        withExtendedLifetime(ownership) {}
        return .success
    }

    private static func waitForSignal() {
        while true {
            guard case .request = Signals.wait(atMost: nil) else { continue }
            // A second signal ends the program at once.
            return Signals.unblock()
        }
    }
}

extension BridgeCommand {
    static let serve = BridgeCommand(
        "serve", "Read the server's events and ring the phones.",
        about: """
            Reads the events of an OpenCode server and rings the phones registered with a relay, until SIGTERM
            or SIGINT.
            """
    ) { call throws(ConfigurationError) in
        try ServeCommand.run(call)
    }
}

import Glibc
import JSON
import Network
import Programs

/// `agent-bridge hook AGENT [JSON]`: an agent's hook, which delays the agent only to wait for an answer.
struct HookCommand {
    private let agent: HookAgent
    private let environment: [String: String]
    private let console: Console
    /// Whether phones can answer requests.
    private let answers: Bool
    private let began = MonotonicTime.current

    /// Reads the input, queues or posts an event that rings, and prints the output that the agent expects.
    static func run(_ call: CommandCall) {
        endInTime(Bounds.hookProcessSecondsMax)
        let isVerbose = call.flags[Settings.debug.row.name].map { $0 != "off" } ?? false
        let console = Console(isVerbose: isVerbose)
        guard let agent = call.options.text(.agent).flatMap(HookAgent.init(name:)) else {
            let names = HookAgent.allCases.map(\.rawValue).joined(separator: ", ")
            return console.explain("expected one of \(names) after hook")
        }
        let argument = call.options.text(.hookInput)
        let output = agent.answer(hasArgument: argument != nil)
        let answers = call.options.has(.answer)
        // With Codex, a decision must be the only output; no output means no decision.
        if let output, !answers || agent != .codex { console.print(output) }
        let command = HookCommand(
            agent: agent, environment: call.environment, console: console, answers: answers)
        do throws(ConfigurationError) {
            try command.ring(argument, try call.configuration())
        } catch {
            command.fail(error.problems.joined(separator: "; "), nil)
        }
    }

    private func ring(_ argument: String?, _ configuration: Configuration) throws(ConfigurationError) {
        let bytes = argument.map { Array($0.utf8) } ?? Self.standardInput()
        let isEmpty = bytes.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let input = try? JSON.parse(bytes, maxBytes: Bounds.hookInputBytesMax, loneSurrogates: .replaced)
        guard isEmpty || input != nil else { return console.explain("the input isn't JSON") }
        OpenAsk.closeOver(input ?? [:], of: agent, state: configuration.stateDirectory)
        let isHeadless = HeadlessRun.isHeadless(agent, input ?? [:], environment)
        let verdict = HookVerdict.read(
            input, of: agent, showsCommands: configuration.options.showsCommands,
            run: isHeadless ? .headless(rings: configuration.ringsHeadless) : .attended)
        let event: HookEvent
        switch verdict {
        case .silent(let reason): return console.explain("doesn't ring: \(reason)")
        case .ring(let found): event = found
        }
        let now = WallClock.system.now
        guard let ring = event.ring(agent, call: "\(now) \(getpid())") else {
            return console.explain("doesn't ring: its session has no usable ID")
        }
        guard !configuration.quiet.silences(ring.type) else {
            return console.explain("doesn't ring: someone is typing at this machine")
        }
        _ = try configuration.requireRelay()
        guard configuration.relaySecretFile != nil || SmallFile.exists(SecretFile.path(configuration)) else {
            return fail("no phone is paired; run `agent-bridge pair`", configuration)
        }
        let access = try RelayAccess(configuration, deadline: Bounds.hookDeadline)
        if let warning = access.warning { console.explain("warning: \(warning)") }
        switch decision(on: event, configuration) {
        case .rings: break
        case .isKnown: return console.explain("doesn't ring: another hook already reported it")
        case .floods: return console.explain("doesn't ring: its session has rung too often")
        }
        if answers {
            if let call = answerCall(bytes, access, configuration), call.run(title(ring, event, call.request))
            {
                return worked(configuration)
            }
            Self.endInTime(Bounds.hookProcessSecondsMax)
        }
        let readable = QueuedEvent(ring, at: now)
        send(access.sealer?.sealed(readable, at: readable.at) ?? readable, access.relay, configuration)
    }

    /// The call that waits for an answer; `nil`, after an explanation, if the request can only ring.
    private func answerCall(_ bytes: [UInt8], _ access: RelayAccess, _ configuration: Configuration)
        -> AnswerCall?
    {
        func none(_ reason: String) -> AnswerCall? {
            console.explain("can't be answered from the phone: \(reason)")
            return nil
        }
        guard agent == .claudeCode || agent == .codex else {
            return none("\(agent.name) doesn't accept decisions from hooks")
        }
        // A request's input must be exactly what was sent; for a ring, it may be repaired.
        guard let input = try? JSON.parse(bytes, maxBytes: Bounds.hookInputBytesMax),
            let request = AgentRequest(input, of: agent, host: Self.hostName)
        else { return none("it isn't a request that offers choices") }
        guard let sealer = access.sealer, !access.opener.keys.isEmpty else {
            return none("the pairing has no key; make one with `agent-bridge pair --rotate`")
        }
        guard !request.blocksTerminal || !configuration.quiet.isSomeoneHere() else {
            return none("someone is typing at this machine, where the terminal asks")
        }
        let wait = request.blocksTerminal ? configuration.answerWait : Bounds.answerWaitMax
        Self.endInTime(Int(wait.components.seconds + Bounds.answerProcessSecondsMore))
        return AnswerCall(
            request, input, access, sealer, configuration.stateDirectory, console, end: began + wait)
    }

    /// The ring, titled as a question if the request asks questions.
    private func title(_ ring: Ring, _ event: HookEvent, _ request: AgentRequest) -> Ring {
        guard case .questions = request.kind else { return ring }
        return Ring(
            type: ring.type, session: ring.session, key: ring.key,
            title: NotificationText.title(.permission, session: event.title, isQuestion: true),
            body: ring.body)
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func decision(on event: HookEvent, _ configuration: Configuration) -> HookMemory.Decision {
        do throws(FileError) {
            return try HookMemory(directory: configuration.stateDirectory)
                .take(event, of: agent, now: WallClock.system.now)
        } catch {
            // Ringing twice is better than not at all.
            console.explain("cannot check whether it already rang: \(error)")
            return .rings
        }
    }

    /// Hands an event to the running bridge, or posts it.
    private func send(_ event: QueuedEvent, _ relay: RelayClient, _ configuration: Configuration) {
        do throws(FileError) {
            if try QueueOwnership(directory: configuration.stateDirectory, patience: .zero) == nil {
                try QueueFile(directory: configuration.stateDirectory).append([.put(event)], isDurable: true)
                worked(configuration)
                return console.explain("handed to the running bridge")
            }
        } catch {
            console.explain("the queue can't be used: \(error)")
        }
        _ = CommandTask.run {
            switch await relay.post(event) {
            case .accepted(let summary):
                console.explain(summary)
                if summary.hasPrefix(Self.nobody) {
                    fail(summary, configuration)
                } else {
                    worked(configuration)
                }
            case .refused(let reason): fail("the relay refused it: \(reason)", configuration)
            case .later(let reason, _), .unreachable(let reason):
                fail("\(reason); the next `agent-bridge serve` sends it", configuration)
                do throws(FileError) {
                    try QueueFile(directory: configuration.stateDirectory)
                        .append([.put(event)], isDurable: true)
                } catch {
                    console.explain("the queue can't be written: \(error)")
                }
            }
            return .success
        }
    }

    // MARK: Messages

    /// The beginning of a response's summary if no device is registered under the secret.
    static let nobody = "no device is registered"

    /// Reports why nothing rings: immediately in Claude Code, otherwise in `agent-bridge check`.
    ///
    /// - Parameter configuration: `nil` if the settings are invalid, which `check` reports itself.
    private func fail(_ sentence: String, _ configuration: Configuration?) {
        console.explain(sentence)
        let standard = StateDirectory.standard(environment)
        guard let directory = configuration?.stateDirectory ?? standard else { return }
        let isNew = HookFaults(directory: directory).note(sentence, of: agent, now: WallClock.system.now)
        guard agent == .claudeCode, isNew else { return }
        let message: JSON.Value = ["systemMessage": .string("agent-bridge: \(Console.safe(sentence))")]
        console.print(String(decoding: message.encoded(), as: UTF8.self))
    }

    private func worked(_ configuration: Configuration) {
        HookFaults(directory: configuration.stateDirectory).note(nil, of: agent, now: WallClock.system.now)
    }

    // MARK: The process

    /// Reads the agent's input from standard input until its end or the deadline.
    private static func standardInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        let end = MonotonicTime.current + Bounds.hookInputDeadline
        guard isatty(STDIN_FILENO) == 0 else { return [] }
        while bytes.count <= Bounds.hookInputBytesMax {
            let rest = end.since(.current)
            var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard rest > .zero, poll(&waiting, 1, Int32(rest.inMilliseconds) + 1) > 0 else { break }
            let count = read(STDIN_FILENO, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Ends the process unconditionally after the given number of seconds, before any agent's timeout for hooks.
    private static func endInTime(_ seconds: Int) {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGALRM) { _ in _exit(0) }
        alarm(UInt32(seconds))
    }
}

extension BridgeCommand {
    static let hook = BridgeCommand(
        "hook", "Ring for another agent, from its hook.",
        about: """
            install adds hooks to an agent's settings, so that the phones ring when it finishes, fails or
            needs a decision. It shows the change first. uninstall removes the hooks. --print only shows
            the change.

              claude  \(HookSettings.claudeCode.place)
              codex   \(HookSettings.codex.place)
              gemini  \(HookSettings.gemini.place)

            With --answer, phones answer permissions, plans and questions of Claude Code and Codex, and so run
            commands on this machine. Gemini CLI only rings.

            The agent then runs `agent-bridge hook AGENT` with JSON on standard input or as the last
            argument. It always exits with 0 within \(Bounds.hookProcessSecondsMax) seconds,
            unless it waits for an answer. AGENT is claude-code (or claude),
            codex, gemini, or generic for any other program:

              agent-bridge hook generic '{"eventType": "error", "title": "Build 512", "body": "failed"}'

            First pair a phone: `agent-bridge pair`, then `agent-bridge test` and `agent-bridge check`.
            To see why something rings or doesn't, add --debug.
            """,
        usages: [
            "AGENT install|uninstall [--answer] [--print]", "AGENT [--answer] [--SETTING VALUE]... [JSON]",
        ],
        arguments: [.agent, .hookInput], options: [.print, .answer]
    ) { call throws(ConfigurationError) in
        if let installation = try HookInstallCommand(call) { return try installation.run(call.console) }
        HookCommand.run(call)
        return .success
    }
}

extension CommandOption {
    static let agent = CommandOption(
        "AGENT", .suggested("AGENT", HookAgent.allCases.map(\.rawValue)), "The agent.")
    static let hookInput = CommandOption(
        "JSON", .suggested("JSON", ["install", "uninstall"]), "The input, if it isn't on standard input.")
    static let answer = CommandOption("--answer", "Let phones answer the agent's requests.")
    static let print = CommandOption("--print", "Only show the change of install or uninstall.")
}

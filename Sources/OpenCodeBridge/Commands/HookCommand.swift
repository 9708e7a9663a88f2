import Glibc
import JSON
import Network

/// `opencode-bridge hook AGENT [JSON]`: an agent's hook, which must never hold up the agent.
enum HookCommand {
    /// Reads the input, queues or posts what rings, and prints what the agent expects.
    static func run(
        _ invocation: Invocation, _ configuration: () throws(SettingProblems) -> Configuration
    ) {
        endInTime()
        let isVerbose = invocation.flags[.debug].map { $0 != "off" } ?? false
        let console = Console(isVerbose: isVerbose)
        let agent = invocation.operands.first.flatMap(HookAgent.init)
        if let answer = agent?.answer(hasArgument: invocation.operands.count > 1) { console.print(answer) }
        guard let agent else {
            let names = HookAgent.allCases.map(\.rawValue).joined(separator: ", ")
            return console.explain("expected one of \(names) after hook")
        }
        do throws(SettingProblems) {
            try ring(agent, invocation.operands.dropFirst().first, try configuration(), console)
        } catch {
            for sentence in error.sentences { console.explain(sentence) }
        }
    }

    private static func ring(
        _ agent: HookAgent, _ argument: String?, _ configuration: Configuration, _ console: Console
    ) throws(SettingProblems) {
        let bytes = argument.map { Array($0.utf8) } ?? standardInput()
        let isEmpty = bytes.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let input = try? JSON.parse(bytes, maxBytes: Bounds.hookInputBytesMax, loneSurrogates: .replaced)
        guard isEmpty || input != nil else { return console.explain("the input isn't JSON") }
        let verdict = HookVerdict.read(input, of: agent, showsCommands: configuration.options.showsCommands)
        let event: HookEvent
        switch verdict {
        case .silent(let reason): return console.explain("doesn't ring: \(reason)")
        case .ring(let found): event = found
        }
        guard let ring = event.ring(agent, now: SystemTime.now) else {
            return console.explain("doesn't ring: its session has no name that the relay takes")
        }
        guard !configuration.quiet.silences(ring.type) else {
            return console.explain("doesn't ring: somebody types at this machine")
        }
        let access = try RelayAccess(configuration, deadline: Bounds.hookDeadline)
        if let warning = access.warning { console.explain("warning: \(warning)") }
        if let moment = event.moment(agent), isRepeated(moment, configuration, console) {
            return console.explain("doesn't ring: it rang moments ago")
        }
        let readable = QueuedEvent(ring, at: SystemTime.now)
        let queued = access.sealer?.sealed(readable, at: readable.at) ?? readable
        do throws(SmallFile.Fault) {
            if try QueueOwnership(directory: configuration.stateDirectory, patience: .zero) == nil {
                try QueueFile(directory: configuration.stateDirectory).append([.put(queued)], isDurable: true)
                return console.explain("left to the running bridge")
            }
        } catch {
            console.explain("the queue can't be used: \(error)")
        }
        post(queued, access.relay, configuration, console)
    }

    private static func isRepeated(_ moment: String, _ configuration: Configuration, _ console: Console)
        -> Bool
    {
        do throws(SmallFile.Fault) {
            return try HookMoments(directory: configuration.stateDirectory)
                .isRepeated(moment, now: SystemTime.now)
        } catch {
            // Ringing twice is better than not at all.
            console.explain("can't tell whether it rang already: \(error)")
            return false
        }
    }

    private static func post(
        _ event: QueuedEvent, _ relay: RelayClient, _ configuration: Configuration, _ console: Console
    ) {
        _ = CommandTask.run {
            switch await relay.post(event) {
            case .accepted(let summary): console.explain(summary)
            case .refused(let reason): console.explain("the relay refuses it: \(reason)")
            case .later(let reason, _), .unreachable(let reason):
                console.explain("\(reason); left to the next `opencode-bridge serve`")
                do throws(SmallFile.Fault) {
                    try QueueFile(directory: configuration.stateDirectory)
                        .append([.put(event)], isDurable: true)
                } catch {
                    console.explain("the queue can't be written: \(error)")
                }
            }
            return .success
        }
    }

    /// What the agent passes on standard input, until its end or the deadline.
    private static func standardInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        let end = MonotonicTime.current + Bounds.hookInputDeadline
        guard isatty(STDIN_FILENO) == 0 else { return [] }
        while bytes.count <= Bounds.hookInputBytesMax {
            let rest = end.since(.current)
            var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard rest > .zero, poll(&waiting, 1, Int32(rest.milliseconds) + 1) > 0 else { break }
            let count = read(STDIN_FILENO, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Ends the process well before any agent's limit for hooks, whatever happens.
    private static func endInTime() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGALRM) { _ in _exit(0) }
        alarm(UInt32(Bounds.hookProcessSecondsMax))
    }
}

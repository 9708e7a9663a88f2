import Delays
import Glibc
import JSON
import Network
import Programs
import PushSealing

/// A hook's call that waits for a person's reply and prints it as the agent's decision.
///
/// Whatever goes wrong ends without a decision, so that the agent's terminal asks.
struct AnswerCall: Sendable {
    let request: AgentRequest
    let input: JSON.Value
    let relay: RelayClient
    let opener: ReplyOpener
    let sealer: Sealer
    let stateDirectory: String
    let console: Console
    /// When it stops waiting.
    let end: MonotonicTime
    /// The process that wants the decision.
    private let parent = getppid()

    init(
        _ request: AgentRequest, _ input: JSON.Value, _ access: RelayAccess, _ sealer: Sealer,
        _ stateDirectory: String, _ console: Console, end: MonotonicTime
    ) {
        self.request = request
        self.input = input
        relay = access.relay
        opener = access.opener
        self.sealer = sealer
        self.stateDirectory = stateDirectory
        self.console = console
        self.end = end
    }

    /// What ends the wait.
    private enum Sign: Sendable {
        case replied(GivenReply)
        /// Nobody needs a reply any more, with a word for the log.
        case over(ReplyFate, String)
    }

    /// Rings, waits and prints; false if the request couldn't ring, so that it rings without the possibility to answer.
    func run(_ ring: Ring) -> Bool {
        let (signs, input) = AsyncStream.makeStream(of: Sign.self)
        let end = end
        let status = CommandTask.run(
            stop: {
                // The person answered at the desk, or the agent's own time limit is over.
                input.yield(.over(end > .current ? .answeredElsewhere : .tooLate, "terminated"))
                return nil
            },
            { await work(ring, signs, input) ? .success : .failed })
        return status == .success
    }

    private func work(
        _ ring: Ring, _ signs: AsyncStream<Sign>, _ input: AsyncStream<Sign>.Continuation
    ) async -> Bool {
        let now = WallClock.system.now
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        var asked = ring
        // Each call is a request of its own: a reply to one must never answer another.
        asked.key = "ask \(number) \(now) \(getpid()) \(request.digest)"
        let sealed = sealer.sealed(
            QueuedEvent(asked, at: now),
            asking: AskedRequest(text: request.text, offer: request.offer, digest: request.digest),
            end: now + end.since(.current).inMilliseconds, at: now)
        guard let (event, offer) = sealed else {
            console.explain("the request doesn't fit into a notification")
            return false
        }
        let transcript = ClaudeTranscript(self.input)
        let ask: OpenAsk
        do throws(FileError) {
            ask = try OpenAsk(self.input, of: request.agent, number: number, state: stateDirectory)
        } catch {
            console.explain("cannot record that a request is open: \(error)")
            return false
        }
        switch await relay.post(event) {
        case .accepted(let summary):
            console.explain(summary)
            if summary.hasPrefix(HookCommand.nobody) {
                _ = ask.close()
                return false
            }
            // Nobody will see it.
            if !summary.hasPrefix("sent"), !summary.hasPrefix("queued") {
                input.yield(.over(.tooLate, "not_rung"))
            }
        case .refused(let reason), .later(let reason, _), .unreachable(let reason):
            console.explain("cannot ask the phone: \(reason)")
            _ = ask.close()
            return false
        }
        let tasks = [
            Task { await waitForReply(to: event.id, input) },
            Task { await watch(ask, transcript, input) },
            Task {
                guard (try? await Task.sleep(for: end.since(.current))) != nil else { return }
                input.yield(.over(.tooLate, "expired"))
            },
        ]
        defer { for task in tasks { task.cancel() } }
        for await sign in signs {
            await conclude(sign, event.id, offer, ask, transcript)
            break
        }
        return true
    }

    // MARK: Waiting

    private func waitForReply(to eventID: String, _ input: AsyncStream<Sign>.Continuation) async {
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        while end > .current, !Task.isCancelled {
            let pause: Duration
            switch await relay.waitForReply(to: eventID, deadline: Bounds.postDeadline) {
            case .replied(let given):
                input.yield(.replied(given))
                return
            case .nothing:
                backOff.reset()
                pause = backOff.next(.random(in: 0...1))
                backOff.reset()
            case .later(let reason, let wanted):
                console.explain("cannot wait for a reply (\(reason)); trying again")
                pause = max(wanted, backOff.next(.random(in: 0...1)))
            }
            guard (try? await Task.sleep(for: pause)) != nil else { return }
        }
    }

    /// Notices that the request was answered at the desk, or that its agent is gone.
    private func watch(
        _ ask: OpenAsk, _ transcript: ClaudeTranscript, _ input: AsyncStream<Sign>.Continuation
    ) async {
        var size = transcript.sizeAtStart
        while (try? await Task.sleep(for: Bounds.answerCheckInterval)) != nil {
            if !ask.isOpen { return _ = input.yield(.over(.answeredElsewhere, "answered_elsewhere")) }
            if isOrphan { return _ = input.yield(.over(.tooLate, "agent_gone")) }
            guard transcript.size != size else { continue }
            size = transcript.size
            if transcript.state == .answered {
                return _ = input.yield(.over(.answeredElsewhere, "answered_elsewhere"))
            }
        }
    }

    /// Whether nobody reads the decision: an agent whose terminal was closed leaves its hooks behind.
    private var isOrphan: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return getppid() != parent || poll(&output, 1, 0) > 0
    }

    // MARK: The end

    private func conclude(
        _ sign: Sign, _ eventID: String, _ offer: ReplyOffer, _ ask: OpenAsk, _ transcript: ClaudeTranscript
    ) async {
        switch sign {
        case .over(let fate, let word):
            _ = ask.close()
            console.explain("no decision from the phone: \(word)")
            record(word)
            await withdraw(fate, eventID)
        case .replied(let given):
            let fate = decide(given, eventID, offer, ask, transcript)
            await report(fate, of: given, to: eventID)
        }
    }

    /// Prints the decision if the request is certainly open and the reply certainly a person's.
    private func decide(
        _ given: GivenReply, _ eventID: String, _ offer: ReplyOffer, _ ask: OpenAsk,
        _ transcript: ClaudeTranscript
    ) -> ReplyFate {
        func none(_ fate: ReplyFate, _ word: String) -> ReplyFate {
            console.explain("the phone's reply isn't used: \(word)")
            record(word)
            return fate
        }
        let isOpen = ask.close()
        let reply: RequestReply
        do throws(ReplyRefusal) {
            reply = try opener.open(given, to: eventID, of: offer)
        } catch {
            return none(.refused(error.reason), error.reason)
        }
        guard isOpen else { return none(.answeredElsewhere, "answered_elsewhere") }
        guard end > .current, !isOrphan else { return none(.tooLate, "too_late") }
        let state = request.agent == .claudeCode ? transcript.state : .open
        guard state != .answered else { return none(.answeredElsewhere, "answered_elsewhere") }
        guard let output = AgentDecision.output(reply, to: request, addsRules: state == .open) else {
            return none(.refused("not_offered"), "not_offered")
        }
        // Nothing is allowed without a trace.
        guard record(reply.choice.rawValue) || reply.choice == .reject else {
            return none(.refused("not_recorded"), "not_recorded")
        }
        console.print(String(decoding: output.encoded(), as: UTF8.self))
        return .taken
    }

    @discardableResult
    private func record(_ decision: String) -> Bool {
        do throws(FileError) {
            try DecisionLog(directory: stateDirectory).append(
                request.agent.rawValue, tool: request.tool, digest: request.digest, decision: decision,
                at: WallClock.system.now)
            return true
        } catch {
            console.explain("cannot record the decision: \(error)")
            return false
        }
    }

    private func report(_ fate: ReplyFate, of given: GivenReply?, to eventID: String) async {
        do throws(SealingFailure) {
            let result = try opener.result(fate, of: given, to: eventID, at: Int(WallClock.system.now / 1000))
            _ = await hurried.report(result, of: eventID)
        } catch {
            console.explain("cannot seal the result of a reply: \(error)")
        }
    }

    /// Removes the request from the phones, and lets those learn it that reply from now on.
    private func withdraw(_ fate: ReplyFate, _ eventID: String) async {
        async let isTold: Void = report(fate, of: nil, to: eventID)
        _ = await hurried.acknowledge(eventID)
        await isTold
    }

    /// The relay, with a time limit that the agent can wait for.
    private var hurried: RelayClient {
        var relay = relay
        relay.deadline = Bounds.withdrawDeadline
        return relay
    }
}

import Delays
import Glibc
import JSON
import Network
import Programs
import PushSealing
import Synchronization

/// A hook call that waits for a person's reply and prints it as a decision for the agent.
///
/// Any failure ends the call without a decision, so that the agent asks in its terminal.
final class AnswerCall: Sendable {
    let request: AgentRequest
    let input: JSON.Value
    let relay: RelayClient
    let opener: ReplyOpener
    let sealer: Sealer
    let stateDirectory: String
    let console: Console
    /// When the call stops waiting.
    let end: MonotonicTime
    /// When the call stops waiting, in wall-clock time for the phone; the monotonic clock stops while the machine
    /// sleeps.
    private let lastTime: EpochMilliseconds
    /// Whether the agent no longer wants a decision.
    private let isStopped = Atomic(false)
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
        lastTime = (WallClock.system.now + end.since(.current).inMilliseconds) / 1000 * 1000
    }

    private var isInTime: Bool { end > .current && WallClock.system.now < lastTime }

    /// What ends the wait.
    private enum Sign: Sendable {
        case replied(GivenReply)
        /// Nobody needs a reply any longer; carries a word for the log.
        case over(ReplyFate, String)
    }

    /// Rings, waits and prints the decision, if there is one; false if the request couldn't ring, so that the caller
    /// rings without offering an answer.
    func run(_ ring: Ring) -> Bool {
        let (signs, input) = AsyncStream.makeStream(of: Sign.self)
        let status = CommandTask.run(
            stop: {
                // The person answered at the desk, or the agent's own time limit has expired.
                isStopped.store(true, ordering: .sequentiallyConsistent)
                input.yield(.over(isInTime ? .answeredElsewhere : .tooLate, "terminated"))
                return nil
            },
            // If the request was answered in the meantime, the caller must not ring either.
            {
                let hasRung = await self.work(ring, signs, input)
                return hasRung || self.hasStopped ? .success : .failed
            })
        return status == .success
    }

    private var hasStopped: Bool { isStopped.load(ordering: .sequentiallyConsistent) }

    private func work(
        _ ring: Ring, _ signs: AsyncStream<Sign>, _ input: AsyncStream<Sign>.Continuation
    ) async -> Bool {
        let now = WallClock.system.now
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        var asked = ring
        // Each call is a separate request: a reply to one must never answer another.
        asked.key = "ask \(number) \(now) \(getpid()) \(request.digest)"
        let sealed = sealer.sealed(
            QueuedEvent(asked, at: now),
            asking: AskedRequest(text: request.text, offer: request.offer, digest: request.digest),
            end: lastTime, at: now)
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
        switch await post(event) {
        case .accepted(let summary):
            console.explain(summary)
            if summary.hasPrefix(HookCommand.nobody) {
                _ = ask.close()
                return false
            }
            // No phone shows the request.
            if !summary.hasPrefix("sent"), !summary.hasPrefix("queued") {
                input.yield(.over(.tooLate, "not_rung"))
            }
        case .refused(let reason), .later(let reason, _), .unreachable(let reason):
            console.explain("cannot ask the phone: \(reason)")
            _ = ask.close()
            // The relay may have accepted the event nevertheless.
            await withdraw(.tooLate, event.id)
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

    /// Posts the event, and tries once more if the relay doesn't respond or can't accept it now.
    private func post(_ event: QueuedEvent) async -> RelayClient.Answer {
        let answer = await relay.post(event)
        switch answer {
        case .accepted, .refused: return answer
        case .later, .unreachable: return hasStopped ? answer : await relay.post(event)
        }
    }

    // MARK: Waiting

    private func waitForReply(to eventID: String, _ input: AsyncStream<Sign>.Continuation) async {
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        while isInTime, !Task.isCancelled {
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
            if !isInTime { return _ = input.yield(.over(.tooLate, "expired")) }
            guard transcript.size != size else { continue }
            size = transcript.size
            if transcript.state == .answered {
                return _ = input.yield(.over(.answeredElsewhere, "answered_elsewhere"))
            }
        }
    }

    /// Whether nobody will read the decision: an agent whose terminal was closed leaves its hooks behind.
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

    /// Prints the decision if the reply is from a paired phone and nothing shows that the request is over.
    private func decide(
        _ given: GivenReply, _ eventID: String, _ offer: ReplyOffer, _ ask: OpenAsk,
        _ transcript: ClaudeTranscript
    ) -> ReplyFate {
        let use = ReplyUse(
            request: request,
            over: { [self] in
                if hasStopped { return .answeredElsewhere }
                return !isInTime || isOrphan ? .tooLate : nil
            },
            state: { [request] in request.agent == .claudeCode ? transcript.state : .open },
            record: record,
            print: { [console] in console.print(String(decoding: $0.encoded(), as: UTF8.self)) })
        let isOpen = ask.close()
        let fate: ReplyFate
        do throws(ReplyRefusal) {
            let reply = try opener.open(given, to: eventID, of: offer)
            fate = isOpen ? use.take(reply) : use.leave(.answeredElsewhere)
        } catch {
            fate = use.leave(.refused(error.reason))
        }
        console.explain("the phone's reply: \(fate.word)")
        return fate
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

    /// Removes the request from the phones, and reports its fate to phones that reply later.
    private func withdraw(_ fate: ReplyFate, _ eventID: String) async {
        async let isTold: Void = report(fate, of: nil, to: eventID)
        _ = await hurried.acknowledge(eventID)
        await isTold
    }

    /// The relay client with a timeout short enough for the agent.
    private var hurried: RelayClient {
        var relay = relay
        relay.deadline = Bounds.withdrawDeadline
        return relay
    }
}

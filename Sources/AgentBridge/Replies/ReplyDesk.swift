import Delays
import Network
import Programs
import PushSealing

/// Waits for replies to the requests that rang, passes each reply on to OpenCode, and reports its result.
///
/// Replies at the relay survive a restart of the bridge: the queue's file records which requests rang and their event
/// IDs, so the new process waits for the same replies.
actor ReplyDesk {
    /// The desk's dependencies.
    struct Parts: Sendable {
        /// Waits a limited time for the reply to an event.
        let wait: @Sendable (_ eventID: String) async -> RelayClient.Wait
        /// Acknowledges an event; false if the call must be repeated later.
        let acknowledge: @Sendable (_ eventID: String) async -> Bool
        /// Reports the result of the reply to an event.
        let report: @Sendable (GivenResult, _ eventID: String) async -> RelayClient.Reported
        /// Opens replies; `nil` if the bridge doesn't wait for replies and only acknowledges events.
        let opener: ReplyOpener?
        /// Gives a reply to OpenCode.
        let answer:
            @Sendable (OpenCodeClient, Request, RequestReply) async throws(ServerError) ->
                OpenCodeClient.Answered
        var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    }

    private struct Watched: Sendable {
        let request: Request
        let eventID: String
        /// Whether the event let phones reply.
        let isOffered: Bool
        var isReplied = false
    }

    private enum Job: Sendable {
        case watch(RequestID, as: String)
        case acknowledge(String)
        case report(ReplyFate, of: String)
    }

    private let parts: Parts
    private let console: Console
    private let jobs: AsyncStream<Job>
    private let input: AsyncStream<Job>.Continuation
    private var client: OpenCodeClient?
    private var watched: [RequestID: Watched] = [:]
    /// Requests whose wait for a reply hasn't started yet.
    private var waiting: [RequestID] = []
    private var active = 0
    /// The events whose replies are being given to OpenCode.
    private var inUse: Set<String> = []
    /// How requests ended, by the IDs of their events.
    private var ends: [String: RequestEnd] = [:]
    /// Whether it has been logged that the relay doesn't accept results.
    private var isUnsupportedNoted = false

    init(_ parts: Parts, _ console: Console) {
        self.parts = parts
        self.console = console
        (jobs, input) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Runs until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs {
                group.addTask {
                    switch job {
                    case .watch(let id, let eventID):
                        // A reply that OpenCode doesn't accept yet must not delay others.
                        if let (given, known) = await self.watch(id, as: eventID) {
                            await self.use(given, known)
                        }
                    case .acknowledge(let eventID): await self.acknowledge(eventID)
                    case .report(let fate, let eventID): await self.report(fate, of: nil, to: eventID)
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Sets the server to which later replies are given.
    func use(_ client: OpenCodeClient) { self.client = client }

    /// Handles a request that rang: waits for its reply if phones can answer it.
    func rang(_ rung: RungRequest) {
        let (request, eventID) = (rung.request, rung.eventID)
        guard watched[request.id] == nil, watched.count < Bounds.requestsMax else { return }
        let isOffered = !actions(request, offersAnswers: rung.offersAnswers).isEmpty
        watched[request.id] = Watched(request: request, eventID: eventID, isOffered: isOffered)
        guard isOffered else { return }
        waiting.append(request.id)
        startNext()
    }

    /// Handles the end of a request: the phones no longer need to ring for it or show it.
    ///
    /// Returns the ID of the event that rang for it.
    func closed(_ id: RequestID, _ end: RequestEnd) -> String? {
        waiting.removeAll { $0 == id }
        guard let known = watched.removeValue(forKey: id) else { return nil }
        if inUse.contains(known.eventID) { ends[known.eventID] = end }
        guard !known.isReplied else { return known.eventID }
        // Informs phones that reply from now on.
        if known.isOffered { input.yield(.report(ReplyFate(end), of: known.eventID)) }
        input.yield(.acknowledge(known.eventID))
        return known.eventID
    }

    /// The actions of a request's event.
    func actions(_ request: Request, offersAnswers: Bool) -> [String] {
        guard let opener = parts.opener else { return [] }
        if request.kind == .permission { return ReplyOffer.permission.names }
        return offersAnswers && opener.requiresSealed ? [RequestReply.Choice.reject.rawValue] : []
    }

    /// Whether people can answer a request's questions: answers are always sealed.
    func canAnswer(_ request: Request) -> Bool {
        parts.opener?.requiresSealed == true && !request.questions.isEmpty
    }

    private func startNext() {
        while active < Bounds.replyWaitsMax, !waiting.isEmpty {
            guard let known = watched[waiting.removeFirst()] else { continue }
            active += 1
            input.yield(.watch(known.request.id, as: known.eventID))
        }
    }

    // MARK: One request

    /// The request that rang as this event, unless it is over.
    private func watched(_ id: RequestID, as eventID: String) -> Watched? {
        watched[id].flatMap { $0.eventID == eventID ? $0 : nil }
    }

    private func watch(_ id: RequestID, as eventID: String) async -> (GivenReply, Watched)? {
        defer {
            active -= 1
            startNext()
        }
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        while let known = watched(id, as: eventID), !Task.isCancelled {
            switch await parts.wait(eventID) {
            case .nothing:
                backOff.reset()
                // A relay with too many waits ends the longest-running one early; asking again at once would use up the
                // event limit.
                guard (try? await parts.sleep(backOff.next(.random(in: 0...1)))) != nil else { return nil }
                backOff.reset()
            case .later(let reason, let pause):
                guard watched(id, as: eventID) != nil, !Task.isCancelled else { return nil }
                console.explain("cannot wait for a reply (\(reason)); trying again")
                let delay = max(pause, backOff.next(.random(in: 0...1)))
                guard (try? await parts.sleep(delay)) != nil else { return nil }
            case .replied(let given):
                guard watched(id, as: eventID) != nil else { return nil }
                watched[id]?.isReplied = true
                inUse.insert(eventID)
                return (given, known)
            }
        }
        return nil
    }

    private func use(_ given: GivenReply, _ known: Watched) async {
        let fate = await carryOut(given, known)
        inUse.remove(known.eventID)
        ends[known.eventID] = nil
        if let fate { await report(fate, of: given, to: known.eventID) }
    }

    /// Gives a reply to OpenCode, with retries; `nil` if the task was cancelled before the reply's fate was known.
    private func carryOut(_ given: GivenReply, _ known: Watched) async -> ReplyFate? {
        let name = "the reply to \(Console.safe(known.request.id))"
        let reply: RequestReply
        do throws(ReplyRefusal) {
            guard let opener = parts.opener else { return nil }
            reply = try opener.open(given, to: known.eventID, of: known.request.knownOffer)
        } catch {
            console.note("\(name) was ignored: \(error)")
            return .refused(error.reason)
        }
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        var lastFault: ServerError?
        var isUnconfirmed = false
        for attempt in 0..<Bounds.replyAttemptsMax where !Task.isCancelled {
            guard watched(known.request.id, as: known.eventID) != nil else {
                console.note("\(name) came too late")
                let end = ends[known.eventID] ?? .withdrawn
                // A reply that has already been tried arrived in time.
                if end == .withdrawn, attempt > 0 { return ReplyFate(after: lastFault) }
                return isUnconfirmed ? ReplyFate(end).unconfirmed : ReplyFate(end)
            }
            if let client {
                do throws(ServerError) {
                    let answered = try await parts.answer(client, known.request, reply)
                    console.note("\(name)\(answered.sentence(reply.choice))")
                    return answered.fate(isUnconfirmed: isUnconfirmed)
                } catch {
                    // As far as the bridge knows, the reply hasn't been carried out.
                    if error != lastFault {
                        console.note(
                            "cannot give \(name) to OpenCode: \(error); trying again while it is open")
                    }
                    lastFault = error
                    if case .unreachable(_, isTimeout: true) = error { isUnconfirmed = true }
                }
            }
            guard (try? await parts.sleep(backOff.next(.random(in: 0...1)))) != nil else { return nil }
        }
        guard !Task.isCancelled else { return nil }
        console.note("gave up on \(name): OpenCode never accepted it")
        return ReplyFate(after: lastFault)
    }

    /// Reports the result of a reply or, without one, of every reply that arrives from now on.
    private func report(_ fate: ReplyFate, of given: GivenReply?, to eventID: String) async {
        guard let opener = parts.opener else { return }
        let result: GivenResult
        do throws(SealingFailure) {
            // Sealed only once: the relay keeps the first result.
            let time = Int(WallClock.system.now / 1_000)
            result = try opener.result(fate, of: given, to: eventID, at: time)
        } catch {
            return console.note("cannot seal the result of a reply: \(error)")
        }
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        var lastReason = ""
        for _ in 0..<Bounds.resultReportsMax where !Task.isCancelled {
            switch await parts.report(result, eventID) {
            case .done: return
            case .unsupported: return noteUnsupported()
            case .refused(let reason):
                return console.note("the relay refuses the result of a reply: \(reason)")
            case .later(let reason, let pause):
                lastReason = reason
                let delay = max(pause, backOff.next(.random(in: 0...1)))
                guard (try? await parts.sleep(delay)) != nil else { return }
            }
        }
        if !Task.isCancelled { console.note("cannot report the result of a reply: \(lastReason)") }
    }

    private func noteUnsupported() {
        if !isUnsupportedNoted {
            console.note(
                "the relay is older than this bridge: phones don't learn the results of their replies")
        }
        isUnsupportedNoted = true
    }

    private func acknowledge(_ eventID: String) async {
        var backOff = BackOff(from: Bounds.replyPauseMin, to: Bounds.replyPauseMax)
        for _ in 0..<Bounds.acknowledgementsMax where !Task.isCancelled {
            if await parts.acknowledge(eventID) { return }
            guard (try? await parts.sleep(backOff.next(.random(in: 0...1)))) != nil else { return }
        }
    }
}

extension ReplyDesk.Parts {
    /// Creates the dependencies from a relay client.
    init(relay: RelayClient, opener: ReplyOpener?) {
        self.init(
            wait: { await relay.waitForReply(to: $0) }, acknowledge: { await relay.acknowledge($0) },
            report: { await relay.report($0, of: $1) }, opener: opener,
            answer: { client, request, reply async throws(ServerError) in
                try await client.answer(request, reply)
            })
    }
}

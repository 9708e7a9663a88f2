import JSON
import Network
import Testing

@testable import AgentBridge

@Suite("Replies to permissions", .timeLimit(.minutes(2)))
struct ReplyDeskTests {
    /// What a desk requested, and the responses that it gets.
    final class Script: Sendable {
        struct State {
            /// The results of waits, one each; later waits return nothing.
            var waits: [RelayClient.Wait] = []
            /// OpenCode's responses, one each; after that it accepts every reply.
            var answers: [Result<OpenCodeClient.Answered, ServerError>] = []
            var refusedAcknowledgements = 0
            var waited: [String] = []
            var given: [RequestReply] = []
            var acknowledged: [String] = []
            var waiting = 0
            var waitingMost = 0
            var slept: [Duration] = []
            /// How many pauses end immediately; later ones last until this is raised.
            var pausesMax = Int.max
            /// The relay's responses to results, one each; after that it stores every result.
            var reports: [RelayClient.Reported] = []
            var reported: [Report] = []
        }

        /// A result that the desk reported.
        struct Report: Equatable {
            let eventID: String
            let result: GivenResult
        }

        let state: Lock<State>

        init(_ waits: [RelayClient.Wait] = []) { state = Lock(State(waits: waits)) }

        func parts(_ opener: ReplyOpener?) -> ReplyDesk.Parts {
            ReplyDesk.Parts(
                wait: { [self] eventID in
                    let next = state.withLock { state -> RelayClient.Wait? in
                        state.waited.append(eventID)
                        state.waiting += 1
                        state.waitingMost = max(state.waitingMost, state.waiting)
                        return state.waits.isEmpty ? nil : state.waits.removeFirst()
                    }
                    if next == nil { try? await Task.sleep(for: .milliseconds(5)) }
                    state.withLock { $0.waiting -= 1 }
                    return next ?? .nothing
                },
                acknowledge: { [self] eventID in
                    state.withLock { state in
                        state.refusedAcknowledgements -= 1
                        if state.refusedAcknowledgements < 0 { state.acknowledged.append(eventID) }
                        return state.refusedAcknowledgements < 0
                    }
                },
                report: { [self] result, eventID in
                    state.withLock { state in
                        state.reported.append(Report(eventID: eventID, result: result))
                        return state.reports.isEmpty ? .done : state.reports.removeFirst()
                    }
                },
                opener: opener,
                answer: { [self] _, _, reply async throws(ServerError) in
                    let answer = state.withLock { state in
                        state.given.append(reply)
                        return state.answers.isEmpty ? .success(.taken) : state.answers.removeFirst()
                    }
                    return try answer.get()
                },
                sleep: { [self] pause in
                    state.withLock { $0.slept.append(pause) }
                    while state.withLock({ $0.slept.count > $0.pausesMax }) {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                })
        }

        /// Waits until a condition holds.
        func until(_ condition: (State) -> Bool) async -> Bool {
            for _ in 0..<10_000 {
                if state.withLock({ condition($0) }) { return true }
                try? await Task.sleep(for: .milliseconds(5))
            }
            return false
        }
    }

    static let readable = ReplyOpener(keys: [], requiresSealed: false)

    static func request(_ id: String, _ kind: Request.Kind = .permission) throws -> Request {
        Request(id: id, session: try #require(SessionID("ses_1")), kind: kind)
    }

    private static func client() throws -> OpenCodeClient {
        let place = try #require(
            ServerPlace.find(given: try WebAddress("http://127.0.0.1:1"), environment: [:]) { [] })
        return OpenCodeClient(place: place, generation: .second, version: "2", memory: ServerMemory())
    }

    /// Runs `body` with a running desk that has a server.
    static func with(
        _ script: Script, _ opener: ReplyOpener? = readable, _ body: (ReplyDesk) async throws -> Void
    ) async throws {
        let desk = ReplyDesk(script.parts(opener), Console())
        await desk.use(try client())
        let task = Task { await desk.run() }
        try await body(desk)
        task.cancel()
        await task.value
    }

    @Test("a reply is given to OpenCode once, after faults of relay and server that pass")
    func gives() async throws {
        let script = Script([
            .later("unknown", .zero), .nothing, .replied(GivenReply(action: "always", text: "not sent")),
        ])
        script.state.withLock {
            $0.answers = [.failure(.unreachable("x", isTimeout: true)), .failure(.status(503))]
        }
        try await Self.with(script) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await script.until { $0.given.count == 3 })
            _ = await desk.closed("per_1", .answered)
            await desk.rang(try Self.request("per_2"), as: "evt_2")
            #expect(await script.until { $0.waited.last == "evt_2" })
            let state = script.state.withLock { $0 }
            #expect(state.given == Array(repeating: RequestReply(choice: .always), count: 3))
            #expect(state.waited.prefix(4) == ["evt_1", "evt_1", "evt_1", "evt_2"])
            // The reply already acknowledged the event.
            #expect(state.acknowledged == [])
        }
    }

    @Test(
        "a permission that was answered elsewhere is acknowledged, again if need be, and waited for no longer"
    )
    func acknowledges() async throws {
        let script = Script()
        script.state.withLock { $0.refusedAcknowledgements = 2 }
        try await Self.with(script) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await script.until { !$0.waited.isEmpty })
            _ = await desk.closed("per_1", .answered)
            _ = await desk.closed("per_1", .answered)
            _ = await desk.closed("per_unknown", .answered)
            #expect(await script.until { $0.acknowledged == ["evt_1"] && $0.waiting == 0 })
            script.state.withLock { $0.waits = [.replied(GivenReply(action: "once"))] }
            await desk.rang(try Self.request("per_2"), as: "evt_2")
            #expect(await script.until { $0.given.count == 1 })
            #expect(script.state.withLock { $0.waited.last } == "evt_2")
        }
    }

    @Test("a wait that ends without a reply is followed by a pause that doesn't grow")
    func pauses() async throws {
        let script = Script(Array(repeating: .nothing, count: 9) + [.replied(GivenReply(action: "once"))])
        try await Self.with(script) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await script.until { $0.given.count == 1 })
            let slept = script.state.withLock(\.slept)
            #expect(slept.count == 9)
            #expect(slept.allSatisfy { (Bounds.replyPauseMin / 2...Bounds.replyPauseMin).contains($0) })
        }
    }

    @Test("without replies, and for questions where texts are readable, events are only acknowledged")
    func acknowledgesOnly() async throws {
        for (opener, kind) in [(nil, .permission), (Self.readable, .form)] as [(ReplyOpener?, Request.Kind)] {
            let script = Script()
            try await Self.with(script, opener) { desk in
                await desk.rang(try Self.request("per_1", kind), as: "evt_1")
                _ = await desk.closed("per_1", .answered)
                #expect(await script.until { $0.acknowledged == ["evt_1"] })
                #expect(script.state.withLock(\.waited) == [])
            }
        }
    }

    @Test("what the server asks is posted to be repeated for an hour, and no other permission")
    func repetition() throws {
        var relay = RelayClient(address: try WebAddress("https://r"), secret: "s")
        let session = try #require(SessionID("ses_1"))
        func repeated(_ awaitsAnswer: Bool) throws -> JSON.Value? {
            let event = QueuedEvent(
                id: "e", at: 1, type: .permission, session: session, text: .general,
                awaitsAnswer: awaitsAnswer)
            guard case .put(event)? = QueueRecord(line: QueueRecord.put(event).line.dropLast()) else {
                return false
            }
            return try JSON.parse(relay.body(event), maxBytes: 1_000)["repeat"]
        }
        #expect(try repeated(true) == nil)
        relay.repeatEvery = .seconds(120)
        #expect(try repeated(true) == ["every": 120, "for": 3_600])
        // An event from a hook isn't repeated, because the bridge wouldn't notice when its request is answered.
        #expect(try repeated(false) == nil)
    }

    @Test("a reply to an earlier request with the same ID isn't used for the next one")
    func reused() async throws {
        let script = Script()
        try await Self.with(script) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await script.until { $0.waiting == 1 && $0.waited.last == "evt_1" })
            #expect(await desk.closed("per_1", .answered) == "evt_1")
            await desk.rang(try Self.request("per_1"), as: "evt_2")
            #expect(await script.until { $0.waited.last == "evt_2" && $0.acknowledged == ["evt_1"] })
            let before = script.state.withLock { $0.waited.count }
            #expect(await script.until { $0.waited.count > before + 3 })
            #expect(script.state.withLock { !$0.waited[before...].contains("evt_1") })
        }
    }

    @Test("an acknowledgement has the notification removed, and a state of the way isn't one")
    func clears() throws {
        let body = try JSON.parse(RelayClient.body("s", "evt_1", clears: true), maxBytes: 1_000)
        #expect(body == ["secret": "s", "eventID": "evt_1", "clear": true])
    }

    @Test("a reply that OpenCode refuses is given again until the permission is over, with growing pauses")
    func refused() async throws {
        let script = Script([.replied(GivenReply(action: "once"))])
        script.state.withLock {
            $0.answers =
                Array(repeating: .failure(.status(400)), count: 100)
                + [.failure(.answer("x")), .failure(.unauthorized), .success(.taken)]
        }
        try await Self.with(script) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await script.until { $0.given.count == 103 })
            let state = script.state.withLock { $0 }
            #expect(state.given.allSatisfy { $0 == RequestReply(choice: .once) })
            #expect(state.slept.allSatisfy { $0 <= Bounds.replyPauseMax })
            #expect(state.slept.suffix(50).allSatisfy { $0 >= Bounds.replyPauseMax / 2 })
        }
        let over = Script([.replied(GivenReply(action: "once"))])
        over.state.withLock { $0.answers = Array(repeating: .failure(.status(400)), count: 1_000_000) }
        try await Self.with(over) { desk in
            await desk.rang(try Self.request("per_1"), as: "evt_1")
            #expect(await over.until { $0.given.count > 3 })
            _ = await desk.closed("per_1", .answered)
            // The closed request's slot is free, and its reply is no longer passed on.
            await desk.rang(try Self.request("per_2"), as: "evt_2")
            #expect(await over.until { $0.waited.last == "evt_2" })
            let count = over.state.withLock(\.given.count)
            #expect(await over.until { $0.waited.count > 20 })
            #expect(over.state.withLock(\.given.count) <= count + 1)
        }
    }

    @Test("a reply that OpenCode refuses holds up no other permission")
    func others() async throws {
        let script = Script()
        script.state.withLock { $0.answers = Array(repeating: .failure(.status(400)), count: 1_000_000) }
        try await Self.with(script) { desk in
            for number in 0..<Bounds.replyWaitsMax * 2 {
                script.state.withLock { $0.waits = [.replied(GivenReply(action: "once"))] }
                await desk.rang(try Self.request("per_\(number)"), as: "\(number)")
                #expect(await script.until { $0.waits.isEmpty })
            }
            #expect(await script.until { $0.waiting == 0 })
            await desk.rang(try Self.request("per_last"), as: "last")
            #expect(await script.until { $0.waited.last == "last" })
        }
    }

    @Test("a reply to something else isn't given again")
    func changed() async throws {
        let script = Script([
            .replied(GivenReply(action: "reject", text: "no")),
            .replied(GivenReply(action: "reject", text: "no")),
        ])
        script.state.withLock { $0.answers = [.success(.changed), .success(.notListed)] }
        try await Self.with(script) { desk in
            for number in 1...2 {
                await desk.rang(try Self.request("per_\(number)"), as: "evt_\(number)")
                #expect(await script.until { $0.given.count == number })
            }
            #expect(
                script.state.withLock { $0.given.last } == RequestReply(choice: .reject, message: "no"))
            #expect(script.state.withLock { $0.given.count } == 2)
        }
    }

    @Test("at most eight permissions are waited for at once, and the others get their turn")
    func bounds() async throws {
        let script = Script()
        try await Self.with(script) { desk in
            for number in 0..<20 { await desk.rang(try Self.request("per_\(number)"), as: "\(number)") }
            #expect(await script.until { Set($0.waited).count == Bounds.replyWaitsMax })
            for number in 0..<20 {
                #expect(await script.until { $0.waited.contains("\(number)") })
                _ = await desk.closed("per_\(number)", .answered)
            }
            #expect(await script.until { $0.acknowledged.count == 20 && $0.waiting == 0 })
            #expect(script.state.withLock(\.waitingMost) <= Bounds.replyWaitsMax)
        }
    }
}

extension ReplyDesk {
    /// Tells the desk that a request rang; phones may answer its questions, if it has any.
    func rang(_ request: Request, as eventID: String) {
        let offersAnswers = !request.questions.isEmpty
        rang(RungRequest(request: request, eventID: eventID, offersAnswers: offersAnswers))
    }
}

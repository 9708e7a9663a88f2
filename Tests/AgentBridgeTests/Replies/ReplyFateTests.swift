import JSON
import Network
import PushSealing
import Testing
import WebClient

@testable import AgentBridge

@Suite("What becomes of replies", .timeLimit(.minutes(2)))
struct ReplyFateTests {
    private typealias Desk = ReplyDeskTests
    private typealias Script = ReplyDeskTests.Script

    private static let pairing = PairingSecret()
    private static let strict = ReplyOpener(
        keys: [SealedReply.Key(pairing)], requiresSealed: true, resultKey: SealedResult.Key(pairing))

    private static func sealed(_ action: String, for eventID: String) throws -> GivenReply {
        let reply = SealedReply(action: action, sentAt: 1)
        return GivenReply(sealed: try reply.sealed(for: eventID, with: SealedReply.Key(pairing)))
    }

    /// The result that a phone reads; `nil` if the phone can't trust it.
    private static func opened(_ report: Script.Report, _ reply: GivenReply?) throws -> SealedResult? {
        guard case .sealed(let text) = report.result else { return nil }
        return try SealedResult(
            opening: text, for: report.eventID, ofReply: reply?.sealed, with: [SealedResult.Key(pairing)])
    }

    /// OpenCode's responses to a reply, and the result that the phone should read.
    private typealias Answers = [Result<OpenCodeClient.Answered, ServerError>]

    private static let fates: [(answers: Answers, outcome: ReplyOutcome, reason: String?)] = [
        ([.success(.taken)], .taken, nil),
        ([.failure(.status(503)), .failure(.status(400)), .success(.taken)], .taken, nil),
        ([.success(.notListed)], .answeredElsewhere, nil),
        ([.failure(.unreachable("x", isTimeout: false)), .success(.notListed)], .answeredElsewhere, nil),
        (
            [.failure(.unreachable("x", isTimeout: true)), .success(.notListed)], .answeredElsewhere,
            "unconfirmed"
        ),
        ([.success(.changed)], .refused, "changed"),
        (endless(.status(400)), .refused, "status_400"),
        (endless(.unauthorized), .refused, "unauthorized"),
        (endless(.unreachable("x", isTimeout: false)), .notDelivered, nil),
        (endless(.status(500)), .notDelivered, "status_500"),
        (endless(.answer("x")), .notDelivered, "unexpected_answer"),
    ]

    private static func endless(_ fault: ServerError) -> Answers {
        Array(repeating: .failure(fault), count: Bounds.replyAttemptsMax)
    }

    @Test("each way in which OpenCode handles a reply has one outcome, sealed where the reply was")
    func outcomes() async throws {
        for (answers, outcome, reason) in Self.fates {
            for opener in [Desk.readable, Self.strict] {
                let isSealed = opener.requiresSealed
                let reply =
                    isSealed ? try Self.sealed("once", for: "evt_1") : GivenReply(action: "once")
                let script = Script([.replied(reply)])
                script.state.withLock { $0.answers = answers }
                try await Desk.with(script, opener) { desk in
                    await desk.rang(try Desk.request("per_1"), as: "evt_1")
                    #expect(await script.until { $0.reported.count == 1 })
                    // The end of the request isn't reported as a second result.
                    _ = await desk.closed("per_1", .answered)
                    await desk.rang(try Desk.request("per_2"), as: "evt_2")
                    #expect(await script.until { $0.waited.contains("evt_2") })
                }
                let report = try #require(script.state.withLock { $0.reported.first })
                #expect(script.state.withLock(\.reported.count) == 1 && report.eventID == "evt_1")
                if isSealed {
                    let result = try #require(try Self.opened(report, reply))
                    #expect(result.outcome == outcome && result.reason == reason)
                } else {
                    guard case .readable(let fate) = report.result else {
                        Issue.record("\(outcome.rawValue) is sealed")
                        continue
                    }
                    #expect(fate.outcome == outcome && fate.reason == reason)
                }
            }
        }
    }

    @Test("a reply that the bridge doesn't accept is refused with the reason")
    func unaccepted() async throws {
        let foreign = GivenReply(
            sealed: try SealedReply(action: "once", sentAt: 1).sealed(
                for: "evt_1", with: SealedReply.Key(PairingSecret())))
        let cases: [(GivenReply, ReplyOpener, String)] = [
            (GivenReply(action: "always"), Self.strict, "not_sealed"),
            (try Self.sealed("maybe", for: "evt_1"), Self.strict, "unknown_action"),
            (try Self.sealed("once", for: "evt_2"), Self.strict, "cannot_open"),
            (foreign, Self.strict, "cannot_open"),
            (GivenReply(action: "maybe"), Desk.readable, "unknown_action"),
            (try Self.sealed("once", for: "evt_1"), Desk.readable, "no_key"),
        ]
        for (reply, opener, reason) in cases {
            let script = Script([.replied(reply)])
            try await Desk.with(script, opener) { desk in
                await desk.rang(try Desk.request("per_1"), as: "evt_1")
                #expect(await script.until { $0.reported.count == 1 })
            }
            let report = try #require(script.state.withLock { $0.reported.first })
            if reply.sealed != nil, opener.requiresSealed {
                let result = try #require(try Self.opened(report, reply))
                #expect(result.outcome == .refused && result.reason == reason)
            } else {
                #expect(report.result == .readable(.refused(reason)))
            }
            #expect(script.state.withLock(\.given) == [])
        }
    }

    @Test("a request that ends without a reply is reported for those that come later")
    func ended() async throws {
        for (end, outcome) in [(.answered, .answeredElsewhere), (.withdrawn, .tooLate)]
            as [(RequestEnd, ReplyOutcome)]
        {
            for opener in [Desk.readable, Self.strict] {
                let script = Script()
                try await Desk.with(script, opener) { desk in
                    await desk.rang(try Desk.request("per_1"), as: "evt_1")
                    _ = await desk.closed("per_1", end)
                    #expect(await script.until { $0.reported.count == 1 && $0.acknowledged == ["evt_1"] })
                }
                let report = try #require(script.state.withLock { $0.reported.first })
                if opener.requiresSealed {
                    // The result applies to a reply from any phone.
                    let reply = try Self.sealed("once", for: "evt_1")
                    #expect(try Self.opened(report, reply)?.outcome == outcome)
                } else {
                    #expect(report.result == .readable(ReplyFate(end)))
                }
            }
        }
        // Phones can't reply to a question that wasn't offered, nor to anything without --allow-replies.
        for (opener, kind) in [(nil, .permission), (Self.strict, .question)] as [(ReplyOpener?, Request.Kind)]
        {
            let script = Script()
            try await Desk.with(script, opener) { desk in
                await desk.rang(try Desk.request("per_1", kind), as: "evt_1")
                _ = await desk.closed("per_1", .answered)
                #expect(await script.until { $0.acknowledged == ["evt_1"] })
            }
            #expect(script.state.withLock(\.reported) == [])
        }
    }

    @Test("a reply whose permission ends while it is given has the outcome of that end")
    func endedInBetween() async throws {
        let away = ServerError.unreachable("x", isTimeout: false)
        for (fault, end, expected) in [
            (away, .answered, .answeredElsewhere), (away, .withdrawn, .notDelivered()),
            (.status(400), .withdrawn, .refused("status_400")),
        ] as [(ServerError, RequestEnd, ReplyFate)] {
            let script = Script([.replied(GivenReply(action: "once"))])
            script.state.withLock { ($0.answers, $0.pausesMax) = (Self.endless(fault), 3) }
            try await Desk.with(script) { desk in
                await desk.rang(try Desk.request("per_1"), as: "evt_1")
                #expect(await script.until { $0.given.count > 2 })
                _ = await desk.closed("per_1", end)
                script.state.withLock { $0.pausesMax = .max }
                #expect(await script.until { !$0.reported.isEmpty })
            }
            let reported = script.state.withLock(\.reported)
            #expect(reported == [Script.Report(eventID: "evt_1", result: .readable(expected))])
        }
    }

    @Test(
        "a result that can't be reported is reported again with the same content, a limited number of times")
    func again() async throws {
        let reply = try Self.sealed("once", for: "evt_1")
        let script = Script([.replied(reply)])
        script.state.withLock { $0.reports = [.later("x", .zero), .later("x", .seconds(77))] }
        try await Desk.with(script, Self.strict) { desk in
            await desk.rang(try Desk.request("per_1"), as: "evt_1")
            #expect(await script.until { $0.reported.count == 3 })
        }
        let reported = script.state.withLock(\.reported)
        #expect(reported[0] == reported[1] && reported[1] == reported[2])
        #expect(script.state.withLock { $0.slept.contains(.seconds(77)) })

        for (answer, count) in [
            (.later("x", .zero), Bounds.resultReportsMax), (.unsupported, 1), (.refused("x"), 1),
        ] as [(RelayClient.Reported, Int)] {
            let script = Script([.replied(GivenReply(action: "once"))])
            script.state.withLock { $0.reports = Array(repeating: answer, count: 1_000) }
            try await Desk.with(script) { desk in
                await desk.rang(try Desk.request("per_1"), as: "evt_1")
                #expect(await script.until { $0.reported.count == count })
                // The desk keeps running.
                script.state.withLock { $0.waits = [.replied(GivenReply(action: "reject"))] }
                await desk.rang(try Desk.request("per_2"), as: "evt_2")
                #expect(await script.until { $0.reported.last?.eventID == "evt_2" })
            }
            #expect(script.state.withLock { $0.reported.count { $0.eventID == "evt_1" } } == count)
        }
    }

    @Test("a relay without results is told apart from one that doesn't know the event, and from a proxy")
    func answers() {
        func meaning(_ status: Int, _ body: String) -> RelayClient.Reported {
            RelayClient.reported(WebAnswer(status: status, body: Array(body.utf8)))
        }
        func refusal(_ code: String) -> String { #"{"ok":false,"error":"x","code":"\#(code)"}"# }
        #expect(meaning(200, #"{"ok":true,"result":{"at":"x","outcome":"taken"}}"#) == .done)
        #expect(meaning(404, refusal("not_found")) == .unsupported)
        #expect(meaning(404, refusal("unknown_event")) == .later("status 404: x", .zero))
        #expect(meaning(404, "Not found") == .later("status 404: no reason given", .zero))
        #expect(meaning(503, refusal("storage_unavailable")) == .later("status 503: x", .zero))
        #expect(meaning(400, refusal("invalid_field")) == .refused("status 400: x"))
    }

    @Test("a result has the outcome and the reason, or only what is sealed")
    func bodies() throws {
        func body(_ result: GivenResult) throws -> JSON.Value {
            try JSON.parse(RelayClient.body("s", "evt_1", result: result), maxBytes: 1_000)
        }
        #expect(
            try body(.readable(.refused("changed")))
                == ["secret": "s", "eventID": "evt_1", "outcome": "refused", "reason": "changed"])
        #expect(
            try body(.readable(.taken)) == ["secret": "s", "eventID": "evt_1", "outcome": "taken"])
        #expect(try body(.sealed("AQ")) == ["secret": "s", "eventID": "evt_1", "sealed": "AQ"])
    }

    @Test("a request that isn't listed any more was answered, and that of an idle session was withdrawn")
    func ends() throws {
        let session = try #require(SessionID("ses_1"))
        let request = Request(id: "per_1", session: session, kind: .permission)
        let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
        for (event, end) in [
            (.closed("per_1"), .answered),
            (
                .snapshot(Snapshot(askedAt: start + .seconds(2), busy: [session: nil], requests: [])),
                .answered
            ),
            (.snapshot(Snapshot(askedAt: start + .seconds(2), busy: [:], requests: [])), .withdrawn),
            (.deleted(session), .withdrawn),
            (.settled(session, .completed, mark: nil), .withdrawn),
        ] as [(BridgeEvent, RequestEnd)] {
            var model = RunModel()
            _ = model.handle(.busy(session, directory: nil), at: start)
            _ = model.handle(.resumed([], [request]), at: start + .seconds(1))
            #expect(model.handle(event, at: start + .seconds(3)).contains(.over("per_1", end)))
        }
    }
}

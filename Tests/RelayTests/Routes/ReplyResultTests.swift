import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Results of replies", .timeLimit(.minutes(2)))
struct ReplyResultTests {
    private static func post(
        _ relay: RelayFixture, _ path: String, _ members: JSON.Value = [:]
    ) async -> JSON.Value {
        await ReplyTests.post(relay, path, members)
    }

    @Test("The first result is kept, and an equal reply and a sender's question return it")
    func first() async throws {
        try await ReplyTests.with { relay in
            let reply: JSON.Value = ["action": "once"]
            #expect(await Self.post(relay, "reply", reply)["result"] == nil)
            let result: JSON.Value = ["outcome": "refused", "reason": "status_400"]
            let stored = await Self.post(relay, "reply/result", result)
            #expect(stored["ok"]?.bool == true && stored["result"]?["outcome"]?.string == "refused")
            #expect(stored["result"]?["reason"]?.string == "status_400")
            #expect(stored["result"]?["at"]?.string == Timestamp(relay.time.withLock { $0 }).text)
            relay.pass(.seconds(5))
            for other: JSON.Value in [result, ["outcome": "taken"], ["sealed": "AQ"]] {
                #expect(await Self.post(relay, "reply/result", other) == stored)
            }
            for (path, members) in [("reply", reply), ("reply/wait", [:])] as [(String, JSON.Value)] {
                #expect(await Self.post(relay, path, members)["result"] == stored["result"])
            }
            // Another reply doesn't get this one's result.
            let other = await Self.post(relay, "reply", ["action": "reject"])
            #expect(other["code"]?.string == "already_replied" && other["result"] == nil)
            #expect(relay.replies.figures.reported == 1)
        }
    }

    @Test("A result that is there before the reply is returned with it")
    func before() async throws {
        try await ReplyTests.with { relay in
            let stored = await Self.post(relay, "reply/result", ["sealed": "AQ"])
            #expect(stored["result"]?["sealed"]?.string == "AQ" && stored["result"]?["outcome"] == nil)
            let known = await Self.post(relay, "reply/wait", ["timeout": 0])
            #expect(known["acknowledgedAt"]?.string != nil && known["reply"] == nil)
            // The phone doesn't wait.
            let reply = await Self.post(relay, "reply", ["sealed": "AQI", "timeout": 50])
            #expect(reply["ok"]?.bool == true && reply["result"] == stored["result"])
            #expect(relay.replies.figures.waiting == 0)
        }
    }

    @Test("A phone that waits gets the result as soon as there is one, and a sender's wait goes on")
    func wait() async throws {
        try await ReplyTests.with { relay in
            async let sender = Self.post(relay, "reply/wait", ["timeout": 50, "eventID": "evt_2"])
            async let phone = Self.post(relay, "reply", ["action": "once", "timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 2 })
            // Neither a repeated reply nor an acknowledgement is a result.
            _ = await Self.post(relay, "reply", ["action": "once"])
            _ = await Self.post(relay, "ack")
            #expect(relay.replies.figures.waiting == 2)
            _ = await Self.post(relay, "reply/result", ["outcome": "taken", "eventID": "evt_2"])
            #expect(relay.replies.figures.waiting == 2)
            _ = await Self.post(relay, "reply/result", ["outcome": "taken"])
            #expect(await phone["result"]?["outcome"]?.string == "taken")
            #expect(relay.replies.figures.waiting == 1)
            relay.replies.finish()
            #expect(await sender["result"]?["outcome"]?.string == "taken")
        }
    }

    @Test("A result that was reported to another relay ends the wait")
    func otherRelay() async throws {
        var options = RelayFixture.Options()
        options.replies.pollInterval = .milliseconds(10)
        try await ReplyTests.with(options) { relay in
            async let phone = Self.post(relay, "reply", ["action": "once", "timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            _ = try await relay.storage.report(
                ReplyResult(outcome: "too_late"), of: EventName("evt_1", of: RelayFixture.key), at: 1)
            #expect(await phone["result"]?["outcome"]?.string == "too_late")
        }
    }

    @Test("Without a result in time, and beyond the maximum of waits, the reply still succeeds")
    func none() async throws {
        var options = RelayFixture.Options()
        options.replies.perSecretMax = 1
        try await ReplyTests.with(options) { relay in
            async let sender = Self.post(relay, "reply/wait", ["timeout": 50, "eventID": "evt_2"])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            let reply = await Self.post(relay, "reply", ["action": "once", "timeout": 50])
            #expect(reply["ok"]?.bool == true && reply["repliedAt"] != nil && reply["result"] == nil)
            relay.replies.finish()
            _ = await sender
            let again = await Self.post(relay, "reply", ["action": "once", "timeout": 1])
            #expect(again == reply)
        }
    }

    @Test(
        "Results with missing, wrong or contradictory fields are refused",
        arguments: [
            ([:], "missing_field", "outcome"), (["reason": "x"], "missing_field", "outcome"),
            (["outcome": "Taken"], "invalid_field", "outcome"), (["outcome": ""], "invalid_field", "outcome"),
            (["outcome": 1], "invalid_field", "outcome"),
            (["outcome": "refused", "reason": "a b"], "invalid_field", "reason"),
            (["outcome": "refused", "reason": "<b>"], "invalid_field", "reason"),
            (["outcome": "refused", "reason": ""], "invalid_field", "reason"),
            (
                ["outcome": "refused", "reason": .string(String(repeating: "a", count: 65))],
                "invalid_field", "reason"
            ),
            (["outcome": "taken", "sealed": "AQ"], "invalid_field", "outcome"),
            (["reason": "x", "sealed": "AQ"], "invalid_field", "reason"),
            (["sealed": "Ag"], "invalid_field", "sealed"), (["eventID": ""], "invalid_field", "eventID"),
            (["outcome": "taken", "eventID": "evt_0"], "unknown_event", "eventID"),
        ] as [(JSON.Value, String, String)])
    func refusals(body: JSON.Value, code: String, field: String) async throws {
        try await ReplyTests.with { relay in
            let answer = await Self.post(relay, "reply/result", body)
            #expect(answer["code"]?.string == code && answer["field"]?.string == field)
            #expect(relay.storage.state.withLock(\.acknowledgements).isEmpty)
        }
    }

    @Test("The history shows an event's result, and none for other events")
    func history() async throws {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400), keepsText: true)
        // The machine may be slow: an event is answered before its item is stored if that takes longer.
        options.history?.waitMax = .seconds(60)
        try await ReplyTests.with(options) { relay in
            _ = await Self.post(relay, "reply", ["action": "once"])
            func results() async throws -> [String: JSON.Value] {
                let page = await Self.post(relay, "history/list")
                let items = try #require(page["items"]?.array)
                #expect(items.count == 2)
                return Dictionary(
                    uniqueKeysWithValues: items.compactMap { item in
                        item["result"].map { (item["eventID"]?.string ?? "", $0) }
                    })
            }
            // The storage would mark them: the fake one doesn't.
            relay.storage.state.withLock { state in
                for index in state.history.indices { state.history[index].acknowledgedAt = 1 }
            }
            #expect(try await results() == [:])
            let stored = await Self.post(relay, "reply/result", ["sealed": "AQ"])
            let result = try #require(stored["result"])
            #expect(try await results() == ["evt_1": result])
        }
    }

    @Test("Every outcome of the API can be reported")
    func outcomes() async throws {
        for outcome in ["taken", "answered_elsewhere", "too_late", "refused", "not_delivered"] {
            try await ReplyTests.with { relay in
                let stored = await Self.post(relay, "reply/result", ["outcome": .string(outcome)])
                #expect(stored["result"]?["outcome"]?.string == outcome)
            }
        }
        #expect(ReplyOutcome.allCases.count == 5)
    }

    @Test("A blocked secret can't report, and guesses at secrets are counted")
    func strangers() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 1
        try await ReplyTests.with(options) { relay in
            let guess: JSON.Value = ["outcome": "taken", "secret": "somebody else's secret"]
            #expect(await Self.post(relay, "reply/result", guess)["code"]?.string == "unknown_event")
            #expect(await Self.post(relay, "reply/result", guess)["code"]?.string == "rate_limited")
            let blocked = BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1, note: nil)
            relay.storage.state.withLock { $0.blocked = [blocked] }
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            let answer = await Self.post(relay, "reply/result", ["outcome": "taken"])
            #expect(answer["code"]?.string == "blocked")
        }
    }
}

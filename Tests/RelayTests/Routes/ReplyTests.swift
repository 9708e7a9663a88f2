import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Acknowledgements and replies", .timeLimit(.minutes(2)))
struct ReplyTests {
    /// Runs `body` with a device and an event `evt_1` that was sent to it.
    static func with(
        _ options: RelayFixture.Options = .init(), _ body: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for id in ["evt_1", "evt_2"] {
                let sent = await relay.event(["eventID": .string(id)])
                try #require(sent.json["ok"]?.bool == true)
            }
            try await body(relay)
        }
    }

    static func post(
        _ relay: RelayFixture, _ path: String, _ members: JSON.Value = [:]
    ) async -> JSON.Value {
        var body = JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        body["eventID"] = "evt_1"
        for member in members.object?.members ?? [] { body[member.name] = member.value }
        return await relay.post("/v1/" + path, .object(body)).json
    }

    private static let event = EventName("evt_1", of: RelayFixture.key)

    /// Waits until the given number of senders is waiting for a reply.
    private static func waiting(_ count: Int, _ relay: RelayFixture) async -> Bool {
        await relay.until { $0.services.shared.replies.figures.waiting == count }
    }

    @Test("An event is acknowledged again and again, and keeps the first time")
    func acknowledge() async throws {
        try await Self.with { relay in
            let first = await Self.post(relay, "ack")
            #expect(first["ok"]?.bool == true)
            #expect(first["acknowledgedAt"]?.string == Timestamp(relay.time.withLock { $0 }).text)
            relay.pass(.seconds(5))
            #expect(await Self.post(relay, "ack") == first)
            let known = await Self.post(relay, "reply/wait", ["timeout": 0])
            #expect(known == first)
            #expect(relay.replies.figures == .init(acknowledged: 1, repeated: 1))
        }
    }

    @Test("The first reply is kept, the same one again succeeds, and another one is told so")
    func firstReply() async throws {
        try await Self.with { relay in
            let reply: JSON.Value = ["action": "once", "text": "go\u{1F98A}"]
            let first = await Self.post(relay, "reply", reply)
            #expect(first["ok"]?.bool == true && first["repliedAt"]?.string != nil)
            relay.pass(.seconds(5))
            #expect(await Self.post(relay, "reply", reply) == first)
            for other: JSON.Value in [["action": "reject"], ["action": "once"], ["sealed": "AQ"]] {
                let refused = await Self.post(relay, "reply", other)
                #expect(refused["code"]?.string == "already_replied")
            }
            let known = await Self.post(relay, "reply/wait")
            #expect(known["reply"]?["action"]?.string == "once")
            #expect(known["reply"]?["text"]?.string == "go\u{1F98A}")
            #expect(known["reply"]?["at"] == first["repliedAt"])
            #expect(known["acknowledgedAt"] == first["repliedAt"])
        }
    }

    @Test(
        "Replies with missing, wrong or contradictory fields are refused",
        arguments: [
            ([:], "missing_field", "action"), (["action": ""], "invalid_field", "action"),
            (["action": "a b"], "invalid_field", "action"), (["action": 1], "invalid_field", "action"),
            (["action": .string(String(repeating: "a", count: 65))], "invalid_field", "action"),
            (["action": "a", "text": ""], "invalid_field", "text"),
            (["action": "a", "text": "\u{0}"], "invalid_field", "text"),
            (
                ["action": "a", "text": .string(String(repeating: "a", count: 4_097))], "invalid_field",
                "text"
            ),
            (["sealed": "AQ", "text": "a"], "invalid_field", "text"),
            (["sealed": "Ag"], "invalid_field", "sealed"), (["eventID": ""], "invalid_field", "eventID"),
            (["action": "a", "eventID": "evt_0"], "unknown_event", "eventID"),
        ] as [(JSON.Value, String, String)])
    func refusals(body: JSON.Value, code: String, field: String) async throws {
        try await Self.with { relay in
            let answer = await Self.post(relay, "reply", body)
            #expect(answer["code"]?.string == code && answer["field"]?.string == field)
            #expect(relay.storage.state.withLock(\.acknowledgements).isEmpty)
        }
    }

    @Test("A wait ends with the reply, not with an acknowledgement, and other events' waits go on")
    func wait() async throws {
        try await Self.with { relay in
            async let answer = Self.post(relay, "reply/wait", ["timeout": 50])
            async let other = Self.post(relay, "reply/wait", ["timeout": 50, "eventID": "evt_2"])
            #expect(await Self.waiting(2, relay))
            _ = await Self.post(relay, "ack")
            #expect(relay.replies.figures.waiting == 2)
            _ = await Self.post(relay, "reply", ["sealed": "AQ", "action": "sealed"])
            let reply = await answer["reply"]
            #expect(reply?["sealed"]?.string == "AQ" && reply?["action"]?.string == "sealed")
            #expect(await Self.waiting(1, relay))
            relay.replies.finish()
            #expect(await other == ["ok": true])
        }
    }

    @Test("A reply that arrived at another relay ends the wait, with one read for all waits")
    func otherRelay() async throws {
        var options = RelayFixture.Options()
        options.replies.pollInterval = .milliseconds(10)
        try await Self.with(options) { relay in
            let reads = relay.storage.state.withLock(\.acknowledgementReads).count
            let answers = try await withThrowingTaskGroup(of: JSON.Value.self) { group in
                for index in 0..<8 {
                    let id = index.isMultiple(of: 2) ? "evt_1" : "evt_2"
                    group.addTask {
                        await Self.post(relay, "reply/wait", ["timeout": 50, "eventID": .string(id)])
                    }
                }
                try #require(await Self.waiting(8, relay))
                for id in ["evt_1", "evt_2"] {
                    _ = try await relay.storage.acknowledge(
                        EventName(id, of: RelayFixture.key), reply: EventReply(action: id), at: 1)
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count == 8)
            for answer in answers { #expect(answer["reply"]?["action"]?.string?.hasPrefix("evt_") == true) }
            let polls = relay.storage.state.withLock(\.acknowledgementReads).dropFirst(reads)
            // Each wait looks once on its own for its event.
            #expect(polls.filter { $0 == 2 }.count >= 1 && polls.filter { $0 == 1 }.count >= 8)
            #expect(polls.allSatisfy { $0 <= 2 })
        }
    }

    @Test("A wait ends at its timeout with what is known")
    func timeout() async throws {
        try await Self.with { relay in
            let answer = await Self.post(relay, "reply/wait", ["timeout": 1])
            #expect(answer == ["ok": true])
            #expect(relay.replies.figures.waiting == 0)
        }
    }

    @Test("A client that disconnects frees its wait")
    func disconnect() async throws {
        try await Self.with { relay in
            let task = Task { await Self.post(relay, "reply/wait", ["timeout": 50]) }
            #expect(await Self.waiting(1, relay))
            task.cancel()
            #expect(await Self.waiting(0, relay))
            _ = await task.value
        }
    }

    @Test("While the database doesn't answer, a wait goes on; at its end it reports that")
    func outage() async throws {
        var options = RelayFixture.Options()
        options.replies.pollInterval = .milliseconds(10)
        try await Self.with(options) { relay in
            async let answer = Self.post(relay, "reply/wait", ["timeout": 50])
            #expect(await Self.waiting(1, relay))
            let reads = relay.storage.state.withLock { state in
                state.failure = .unavailable(logDetail: "x")
                return state.acknowledgementReads.count
            }
            #expect(
                await relay.until { _ in
                    relay.storage.state.withLock(\.acknowledgementReads).count > reads + 1
                })
            #expect(relay.replies.figures.waiting == 1)
            relay.replies.finish()
            #expect(await answer["code"]?.string == "storage_unavailable")
        }
    }

    private static func end(
        of waits: ReplyWaits, on loop: EventLoop, within limit: Duration
    ) async -> ReplyWaits.End {
        await loop.run { loop in await waits.wait(of: event, knowing: nil, within: limit, on: loop) }
    }

    @Test("A wait doesn't report a fault from before it began")
    func oldFault() async throws {
        try await Self.with { relay in
            let looks = Lock(0)
            // Looks at the database once.
            let waits = ReplyWaits(storage: relay.storage, clock: .system) { _ in
                if looks.withLock({ count in
                    count += 1
                    return count > 1
                }) {
                    try await Task.sleep(for: .seconds(600))
                }
            }
            let run = Task { await waits.run() }
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            let first = Task { await Self.end(of: waits, on: relay.loop, within: .seconds(60)) }
            #expect(await relay.until { _ in looks.withLock { $0 } == 2 })
            first.cancel()
            let before = await first.value
            let after = await Self.end(of: waits, on: relay.loop, within: .milliseconds(5))
            guard case .failed = before, case .known(nil) = after else {
                Issue.record("got \(before) and \(after)")
                return run.cancel()
            }
            run.cancel()
            await run.value
        }
    }

    @Test("A secret's waits are bounded; beyond the process's maximum the longest one ends")
    func bounds() async throws {
        var options = RelayFixture.Options()
        (options.replies.perSecretMax, options.replies.totalMax) = (2, 3)
        try await Self.with(options) { relay in
            let other = "another secret of mine"
            relay.storage.add("bb00", under: SecretHasher().key(of: Secret(other)))
            let tasks = (1...2).map { count in
                Task { () -> JSON.Value in
                    _ = await relay.until { $0.services.shared.replies.figures.waiting == count - 1 }
                    return await Self.post(relay, "reply/wait", ["timeout": 50])
                }
            }
            #expect(await Self.waiting(2, relay))
            let refused = await Self.post(relay, "reply/wait")
            #expect(refused["code"]?.string == "rate_limited")
            let others = (0..<2).map { _ in
                Task { await Self.post(relay, "reply/wait", ["timeout": 50, "secret": .string(other)]) }
            }
            #expect(await tasks[0].value == ["ok": true])
            #expect(await Self.waiting(3, relay))
            relay.replies.finish()
            for task in tasks + others { #expect(await task.value == ["ok": true]) }
            #expect(await Self.post(relay, "reply/wait", ["timeout": 50]) == ["ok": true])
        }
    }

    @Test("Secrets without devices can't wait, and their guesses are counted")
    func strangers() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 2
        try await Self.with(options) { relay in
            for (path, code) in [
                ("reply/wait", "unknown_event"), ("ack", "unknown_event"), ("ack", "rate_limited"),
            ] {
                let answer = await Self.post(relay, path, ["secret": "somebody else's secret"])
                #expect(answer["code"]?.string == code)
            }
        }
    }

    @Test("A blocked secret is refused on all three routes")
    func blocked() async throws {
        try await Self.with { relay in
            let blocked = BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1, note: nil)
            relay.storage.state.withLock { $0.blocked = [blocked] }
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            for path in ["ack", "reply", "reply/wait"] {
                let answer = await Self.post(relay, path, ["action": "once"])
                #expect(answer["code"]?.string == "blocked")
            }
        }
    }

    @Test("An event's push has its eventID in each copy, and a sealed one has it only in the envelope")
    func payload() async throws {
        try await Self.with { relay in
            _ = await relay.event(["eventID": "evt_3", "sealed": "AQ"])
            _ = await relay.event()
            let payloads = try await relay.onLoop { $0.production.pushes.map(\.notification.payload) }
                .map { try JSON.parse($0, maxBytes: 4_096) }
            #expect(payloads.count == 4)
            for copy in [payloads[0], payloads[0]["data"], payloads[0]["body"]] {
                #expect(copy?["eventID"]?.string == "evt_1")
            }
            for payload in payloads.dropFirst(2) {
                #expect(payload["body"] != nil && payload["body"]?["eventID"] == nil)
                #expect(payload["eventID"] == nil)
            }
        }
    }
}

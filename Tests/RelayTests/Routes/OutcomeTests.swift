import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Final outcomes", .timeLimit(.minutes(2)))
struct OutcomeTests {
    private static let settled = Bounds.outcomeSettleTime(databaseTimeout: .seconds(5)) + .milliseconds(1)

    private static func post(_ relay: RelayFixture, _ members: JSON.Value = [:]) async -> JSON.Value {
        var body = members.object ?? JSON.Object()
        if body["secret"] == nil { body["secret"] = .string(RelayFixture.secret) }
        return await relay.post("/v1/outcomes", .object(body)).json
    }

    /// A row that ended some time before now.
    private static func row(
        _ relay: RelayFixture, _ id: String, ago: Duration = .zero, to device: String? = nil
    ) -> Delivery {
        Delivery(
            id: id, secretHash: RelayFixture.key.primary, eventType: "error", sessionID: "ses_1",
            status: .sent, error: nil, createdAt: relay.time.withLock { $0 } - ago.inMilliseconds,
            deviceID: device)
    }

    private static func ids(_ page: JSON.Value) -> [String?] {
        page["outcomes"]?.array?.map { $0["apnsID"]?.string ?? $0["eventID"]?.string } ?? []
    }

    @Test("What became of an event is listed once it has settled, in order, and the cursor continues there")
    func lists() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00bbccdd", under: RelayFixture.key)
            let sent = await relay.event(["eventID": "evt_1"])
            let apnsID = try #require(sent.json["deliveries"]?.array?.first?["apnsID"])
            await relay.writeLog()
            let first = Timestamp(relay.time.withLock { $0 }).text
            relay.pass(.seconds(1))
            let secret = JSON.Value.string(RelayFixture.secret)
            _ = await relay.post("/v1/ack", ["secret": secret, "eventID": "evt_1"])
            let second = Timestamp(relay.time.withLock { $0 }).text
            relay.pass(.seconds(1))
            _ = await relay.post(
                "/v1/reply", ["secret": secret, "eventID": "evt_1", "action": "once", "text": "é🦊"])
            let third = Timestamp(relay.time.withLock { $0 }).text
            try await relay.storage.append([Self.row(relay, "gone", to: "unknown"), Self.row(relay, "none")])
            let none = await Self.post(relay)
            #expect(none == ["ok": true, "outcomes": [], "cursor": "0-0-0-"])
            relay.pass(Self.settled)
            let page = await Self.post(relay, ["cursor": "0-0-0-", "limit": 4])
            #expect(
                page["outcomes"] == [
                    [
                        "type": "push", "at": .string(first), "status": "sent", "apnsID": apnsID,
                        "device": "…00bbccdd", "eventID": "evt_1", "eventType": "complete",
                        "sessionID": "ses_1",
                    ],
                    ["type": "acknowledgement", "at": .string(second), "eventID": "evt_1"],
                    [
                        "type": "push", "at": .string(third), "status": "sent", "apnsID": "gone",
                        "removed": true, "eventType": "error", "sessionID": "ses_1",
                    ],
                    [
                        "type": "push", "at": .string(third), "status": "sent", "eventType": "error",
                        "sessionID": "ses_1",
                    ],
                ])
            let cursor = try #require(page["cursor"])
            let rest = await Self.post(relay, ["cursor": cursor])
            #expect(
                rest["outcomes"] == [
                    [
                        "type": "reply", "at": .string(third), "eventID": "evt_1", "action": "once",
                        "text": "é🦊",
                    ]
                ])
            let end = try #require(rest["cursor"])
            #expect(await Self.post(relay, ["cursor": end]) == ["ok": true, "outcomes": [], "cursor": end])
            #expect(await Self.post(relay, ["since": .string(third)])["outcomes"]?.array?.count == 3)
        }
    }

    @Test("Nothing is listed that is later than what this relay hasn't written yet")
    func unwritten() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.storage.append([Self.row(relay, "before", ago: .seconds(1))])
            let sent = await relay.event()
            let apnsID = try #require(sent.json["deliveries"]?.array?.first?["apnsID"]?.string)
            relay.pass(.seconds(1))
            try await relay.storage.append([Self.row(relay, "after")])
            relay.pass(Self.settled)
            #expect(Self.ids(await Self.post(relay)) == [nil])
            await relay.writeLog()
            #expect(await Self.post(relay)["outcomes"]?.array?.count == 3)
            #expect(Self.ids(await Self.post(relay))[1] == apnsID)
        }
    }

    @Test("A wait ends with the next outcome, or when the relay stops")
    func waits() async throws {
        var options = RelayFixture.Options()
        options.replies.outcomePollInterval = .milliseconds(1)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            async let page = Self.post(relay, ["timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            try await relay.storage.append([Self.row(relay, "x", ago: Self.settled, to: "d")])
            #expect(Self.ids(await page) == ["x"])
            #expect(relay.replies.figures.waiting == 0)
            let cursor = try #require(await page["cursor"])
            async let next = Self.post(relay, ["cursor": cursor, "timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            relay.replies.finish()
            #expect(await next == ["ok": true, "outcomes": [], "cursor": cursor])
        }
    }

    @Test("A secret may wait twice for outcomes, and still for replies")
    func manyWaits() async throws {
        var options = RelayFixture.Options()
        options.replies.perSecretMax = 1
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            async let first = Self.post(relay, ["timeout": 50])
            async let second = Self.post(relay, ["timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 2 })
            let third = await Self.post(relay, ["timeout": 50])
            #expect(third["code"] == "rate_limited")
            async let reply = relay.post(
                "/v1/reply/wait", ["secret": .string(RelayFixture.secret), "eventID": "e", "timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 3 })
            relay.replies.finish()
            let pages = await [first, second]
            #expect(pages.allSatisfy { $0["outcomes"] == [] })
            let status = await reply.status
            #expect(status == 200)
        }
    }

    @Test("A wait ends at its timeout, when the database fails and when its client is gone")
    func endsOfWaits() async throws {
        var options = RelayFixture.Options()
        options.replies.outcomePollInterval = .milliseconds(1)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await Self.post(relay, ["timeout": 1])["outcomes"] == [])
            let gone = Task { await Self.post(relay, ["timeout": 50]) }
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            gone.cancel()
            #expect(await gone.value["outcomes"] == [])
            async let failed = Self.post(relay, ["timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            #expect(await failed["code"] == "storage_unavailable")
            #expect(relay.replies.figures.waiting == 0)
        }
    }

    @Test("A secret's waits are bounded, and a secret without devices gets none")
    func bounds() async throws {
        var options = RelayFixture.Options()
        options.replies.outcomesPerSecretMax = 1
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            async let first = Self.post(relay, ["timeout": 50])
            #expect(await relay.until { $0.services.shared.replies.figures.waiting == 1 })
            #expect(await Self.post(relay, ["timeout": 50])["code"] == "rate_limited")
            #expect(await Self.post(relay)["ok"] == true)
            relay.replies.finish()
            #expect(await first["ok"] == true)
            for status in [true, true, false] as [JSON.Value] {
                let stranger = await Self.post(relay, ["secret": "fedcba9876543210", "timeout": 50])
                #expect(stranger["ok"] == status)
            }
        }
    }

    @Test("A page has no more texts than fit, and the next one has the others")
    func largePages() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let text = String(repeating: "a", count: Bounds.replyTextBytesMax)
            let now = relay.time.withLock { $0 }
            for number in 0..<40 {
                let id = "evt_\(number)"
                #expect(await relay.event(["eventID": .string(id)]).status == .ok)
                let reply = EventReply(action: "a", text: text)
                let event = EventName(id, of: RelayFixture.key)
                _ = try await relay.storage.acknowledge(event, reply: reply, at: now)
            }
            await relay.writeLog()
            relay.pass(Self.settled)
            var counts: [Int?] = []
            var cursor = JSON.Value.string("\(now)-2-0-")
            for _ in 0..<3 {
                let page = await Self.post(relay, ["cursor": cursor, "limit": 100])
                counts.append(page["outcomes"]?.array?.count)
                cursor = page["cursor"] ?? nil
            }
            #expect(counts == [32, 8, 0])
        }
    }

    @Test(
        "A cursor that no response had, and a cursor with a time, are refused",
        arguments: [
            ["cursor": ""], ["cursor": "x"], ["cursor": "1-0-0"], ["cursor": "1-3-0-"], ["cursor": "-1-0-0-"],
            ["cursor": "+1-0-0-"], ["cursor": "1-0-0-6"], ["cursor": "1-0-0-6G"], ["cursor": "1-1-0-00"],
            ["cursor": "1-1-0-ff"], ["cursor": "1-0-0-c3a9"], ["cursor": "1-0-0-+a"],
            ["cursor": "1000000000000000-0-0-"], ["cursor": 1], ["since": "yesterday"], ["since": 1],
            ["cursor": .string("1-1-0-" + String(repeating: "61", count: 129))],
            ["cursor": "1-0-0-", "since": "2027-03-28T08:00:00Z"],
        ] as [JSON.Value])
    func refusals(members: JSON.Value) async throws {
        try await RelayFixture.with { relay in
            let answer = await Self.post(relay, members)
            #expect(answer["code"] == "invalid_field")
            #expect(answer["field"] == .string(members["since"] == nil ? "cursor" : "since"))
        }
    }

    @Test("A cursor keeps its place, whatever the event's ID")
    func cursors() throws {
        for id in ["", "evt", "é🦊", "a-b"] {
            for kind in OutcomePosition.Kind.allCases where kind != .push || id.utf8.allSatisfy({ $0 < 128 })
            {
                let position = OutcomePosition(time: 1_800_000_000_000, kind: kind, id: id, number: 900)
                #expect(OutcomePosition(cursor: position.cursor) == position)
            }
        }
    }
}

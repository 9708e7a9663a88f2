import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Pushes that are repeated until somebody acknowledges them", .timeLimit(.minutes(2)))
struct RepeatTests {
    private static let minute: JSON.Value = ["every": 60, "for": 600]

    /// Sends a permission that repeats every minute, with additional members.
    private static func ask(
        _ relay: RelayFixture, _ id: String = "evt_1", _ members: JSON.Value = [:]
    ) async -> JSON.Value {
        var event = JSON.Object()
        event["eventType"] = "permission"
        event["eventID"] = .string(id)
        event["repeat"] = minute
        for member in members.object?.members ?? [] { event[member.name] = member.value }
        return await relay.event(.object(event)).json
    }

    private static func post(_ relay: RelayFixture, _ path: String, _ members: JSON.Value) async -> JSON.Value
    {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        return await relay.post("/v1/" + path, .object(body)).json
    }

    private static func pushes(_ relay: RelayFixture) async -> [Notification] {
        await relay.onLoop { $0.production.pushes.map(\.notification) }
    }

    /// Lets a minute pass and has a worker send what is due; returns the number of pushes so far.
    private static func next(_ relay: RelayFixture) async throws -> Int {
        relay.pass(.seconds(60))
        let due = relay.schedules.map(\.nextAt).min()
        try await relay.withScheduleWorker { _ in
            #expect(await eventually { relay.schedules.map(\.nextAt).min() != due || due == nil })
        }
        return await pushes(relay).count
    }

    @Test("A permission rings again under the same collapse ID until its time is over")
    func untilTheEnd() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await Self.ask(relay)["sent"] == 1)
            // When the sender repeats the request, nothing starts again.
            #expect(await Self.ask(relay)["sent"] == 1)
            #expect(relay.schedules.map(\.name) == ["evt_1"])
            for count in 2...11 {
                let rung = try await Self.next(relay)
                #expect(rung == count)
            }
            #expect(relay.schedules == [])
            let pushes = await Self.pushes(relay)
            #expect(Set(pushes.map(\.collapseID)) == [Repetition.collapseID(of: "evt_1")])
            #expect(Set(pushes.map(\.payload)).count == 1)
            let payload = try JSON.parse(pushes[5].payload, maxBytes: 4_096)
            #expect(payload["body"]?["eventID"] == "evt_1")
        }
    }

    @Test("An acknowledgement or a reply ends it", arguments: ["ack", "reply"])
    func ends(path: String) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for id in ["evt_1", "evt_2"] { #expect(await Self.ask(relay, id)["sent"] == 1) }
            let rung1 = try await Self.next(relay)
            #expect(rung1 == 4)
            let body: JSON.Value = ["eventID": "evt_1", "action": "once"]
            #expect(await Self.post(relay, path, body)["ok"] == true)
            #expect(relay.schedules.map(\.name) == ["evt_2"])
            let rung2 = try await Self.next(relay)
            #expect(rung2 == 5)
        }
    }

    @Test("An event that couldn't be sent rings neither now nor later")
    func unsent() async throws {
        var options = RelayFixture.Options()
        options.limits.pushesPerLoopMax = 2
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            _ = await relay.onLoop { $0.services.slots.take(1) }
            let answer = await Self.ask(relay)
            #expect(answer["code"] == "overloaded")
            #expect(relay.schedules == [])
        }
    }

    @Test("If the end couldn't be written, the next repetition finds the acknowledgement")
    func unwrittenEnd() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await Self.ask(relay)["sent"] == 1)
            _ = try await relay.storage.acknowledge(
                EventName("evt_1", of: RelayFixture.key), reply: nil, at: 1)
            #expect(relay.schedules.count == 1)
            let rung3 = try await Self.next(relay)
            #expect(rung3 == 1)
            #expect(relay.schedules == [])
        }
    }

    @Test("A notification is repeated, too, and keeps its own collapse ID")
    func notification() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for (id, own) in [("n_1", nil), ("n_2", "mine")] as [(String, String?)] {
                var notification: JSON.Object = .init()
                notification["title"] = "Disk full"
                if let own { notification["collapseID"] = .string(own) }
                let body: JSON.Value = [
                    "notification": .object(notification), "eventID": .string(id), "repeat": Self.minute,
                ]
                #expect(await Self.post(relay, "notify", body)["sent"] == 1)
            }
            let rung4 = try await Self.next(relay)
            #expect(rung4 == 4)
            let collapsed = await Self.pushes(relay).map { $0.collapseID?.text }
            let made = Repetition.collapseID(of: "n_1")?.text
            #expect(collapsed.count { $0 == made } == 2 && collapsed.count { $0 == "mine" } == 2)
        }
    }

    @Test(
        "Repetitions that make no sense are refused, and nothing is sent",
        arguments: [
            (["repeat": [:]], "missing_field", "repeat.every"),
            (["repeat": ["every": 60]], "missing_field", "repeat.for"),
            (["repeat": ["every": 59, "for": 600]], "invalid_field", "repeat.every"),
            (["repeat": ["every": 901, "for": 1_000]], "invalid_field", "repeat.every"),
            (["repeat": ["every": 60, "for": 10_801]], "invalid_field", "repeat.for"),
            (["repeat": ["every": 120, "for": 60]], "invalid_field", "repeat.for"),
            (["repeat": true], "invalid_field", "repeat"),
            (["eventType": "complete"], "invalid_field", "repeat"),
            (["async": true], "invalid_field", "repeat"),
        ] as [(JSON.Value, String, String)])
    func refusals(members: JSON.Value, code: String, field: String) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let answer = await Self.ask(relay, "evt_1", members)
            #expect(answer["code"]?.string == code && answer["field"]?.string == field, "\(answer)")
            let event: JSON.Value = ["eventType": "permission", "repeat": Self.minute]
            #expect(await relay.event(event).json["field"]?.string == "eventID")
            #expect(relay.schedules == [])
            #expect(await Self.pushes(relay).isEmpty)
        }
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

private func number(_ value: Double) -> JSON.Value { JSON.Number(value).map { .number($0) } ?? nil }

@Suite("Notifications", .timeLimit(.minutes(2)))
struct NotifyTests {
    private static let secret = JSON.Value.string(RelayFixture.secret)

    private func notify(
        _ relay: RelayFixture, _ notification: JSON.Value, _ members: JSON.Value = [:]
    ) async -> Response {
        var object = JSON.Object()
        object["secret"] = Self.secret
        object["notification"] = notification
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return await relay.post("/v1/notify", .object(object))
    }

    @Test("Every part of an alert is where Apple has it, data stands beside aps as it was sent")
    func alert() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let text = #"{"n":1.50e1,"aps2":{"é\u0000":[null,true]},"big":12345678901234567890}"#
            let data = try JSON.parse(Array(text.utf8), maxBytes: 1000)
            let response = await notify(
                relay,
                [
                    "title": "T", "subtitle": "S", "body": "B", "badge": 0, "sound": "ping.caf",
                    "category": "C",
                    "threadID": "th", "collapseID": "col-1", "interruptionLevel": "time-sensitive",
                    "relevanceScore": 1, "priority": 5, "ttl": 60, "mutableContent": true,
                    "contentAvailable": true, "pushType": "alert", "data": data, "unknown": 1,
                ])
            #expect(response.json["sent"] == 1 && response.json["muted"] == 0)
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(
                push.notification.pushType == .alert && push.notification.priority == .conserveDevicePower
                    && push.notification.collapseID?.text == "col-1")
            #expect(push.notification.expiration == 1_800_000_060)
            let payload = String(decoding: push.notification.payload, as: UTF8.self)
            let expected =
                #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"badge":0,"sound":"ping.caf","#
                + #""category":"C","thread-id":"th","interruption-level":"time-sensitive","relevance-score":1,"#
                + #""mutable-content":1,"content-available":1},"#
                + #""n":1.50e1,"aps2":{"é\u0000":[null,true]},"big":12345678901234567890}"#
            #expect(payload == expected)
        }
    }

    @Test("A background push has priority 5 and content available, by itself")
    func background() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await notify(relay, ["pushType": "background", "data": ["k": "v"]]).json["sent"] == 1)
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(
                push.notification.pushType == .background
                    && push.notification.priority == .conserveDevicePower)
            #expect(push.notification.expiration == 1_800_000_000 + 86_400)
            #expect(
                String(decoding: push.notification.payload, as: UTF8.self)
                    == #"{"aps":{"content-available":1},"k":"v"}"#)
        }
    }

    @Test("A whole number is one however it is written")
    func wholeNumbers() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aabb", under: RelayFixture.key)
            let notification: JSON.Value = ["badge": number(3.0), "priority": number(5.0)]
            #expect(await notify(relay, notification).json["sent"] == 1)
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(push.notification.priority == .conserveDevicePower)
            #expect(String(decoding: push.notification.payload, as: UTF8.self) == #"{"aps":{"badge":3}}"#)
        }
    }

    @Test(
        "What breaks Apple's rules is refused with the field, before anything is looked up or sent",
        arguments: faults)
    func refused(fault: (notification: JSON.Value, field: String)) async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "must not be asked") }
            let response = await notify(relay, fault.notification)
            #expect(response.status == 400 && response.json["code"] == "invalid_field", "\(response.json)")
            #expect(response.json["field"] == .string(fault.field), "\(response.json)")
        }
    }

    private static let faults: [(notification: JSON.Value, field: String)] = [
        ([:], "notification"), (["subtitle": nil], "notification.subtitle"),
        (["category": "c"], "notification"), (["contentAvailable": true], "notification"),
        (["title": "", "subtitle": "", "body": ""], "notification"), (["title": 1], "notification.title"),
        (["body": ["loc-key": "x"]], "notification.body"),
        (["title": "t", "badge": -1], "notification.badge"),
        (["title": "t", "badge": number(1.5)], "notification.badge"),
        (["title": "t", "badge": 1_000_000], "notification.badge"), (["badge": "1"], "notification.badge"),
        (["sound": ""], "notification.sound"), (["sound": ["volume": 1]], "notification.sound"),
        (["sound": ["name": "x", "volume": number(1.1)]], "notification.sound"),
        (["sound": ["name": "x", "critical": 1]], "notification.sound"),
        (
            ["title": "t", "collapseID": .string(String(repeating: "a", count: 65))],
            "notification.collapseID"
        ),
        (["title": "t", "collapseID": "a b"], "notification.collapseID"),
        (["title": "t", "collapseID": ""], "notification.collapseID"),
        (["title": "t", "interruptionLevel": "loud"], "notification.interruptionLevel"),
        (["title": "t", "relevanceScore": number(1.01)], "notification.relevanceScore"),
        (["title": "t", "relevanceScore": number(-0.1)], "notification.relevanceScore"),
        (["title": "t", "relevanceScore": "1"], "notification.relevanceScore"),
        (["title": "t", "priority": 7], "notification.priority"),
        (["title": "t", "ttl": -1], "notification.ttl"),
        (["title": "t", "ttl": 2_592_001], "notification.ttl"),
        (["title": "t", "ttl": "1h"], "notification.ttl"),
        (["title": "t", "data": []], "notification.data"),
        (["title": "t", "data": ["aps": [:]]], "notification.data"),
        (["title": "t", "kind": "k", "data": ["kind": 1]], "notification.data"),
        (["title": "t", "pushType": "voip"], "notification.pushType"),
        (["badge": 1, "mutableContent": true], "notification.mutableContent"),
        (["title": "t", "mutableContent": 1], "notification.mutableContent"),
        (["pushType": "background", "title": "t"], "notification.title"),
        (["pushType": "background", "badge": 0], "notification.badge"),
        (["pushType": "background", "sound": "x"], "notification.sound"),
        (["pushType": "background", "interruptionLevel": "passive"], "notification.interruptionLevel"),
        (["pushType": "background", "priority": 10], "notification.priority"),
        (["pushType": "background", "contentAvailable": false], "notification.contentAvailable"),
        (["pushType": "background", "mutableContent": true], "notification.mutableContent"),
    ]

    @Test("Without notification, or with one that is no object, the field is named")
    func noNotification() async throws {
        try await RelayFixture.with { relay in
            let missing = await relay.post("/v1/notify", ["secret": Self.secret]).json
            #expect(missing["code"] == "missing_field" && missing["field"] == "notification")
            #expect(await notify(relay, "text").json["field"] == "notification")
            #expect(
                await notify(relay, ["title": "t"], ["deviceToken": "xyz"]).json["field"] == "deviceToken")
            #expect(await notify(relay, ["title": "t"], ["eventID": ""]).json["field"] == "eventID")
        }
    }

    @Test("A payload of 4,096 bytes passes; one more is an error with the size if nothing may be shortened")
    func size() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
            let body = String(repeating: "a", count: 4096 - frame)
            #expect(await notify(relay, ["body": .string(body)]).json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.first?.notification.payload.count } == 4096)
            let response = await notify(relay, ["body": .string(body + "é")], ["shorten": false])
            #expect(response.status == 413)
            #expect(
                response.json == [
                    "ok": false,
                    "error":
                        "The notification is too large for APNs. It is 4098 bytes long; the limit is 4096.",
                    "code": "payload_too_large", "field": "notification",
                ])
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("To one device or to all; a token that isn't the secret's gets nothing")
    func oneDevice() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("BB00", under: RelayFixture.key)
            relay.storage.add("cc00", under: SecretHasher().key(of: Secret("another-secret-of-mine")))
            #expect(await notify(relay, ["title": "t"]).json["sent"] == 2)
            #expect(await notify(relay, ["title": "t"], ["deviceToken": "Bb00"]).json["sent"] == 1)
            let none = await notify(relay, ["title": "t"], ["deviceToken": "cc00"])
            #expect(none.status == 200 && none.json["deliveries"] == [])
            let tokens = await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) }
            #expect(tokens == ["aa00", "bb00", "bb00"])
        }
    }

    @Test("An eventID counts once; another notification, device or event under it is a conflict")
    func once() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let first = await notify(relay, ["title": "t", "ttl": 5], ["eventID": "e-1"])
            let second = await notify(relay, ["title": "t", "ttl": 5], ["eventID": "e-1"])
            #expect(first.body == second.body && first.json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            for (notification, members) in [
                (["title": "u", "ttl": 5], ["eventID": "e-1"]), (["title": "t"], ["eventID": "e-1"]),
                (["title": "t", "ttl": 5, "collapseID": "c"], ["eventID": "e-1"]),
                (["title": "t", "ttl": 5, "priority": 5], ["eventID": "e-1"]),
                (["title": "t", "ttl": 5, "kind": "k"], ["eventID": "e-1"]),
                (["title": "t", "ttl": 5], ["eventID": "e-1", "deviceToken": "aa00"]),
            ] as [(JSON.Value, JSON.Value)] {
                #expect(await notify(relay, notification, members).status == 409)
            }
            #expect(await relay.event(["eventID": "e-1"]).status == 409)
        }
    }

    @Test("Notifications count as events of their secret, and as a stranger's where it has no devices")
    func limited() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(eventsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            #expect(await notify(relay, ["title": "t"]).status == 200)
            #expect(await relay.event().status == 200)
            #expect(await notify(relay, ["title": "t"]).status == 429)
        }
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 1)
        try await RelayFixture.with(options) { relay in
            #expect(await notify(relay, ["title": "t"]).status == 200)
            #expect(await notify(relay, ["title": "t"]).status == 429)
        }
    }

    @Test(
        "Quiet hours take the sound and the light, not the text; a lone sound is muted, a background push passes"
    )
    func quiet() async throws {
        try await RelayFixture.with { relay in
            _ = await relay.post(
                "/v1/device/register",
                [
                    "secret": Self.secret, "deviceToken": "aa00",
                    "preferences": [
                        "eventTypes": [], "quietHours": ["from": "07:00", "to": "09:00", "timeZone": "UTC"],
                    ],
                ])
            #expect(
                await notify(relay, ["title": "t", "sound": "x", "interruptionLevel": "active"]).json["sent"]
                    == 1)
            #expect(await notify(relay, ["sound": "x"]).json["muted"] == 1)
            #expect(await notify(relay, ["pushType": "background"]).json["sent"] == 1)
            let payloads = await relay.onLoop {
                $0.production.pushes.map { String(decoding: $0.notification.payload, as: UTF8.self) }
            }
            #expect(
                payloads == [
                    #"{"aps":{"alert":{"title":"t"},"interruption-level":"passive"}}"#,
                    #"{"aps":{"content-available":1}}"#,
                ])
        }
    }

    @Test("The delivery log calls it notify, under its thread")
    func logged() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await notify(relay, ["title": "t", "threadID": "th"])
            let log = await relay.onLoop { $0.services.shared.deliveryLog }
            log.finish()
            await log.run()
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(rows.map(\.eventType) == ["notify"] && rows.map(\.sessionID) == ["th"])
        }
    }

    @Test("While the delivery log is crowded, a response waits for its row's room, and no row is dropped")
    func crowdedLog() async throws {
        var options = RelayFixture.Options()
        options.deliveries.waitingMax = 1
        options.deliveries.crowdedAt = 1
        options.deliveries.delayMax = .seconds(100)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let log = await relay.onLoop { $0.services.shared.deliveryLog }
            _ = await notify(relay, ["title": "first"])
            #expect(log.isCrowded)
            async let second = notify(relay, ["title": "second"])
            #expect(await eventually { await relay.onLoop { $0.production.pushes.count } == 2 })
            async let run: Void = log.run()
            _ = await second
            log.finish()
            await run
            #expect(log.figures.dropped == 0)
            #expect(relay.storage.state.withLock(\.deliveries.count) == 2)
        }
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Sealed notifications", .timeLimit(.minutes(2)))
struct SealedTests {
    /// A short sealed text of version 1.
    private static let sealed = "AS01OIhAQUJDREVGR0hJSksIRrRu"

    /// A sealed text of version 1 with this many characters.
    private static func sealed(count: Int) -> JSON.Value {
        .string("AQ" + String(repeating: "A", count: count - 2))
    }

    private func payload(_ relay: RelayFixture, _ index: Int = 0) async throws -> String {
        let pushes = await relay.onLoop { $0.production.pushes }
        try #require(index < pushes.count)
        return String(decoding: pushes[index].notification.payload, as: UTF8.self)
    }

    private func notify(
        _ relay: RelayFixture, _ notification: JSON.Value, _ sealed: JSON.Value
    ) async -> Response {
        await relay.post(
            "/v1/notify",
            ["secret": .string(RelayFixture.secret), "notification": notification, "sealed": sealed])
    }

    // MARK: The text

    @Test(
        "The text is canonical base64url without padding whose first byte is 1",
        arguments: [
            ("AQ", true), ("AQA", true), ("AQI", true), ("AX_-", true), ("AfAAAQ", true), ("AQAAAAA", true),
            ("", false), ("A", false), ("AQAAA", false), ("AR", false), ("AQB", false), ("AQAAAB", false),
            ("AQAAAAB", false), ("AQ==", false), ("AQA=", false), ("AQ+/", false), ("AQ A", false),
            ("AQA\n", false), ("AgAA", false), ("AAAA", false), ("BQAA", false), ("AQAÄ", false),
        ])
    func canonical(text: String, isTaken: Bool) {
        #expect((SealedText(text) != nil) == isTaken)
    }

    @Test("The text has at most 3,600 characters")
    func longest() {
        #expect(SealedText("AQ" + String(repeating: "A", count: 3_598)) != nil)
        #expect(SealedText("AQ" + String(repeating: "A", count: 3_600)) == nil)
    }

    // MARK: Events

    @Test("A sealed event shows its type's own text, lets the app change it and carries the sealed one")
    func event() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let answer = await relay.event(["eventType": "permission", "sealed": .string(Self.sealed)])
            #expect(answer.json["sent"] == 1)
            let facts = #""eventType":"permission","sessionID":"ses_1""#
            let expected =
                #"{"aps":{"alert":{"title":"Action needed","body":"OpenCode needs your permission decision."},"#
                + #""sound":"default","thread-id":"ses_1","mutable-content":1},"sealed":"\#(Self.sealed)","#
                + facts + #","data":{"# + facts + #"},"body":{"# + facts + "}}"
            let pushed = try await payload(relay)
            #expect(pushed == expected)
        }
    }

    @Test(
        "Sent later, at once after the answer, or held until quiet hours end, a sealed event stays sealed",
        arguments: ["schedule", "async", "held"])
    func later(way: String) async throws {
        try await RelayFixture.with { relay in
            // The fixture's time is 08:00 UTC.
            let quiet: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC", "mode": "later"]
            let registration: JSON.Value = [
                "secret": .string(RelayFixture.secret), "deviceToken": "aa00",
                "preferences": way == "held" ? ["quietHours": quiet] : [:],
            ]
            #expect(await relay.post("/v1/device/register", registration).status == .ok)
            let members: JSON.Value = ["eventType": "error", "sealed": .string(Self.sealed)]
            switch way {
            case "schedule":
                var body = try #require(members.object)
                (body["secret"], body["sessionID"]) = (.string(RelayFixture.secret), "ses_1")
                body["in"] = 60
                #expect(await relay.post("/v1/schedule/create", .object(body)).status == .ok)
            case "async":
                var body = try #require(members.object)
                (body["async"], body["eventID"]) = (true, "once")
                #expect(await relay.event(.object(body)).status == 202)
            default:
                #expect(await relay.event(members).json["queued"] == 1)
            }
            let content = try #require(relay.schedules.first?.content)
            #expect(content.contains(Self.sealed))
            relay.pass(.seconds(way == "held" ? 3_600 : 61))
            try await relay.withScheduleWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
            }
            let pushed = try await payload(relay)
            #expect(
                pushed.contains(#""sealed":"\#(Self.sealed)""#) && pushed.contains(#""mutable-content":1"#))
        }
    }

    @Test("A sealed event has no readable text", arguments: ["title", "body"])
    func noLeak(field: String) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let answer = await relay.event(["sealed": .string(Self.sealed), field: "plain words"])
            #expect(answer.status == 400 && answer.json["code"] == "invalid_field")
            #expect(answer.json["field"] == .string(field))
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            await relay.lines.log.close()
            #expect(!relay.lines.text.contains("plain words"))
        }
    }

    @Test(
        "Anything else than a sealed text is an error",
        arguments: [nil, 1, true, [], [:], "", "A", "AgAA", ["AQ"]] as [JSON.Value])
    func invalid(sealed: JSON.Value) async throws {
        try await RelayFixture.with { relay in
            for answer in [
                await relay.event(["sealed": sealed]), await notify(relay, ["title": "t"], sealed),
            ] {
                #expect(answer.status == 400 && answer.json["field"] == "sealed", "\(answer.json)")
            }
        }
    }

    @Test("The longest sealed text fits an ordinary event, awake and in quiet hours")
    func fits() async throws {
        try await RelayFixture.with { relay in
            let hours: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC"]
            for (token, preferences) in [("aa00", [:]), ("bb00", ["quietHours": hours])] as [(_, JSON.Value)]
            {
                _ = await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "preferences": preferences,
                    ])
            }
            let answer = await relay.event([
                "sealed": Self.sealed(count: 3_600), "sessionID": "ses_0123456789abcdef012345",
                "serverID": "9f2c1a0b3d4e5f60",
            ])
            #expect(answer.json["sent"] == 2, "\(answer.json)")
            for index in 0..<2 {
                let value = try JSON.parse(Array(try await payload(relay, index).utf8), maxBytes: 4_096)
                #expect(value["sealed"] == Self.sealed(count: 3_600))
                #expect(value["data"]?["serverID"] == "9f2c1a0b3d4e5f60")
            }
        }
    }

    @Test("A sealed event that doesn't fit is an error with the size, and nothing is cut or left out")
    func tooLarge() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let identifier = JSON.Value.string(String(repeating: "s", count: 255))
            let answer = await relay.event([
                "sealed": Self.sealed(count: 3_600), "sessionID": identifier, "eventID": "e",
            ])
            #expect(answer.status == 413 && answer.json["code"] == "payload_too_large")
            #expect(answer.json["field"] == "sealed")
            #expect(answer.json["error"]?.string?.contains("the limit is 4096") == true)
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            #expect(relay.storage.state.withLock(\.claims) == 0)
            // The check applies to exactly the bytes that are sent.
            var count = 3_600
            while await relay.event(["sealed": Self.sealed(count: count), "sessionID": identifier]).status
                == 413
            { count -= 4 }
            let size = try await payload(relay).utf8.count
            // In quiet hours it would be 13 bytes longer.
            #expect(size + 13 <= 4_096 && size + 13 + 4 > 4_096)
        }
    }

    @Test("Another sealed text under the same eventID is a conflict")
    func once() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let first = await relay.event(["sealed": .string(Self.sealed), "eventID": "e"])
            let second = await relay.event(["sealed": .string(Self.sealed), "eventID": "e"])
            #expect(first.body == second.body && first.json["sent"] == 1)
            #expect(await relay.event(["sealed": "AQAA", "eventID": "e"]).status == 409)
            #expect(await relay.event(["eventID": "e"]).status == 409)
        }
    }

    @Test("A sealed event that has to wait is stored as it is, and no log line has it")
    func queued() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            #expect(await relay.event(["sealed": .string(Self.sealed)]).json["queued"] == 1)
            let payload = try #require(relay.pending.first?.push.payload)
            #expect(String(decoding: payload, as: UTF8.self).contains(Self.sealed))
            await relay.lines.log.close()
            #expect(relay.lines.text.contains("/v1/event") && !relay.lines.text.contains(Self.sealed))
        }
    }

    // MARK: Notifications

    @Test("A sealed notification shows its own text until it is opened")
    func notification() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let notification: JSON.Value = [
                "body": "New message", "data": ["k": "v"], "mutableContent": false, "kind": "build",
            ]
            #expect(await notify(relay, notification, .string(Self.sealed)).json["sent"] == 1)
            let expected =
                #"{"aps":{"alert":{"body":"New message"},"mutable-content":1},"#
                + #""sealed":"\#(Self.sealed)","kind":"build","k":"v"}"#
            let pushed = try await payload(relay)
            #expect(pushed == expected)
        }
    }

    @Test("It needs an alert with a text, and nothing else of its name")
    func notificationFaults() async throws {
        try await RelayFixture.with { relay in
            for (notification, field) in [
                (["badge": 1], "sealed"), (["pushType": "background"], "sealed"),
                (["title": "t", "data": ["sealed": "AQ"]], "notification.data"),
                (["title": "t", "data": ["kind": "k"]], "notification.data"),
                (["title": "t", "data": ["eventType": "error"]], "notification.data"),
            ] as [(JSON.Value, String)] {
                let answer = await notify(relay, notification, .string(Self.sealed))
                #expect(answer.status == 400 && answer.json["field"] == .string(field), "\(answer.json)")
            }
            let large = await notify(
                relay, ["title": "t", "data": ["x": .string(String(repeating: "t", count: 800))]],
                Self.sealed(count: 3_600))
            #expect(large.status == 413 && large.json["code"] == "payload_too_large")
        }
    }

    @Test("Without it, data may have a member of that name, as ever")
    func foreignMember() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let response = await relay.post(
                "/v1/notify",
                [
                    "secret": .string(RelayFixture.secret),
                    "notification": ["title": "t", "data": ["sealed": "mine"]],
                ])
            #expect(response.json["sent"] == 1)
            let pushed = try await payload(relay)
            #expect(pushed == #"{"aps":{"alert":{"title":"t"}},"sealed":"mine"}"#)
        }
    }

    // MARK: Devices

    @Test("A device says which versions it can open, and keeps saying so until it says otherwise")
    func versions() async throws {
        try await RelayFixture.with { relay in
            func register(_ sealed: JSON.Value?) async -> Response {
                var object = JSON.Object()
                object["secret"] = .string(RelayFixture.secret)
                object["deviceToken"] = "aa00"
                object["sealed"] = sealed
                return await relay.post("/v1/device/register", .object(object))
            }
            func listed() async -> JSON.Value? {
                let list = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)])
                return list.json["devices"]?.array?.first?["sealed"]
            }
            #expect(await register(nil).status == 200)
            #expect(await listed() == nil)
            #expect(await register([200, 1]).status == 200)
            #expect(await listed() == [1, 200])
            #expect(await register(nil).status == 200)
            #expect(await listed() == [1, 200])
            #expect(await register([]).status == 200)
            #expect(await listed() == [])
            let many = JSON.Value.array((1...9).map { .int($0) })
            for bad: JSON.Value in [1, "AQ", [0], [256], [1, 1], ["1"], [-1], many] {
                let answer = await register(bad)
                #expect(answer.status == 400 && answer.json["field"] == "sealed", "\(bad)")
            }
        }
    }
}

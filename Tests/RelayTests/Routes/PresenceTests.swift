import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Presence", .timeLimit(.minutes(2)))
struct PresenceTests {
    private static func post(_ relay: RelayFixture, _ members: JSON.Value) async -> JSON.Value {
        var body = members.object ?? JSON.Object()
        if body["secret"] == nil { body["secret"] = .string(RelayFixture.secret) }
        return await relay.post("/v1/presence", .object(body)).json
    }

    private static func register(_ relay: RelayFixture, _ token: String, _ members: JSON.Value = [:]) async {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        body["deviceToken"] = .string(token)
        #expect(await relay.post("/v1/device/register", .object(body)).json["ok"] == true)
    }

    /// Sends an event and returns the numbers of sent and muted pushes.
    private static func event(_ relay: RelayFixture, _ type: String) async -> [Int?] {
        let answer = await relay.event(["eventType": .string(type)]).json
        return [answer["sent"]?.int, answer["muted"]?.int]
    }

    @Test("While somebody looks, completed runs ring no device of the secret, and everything else does")
    func looking() async throws {
        try await RelayFixture.with { relay in
            await Self.register(relay, "aa00")
            await Self.register(relay, "bb00", ["preferences": ["eventTypes": ["complete", "error"]]])
            #expect(await Self.post(relay, ["seconds": 90]) == ["ok": true])
            #expect(await Self.event(relay, "complete") == [0, 2])
            #expect(await Self.event(relay, "error") == [2, 0])
            #expect(await Self.event(relay, "permission") == [1, 1])
            for (notification, sent) in [
                (["title": "t"], 2), (["title": "t", "kind": "complete"], 0),
            ] as [(JSON.Value, Int)] {
                let answer = await relay.post(
                    "/v1/notify", ["secret": .string(RelayFixture.secret), "notification": notification])
                #expect(answer.json["sent"]?.int == sent)
            }
            relay.pass(.seconds(89))
            #expect(await Self.event(relay, "complete") == [0, 2])
            relay.pass(.seconds(1))
            #expect(await Self.event(relay, "complete") == [2, 0])
            #expect(await Self.post(relay, ["seconds": 300]) == ["ok": true])
            // The request doesn't say which device is no longer looking.
            #expect(await Self.post(relay, ["seconds": 0]) == ["ok": true])
            #expect(await Self.event(relay, "complete") == [0, 2])
            relay.pass(.seconds(300))
            #expect(await Self.event(relay, "complete") == [2, 0])
        }
    }

    @Test("Each installation has its own time, and its preferences stay")
    func installations() async throws {
        try await RelayFixture.with { relay in
            let preferences: JSON.Value = ["eventTypes": ["complete", "error"], "timeZone": "Europe/Berlin"]
            await Self.register(relay, "aa00", ["deviceID": "a", "preferences": preferences])
            await Self.register(relay, "bb00", ["deviceID": "b", "deviceName": "Pad"])
            let before = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)]).json
            relay.pass(.seconds(5))
            for id in ["a", "b", "unknown"] {
                #expect(await Self.post(relay, ["seconds": 60, "deviceID": .string(id)])["ok"] == true)
            }
            let after = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)]).json
            let shown = [before, after].map {
                $0["devices"]?.array?.first { $0["deviceName"] == nil }?.object
            }
            // Presence isn't a new registration.
            #expect(shown[0] == shown[1])
            #expect(shown[0]?["preferences"] == preferences)
            // A request without a registered device can't end or shorten a device's presence.
            for seconds in [0, 1] {
                #expect(await Self.post(relay, ["seconds": .int(seconds)])["ok"] == true)
            }
            #expect(await Self.post(relay, ["seconds": 0, "deviceID": "b"])["ok"] == true)
            relay.pass(.seconds(2))
            #expect(await Self.event(relay, "complete") == [0, 2])
            #expect(await Self.post(relay, ["seconds": 0, "deviceID": "a"])["ok"] == true)
            #expect(await Self.event(relay, "complete") == [2, 0])
            // A registration with preferences ends the device's presence.
            #expect(await Self.post(relay, ["seconds": 60, "deviceID": "a"])["ok"] == true)
            #expect(await Self.event(relay, "complete") == [0, 2])
            await Self.register(relay, "aa00", ["deviceID": "a", "preferences": preferences])
            #expect(await Self.event(relay, "complete") == [2, 0])
        }
    }

    @Test("A time that was stored by a clock far ahead doesn't mute")
    func clockAhead() async throws {
        try await RelayFixture.with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let now = relay.time.withLock { $0 }
            for (seconds, results) in [(299, [0, 1]), (301, [1, 0])] {
                let text = #"{"lookingUntil": \#(now + Int64(seconds) * 1_000)}"#
                let isStored = try await relay.storage.setPreferences(text, of: device)
                #expect(isStored)
                #expect(await Self.event(relay, "complete") == results)
            }
        }
    }

    @Test("Its time is bounded, it adds no device, and guesses at secrets are counted")
    func bounds() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 1
        try await RelayFixture.with(options) { relay in
            for (seconds, code) in [
                (nil, "missing_field"), (-1, "invalid_field"), (301, "invalid_field"), ("1", "invalid_field"),
            ] as [(JSON.Value?, String)] {
                let body: JSON.Value = seconds.map { ["seconds": $0] } ?? [:]
                let refusal = await Self.post(relay, body)
                #expect(refusal["code"]?.string == code && refusal["field"] == "seconds")
            }
            let guess: JSON.Value = ["seconds": 1, "secret": "somebody else's secret"]
            #expect(await Self.post(relay, guess) == ["ok": true])
            #expect(await Self.post(relay, guess)["code"] == "rate_limited")
            #expect(await Self.post(relay, ["seconds": 1, "deviceID": ""])["field"] == "deviceID")
            let list = await relay.post("/v1/device/list", ["secret": "somebody else's secret"]).json
            #expect(list["devices"]?.array ?? [] == [])
        }
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Removing notifications", .timeLimit(.minutes(2)))
struct ClearTests {
    private static func ack(_ relay: RelayFixture, _ eventID: JSON.Value, clear: JSON.Value = true) async
        -> Response
    {
        await relay.post(
            "/v1/ack", ["secret": .string(RelayFixture.secret), "eventID": eventID, "clear": clear])
    }

    /// The background pushes: the end of the token, and the payload.
    private static func clears(_ relay: RelayFixture) async -> [String] {
        await relay.onLoop { confined in
            confined.production.pushes.filter { $0.notification.pushType == .background }.map { push in
                let payload = String(decoding: push.notification.payload, as: UTF8.self)
                return "\(push.deviceToken.text) \(push.notification.priority.text) \(payload)"
            }
        }
    }

    @Test("An acknowledgement with clear wakes the devices that got the event, once")
    func once() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            _ = await relay.onLoop { confined in
                confined.production.script = { push in
                    push.deviceToken.text == "bb00" && push.notification.pushType == .alert
                        ? .rejected(400, "PayloadTooLarge") : .accepted(push)
                }
            }
            let sent = await relay.event(["eventID": "per_\"1"])
            #expect(sent.json["sent"] == 2 && sent.json["failed"] == 1)
            #expect(await Self.ack(relay, "per_\"1", clear: false).json["ok"] == true)
            #expect(await Self.clears(relay) == [])
            for _ in 0..<2 {
                let answer = await Self.ack(relay, "per_\"1")
                #expect(answer.json["ok"] == true && answer.json["acknowledgedAt"] != nil)
                let payload = #"{"aps":{"content-available":1},"clear":{"eventID":"per_\"1"}}"#
                #expect(await Self.clears(relay).sorted() == ["aa00 5 " + payload, "cc00 5 " + payload])
            }
            // Each line contains each member once; otherwise it couldn't be parsed.
            let lines = try await relay.lines.closed()
            #expect(lines.count { $0["route"] == "POST /v1/ack" } == 3)
        }
    }

    @Test("Nothing is cleared of an event that reached no device, or that waits for the end of quiet hours")
    func unreached() async throws {
        try await RelayFixture.with { relay in
            let quiet: JSON.Value = ["from": "07:00", "to": "09:00", "timeZone": "UTC", "mode": "later"]
            let preferences: [JSON.Value] = [["eventTypes": ["error"]], ["quietHours": quiet]]
            for (token, preferences) in zip(["aa00", "bb00"], preferences) {
                let registered = await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "preferences": preferences,
                    ])
                #expect(registered.json["ok"] == true)
            }
            let sent = await relay.event(["eventID": "evt", "eventType": "complete"])
            #expect(sent.json["muted"] == 1 && sent.json["queued"] == 1)
            #expect(await Self.ack(relay, "evt").json["ok"] == true)
            #expect(await Self.ack(relay, "none").json["code"] == "unknown_event")
            #expect(await Self.clears(relay) == [])
        }
    }

    @Test("An event that is still being sent is acknowledged, and cleared by the same request later")
    func inProgress() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await relay.onLoop { $0.production.script = { _ in nil } }
            async let sent = relay.event(["eventID": "evt"])
            #expect(await relay.until { $0.production.held.count == 1 })
            let early = await Self.ack(relay, "evt")
            #expect(early.json["code"] == "overloaded" && early.headers["Retry-After"] != nil)
            #expect(relay.storage.state.withLock(\.acknowledgements).count == 1)
            _ = await relay.onLoop { confined in
                confined.production.script = { .accepted($0) }
                confined.production.answerHeld { .accepted($0) }
            }
            #expect(await sent.json["sent"] == 1)
            #expect(await Self.ack(relay, "evt").json["ok"] == true)
            #expect(await Self.clears(relay).count == 1)
        }
    }

    @Test("A device is woken as often as Apple recommends, whatever the number of secrets and events")
    func limited() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            for index in 0..<Bounds.clearsPerDevicePerHour + 2 {
                let id: JSON.Value = .string("evt_\(index)")
                #expect(await relay.event(["eventID": id]).json["sent"] == 2)
                #expect(await Self.ack(relay, id).json["ok"] == true)
            }
            #expect(await Self.clears(relay).count == 2 * Bounds.clearsPerDevicePerHour)
        }
    }
}

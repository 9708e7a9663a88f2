import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("When Live Activities get a session's states", .timeLimit(.minutes(2)))
struct ActivityPaceTests {
    private static let interval: Duration = .milliseconds(20)

    private func with(_ body: (RelayFixture) async throws -> Void) async throws {
        var options = RelayFixture.Options()
        options.limits.activityInterval = Self.interval
        options.limits.pushesPerLoopMax = 3
        try await RelayFixture.with(options) { relay in
            for token in ["d1", "d2"] { relay.storage.add(token, under: RelayFixture.key) }
            try await body(relay)
        }
    }

    /// Sends a progress event; returns the numbers of activities that get it now and later.
    private func progress(_ relay: RelayFixture, _ status: String) async -> [Int?] {
        let answer = await relay.event([
            "eventType": "progress", "contentState": ["status": .string(status)],
        ])
        return [answer.json["activities"]?["sent"]?.int, answer.json["activities"]?["held"]?.int]
    }

    /// The states that activities have received, in order, by their tokens.
    private func states(_ relay: RelayFixture) async throws -> [String: [String]] {
        var states: [String: [String]] = [:]
        for push in await relay.onLoop({ $0.production.pushes }) {
            let payload = try JSON.parse(push.notification.payload, maxBytes: 4_096)
            let status = try #require(payload["aps"]?["content-state"]?["status"]?.string)
            states[push.deviceToken.text, default: []].append(status)
        }
        return states
    }

    /// Waits until a condition on the received states holds.
    private func expect(_ relay: RelayFixture, _ condition: ([String: [String]]) -> Bool) async throws {
        let states = try await states(relay)
        #expect(condition(states), "\(states)")
    }

    private func held(_ relay: RelayFixture) async -> Int {
        await relay.onLoop { $0.services.shared.deferredStates.count }
    }

    @Test("A phone that shows the session later than another gets each state once, and so does the other")
    func outOfStep() async throws {
        try await with { relay in
            #expect(await relay.activity("aad1", device: "d1").status == 200)
            #expect(await progress(relay, "1") == [1, 0])
            relay.pass(.milliseconds(9))
            #expect(await relay.activity("aad2", device: "d2").status == 200)
            relay.pass(.milliseconds(1))
            #expect(await progress(relay, "2") == [1, 1])
            relay.pass(.milliseconds(10))
            #expect(await relay.until { $0.production.pushes.count == 3 })
            try await expect(relay) { $0 == ["aad1": ["1", "2"], "aad2": ["2"]] }
            // No activity is waiting for it any more.
            #expect(await held(relay) == 0)
            relay.pass(Self.interval)
            #expect(await progress(relay, "3") == [2, 0])
            try await expect(relay) { $0 == ["aad1": ["1", "2", "3"], "aad2": ["2", "3"]] }
        }
    }

    @Test("An activity with a new token gets the state that waits once")
    func newToken() async throws {
        try await with { relay in
            for phone in ["d1", "d2"] {
                #expect(await relay.activity("aa" + phone, device: phone).status == 200)
            }
            #expect(await progress(relay, "1") == [2, 0])
            relay.pass(.milliseconds(1))
            #expect(await progress(relay, "2") == [0, 2])
            #expect(await relay.activity("bbd1", device: "d1").status == 200)
            #expect(await relay.until { $0.production.pushes.count == 3 })
            try await expect(relay) { $0["bbd1"] == ["2"] }
            relay.pass(Self.interval)
            #expect(await relay.until { $0.production.pushes.count == 4 })
            try await expect(relay) { $0 == ["aad1": ["1"], "aad2": ["1", "2"], "bbd1": ["2"]] }
            #expect(await held(relay) == 0)
        }
    }

    @Test("Two states of one millisecond both reach an activity, the second after the interval")
    func sameMoment() async throws {
        try await with { relay in
            #expect(await relay.activity("aad1", device: "d1").status == 200)
            #expect(await progress(relay, "1") == [1, 0])
            #expect(await progress(relay, "2") == [0, 1])
            relay.pass(Self.interval)
            #expect(await relay.until { $0.production.pushes.count == 2 })
            try await expect(relay) { $0 == ["aad1": ["1", "2"]] }
        }
    }

    @Test("A start that the relay is too busy for is claimed by the sender's next attempt")
    func busyStart() async throws {
        try await with { relay in
            for token in ["d1", "d2"] {
                let answer = await relay.post(
                    "/v1/device/register",
                    [
                        "secret": .string(RelayFixture.secret), "deviceToken": .string(token),
                        "pushToStartToken": .string("55" + token), "attributesType": "A",
                    ])
                #expect(answer.status == 200)
            }
            await relay.loop.run { _ in _ = relay.services.value.slots.take(2) }
            let start: JSON.Value = ["eventType": "start", "contentState": ["status": "1"]]
            #expect(await relay.event(start).json["code"] == "overloaded")
            await relay.loop.run { _ in relay.services.value.slots.giveBack(2) }
            #expect(await relay.event(start).json["activities"]?["sent"] == 2)
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
            // A database failure also gives the slots back.
            relay.storage.state.withLock { $0.writeFailure = .unavailable(logDetail: "away") }
            #expect(await relay.event(start).status == 503)
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
        }
    }

    @Test("A state whose turn comes while the relay is too busy keeps its turn")
    func busyTurn() async throws {
        try await with { relay in
            #expect(await relay.activity("aad1", device: "d1").status == 200)
            #expect(await progress(relay, "1") == [1, 0])
            relay.pass(.milliseconds(1))
            #expect(await progress(relay, "2") == [0, 1])
            await relay.loop.run { _ in _ = relay.services.value.slots.take(3) }
            relay.pass(Self.interval)
            #expect(await relay.until { $0.services.counts.limits.contains { $0 > 0 } })
            await relay.loop.run { _ in relay.services.value.slots.giveBack(3) }
            #expect(await relay.until { $0.production.pushes.count == 2 })
            try await expect(relay) { $0 == ["aad1": ["1", "2"]] }
            #expect(await relay.until { $0.services.slots.taken == 0 })
        }
    }
}

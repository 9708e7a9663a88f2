import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

private typealias Sender = ScriptedSender

@Suite("Events", .timeLimit(.minutes(2)))
struct FanOutTests {
    @Test("An event without devices succeeds with zero counts")
    func none() async throws {
        try await RelayFixture.with { relay in
            let response = await relay.event()
            #expect(response.status == 200)
            #expect(
                response.json == [
                    "ok": true, "sent": 0, "failed": 0, "queued": 0, "muted": 0, "deliveries": [],
                ])
        }
    }

    @Test("Every device gets its push, with its own token, topic and identifier, in its environment")
    func pushes() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key, bundle: "org.example.a")
            relay.storage.add("bb00", under: RelayFixture.key, bundle: "org.example.b", environment: .sandbox)
            relay.storage.add("cc00", under: SecretHasher().key(of: Secret("another-secret-of-mine")))
            let response = await relay.event(["serverID": "srv"])
            let (production, sandbox) = await relay.onLoop { ($0.production.pushes, $0.sandbox.pushes) }
            #expect(production.map(\.deviceToken.text) == ["aa00"])
            #expect(production.map(\.notification.topic.text) == ["org.example.a"])
            #expect(sandbox.map(\.deviceToken.text) == ["bb00"])
            #expect(sandbox.map(\.notification.topic.text) == ["org.example.b"])
            let push = try #require(production.first)
            #expect(push.notification.pushType == .alert && push.notification.priority == .immediate)
            #expect(push.notification.expiration == 1_800_000_000 + 86_400)
            #expect(push.notification.payload == sandbox.first?.notification.payload)
            let payload = try JSON.parse(push.notification.payload, maxBytes: 4096)
            #expect(payload["aps"]?["sound"] == "default")
            #expect(payload["serverID"] == "srv" && payload["sessionID"] == "ses_1")
            let second = try #require(sandbox.first)
            #expect(push.id != second.id && push.id.utf8.count == 36)
            #expect(
                response.json == [
                    "ok": true, "sent": 2, "failed": 0, "queued": 0, "muted": 0,
                    "deliveries": [
                        ["device": "…aa00", "status": "sent", "apnsID": .string(push.id)],
                        ["device": "…bb00", "status": "sent", "apnsID": .string(second.id)],
                    ],
                ])
        }
    }

    @Test("Devices of several apps in both environments each get their own, in any order")
    func mixture() async throws {
        try await RelayFixture.with { relay in
            let devices: [(token: String, bundle: String, environment: DeviceEnvironment)] = [
                ("aa00", "org.example.a", .production), ("aa01", "org.example.a", .production),
                ("aa02", "org.example.a", .sandbox), ("bb00", "org.example.b", .sandbox),
                ("aa03", "org.example.a", .production), ("not a token", "org.example.a", .production),
                ("cc00", "not a bundle", .production), ("bb01", "org.example.b", .production),
            ]
            for device in devices {
                relay.storage.add(
                    device.token, under: RelayFixture.key, bundle: device.bundle,
                    environment: device.environment)
            }
            let response = await relay.event()
            let (production, sandbox) = await relay.onLoop { ($0.production.pushes, $0.sandbox.pushes) }
            #expect(production.map(\.deviceToken.text) == ["aa00", "aa01", "aa03", "bb01"])
            #expect(
                production.map(\.notification.topic.text) == [
                    "org.example.a", "org.example.a", "org.example.a", "org.example.b",
                ])
            #expect(sandbox.map(\.deviceToken.text) == ["aa02", "bb00"])
            #expect(sandbox.map(\.notification.topic.text) == ["org.example.a", "org.example.b"])
            #expect(response.json["sent"] == 6 && response.json["failed"] == 2)
        }
    }

    @Test("A TTL of zero is one attempt")
    func timeToLive() async throws {
        var options = RelayFixture.Options()
        options.push = PushSettings(sound: nil, timeToLive: .zero)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await relay.event()
            let pushes = await relay.onLoop { $0.production.pushes }
            #expect(pushes.first?.notification.expiration == 0)
        }
    }

    @Test("Mixed outcomes are listed for each device, in order")
    func mixed() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let response = relay.event()
            #expect(await relay.until { $0.production.held.count == 3 })
            await relay.loop.run { _ in
                let sender = relay.production.value
                sender.answerHeld { push in
                    .unreachable(Unreachable(processed: .unknown, cause: .timeout))
                }
                sender.answerHeld { _ in .rejected(429, "TooManyRequests", retryAfter: 3) }
                sender.answerHeld { .accepted($0) }
            }
            let json = await response.json
            #expect(json["sent"] == 1 && json["failed"] == 0 && json["queued"] == 2)
            #expect(json["deliveries"]?.array?.map { $0["status"] } == ["queued", "queued", "sent"])
            #expect(json["deliveries"]?.array?.map { $0["reason"] } == ["Timeout", "TooManyRequests", nil])
        }
    }

    @Test("A token that APNs no longer knows is removed, and the response says so")
    func removal() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key, at: 1000)
            relay.storage.add("bb00", under: RelayFixture.key, at: 5000)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(410, "Unregistered", timestamp: 2000) }
            }
            let deliveries = await relay.event().json["deliveries"]?.array
            #expect(
                deliveries == [
                    ["device": "…aa00", "status": "failed", "reason": "Unregistered", "removed": true],
                    ["device": "…bb00", "status": "failed", "reason": "Unregistered"],
                ])
            // The second device registered after the time since which APNs hasn't known it.
            #expect(relay.storage.state.withLock(\.devices).map(\.token) == ["bb00"])
        }
    }

    @Test("A registration that arrives while its push is in flight stays, whatever its relay's clock")
    func registeredMeanwhile() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key, at: 1000)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            let answer = Task { await relay.event() }
            #expect(await relay.until { $0.production.held.count == 1 })
            relay.storage.state.withLock { $0.devices = [] }
            relay.storage.add("aa00", under: RelayFixture.key, at: 1001)
            await relay.loop.run { _ in
                relay.production.value.answerHeld { _ in .rejected(400, "DeviceTokenNotForTopic") }
            }
            #expect(await answer.value.json["failed"] == 1)
            #expect(relay.storage.state.withLock(\.devices).map(\.updatedAt) == [1001])
        }
    }

    @Test("A token of the other environment is sent there, and the environment is stored")
    func flip() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            let response = await relay.event()
            #expect(response.json["sent"] == 1)
            let (production, sandbox) = await relay.onLoop { ($0.production.pushes, $0.sandbox.pushes) }
            #expect(production.count == 1 && sandbox.count == 1)
            #expect(production.first?.id == sandbox.first?.id)
            #expect(relay.storage.state.withLock(\.devices).map(\.environment) == [.sandbox])
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
        }
    }

    @Test("An event is answered even if the storage can't be changed")
    func effectFails() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in
                    relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "gone") }
                    return .rejected(410, "Unregistered")
                }
            }
            let response = await relay.event()
            #expect(response.status == 200)
            #expect(
                response.json["deliveries"]?.array == [
                    ["device": "…aa00", "status": "failed", "reason": "Unregistered"]
                ])
        }
    }

    @Test("Rows with an impossible token or bundle ID fail without a push")
    func strangeRows() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("not hexadecimal", under: RelayFixture.key)
            relay.storage.add("aa00", under: RelayFixture.key, bundle: "no bundle!")
            let response = await relay.event()
            #expect(response.json["failed"] == 2)
            #expect(
                response.json["deliveries"]?.array?.map { $0["reason"] } == [
                    "InvalidRegistration", "InvalidRegistration",
                ])
            #expect(response.json["deliveries"]?.array?.first?["device"] == "…decimal")
            #expect(await relay.onLoop { ($0.services.slots.taken, $0.production.pushes.count) } == (0, 0))
        }
    }

    @Test("No more pushes than one event's limit are in flight")
    func perEvent() async throws {
        var options = RelayFixture.Options()
        options.limits.pushesPerEventMax = 3
        try await RelayFixture.with(options) { relay in
            for index in 0..<10 { relay.storage.add("aa0\(index)", under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let response = relay.event()
            for done in 0..<10 {
                let expected = min(3, 10 - done)
                #expect(
                    await relay.until {
                        $0.production.held.count == expected && $0.production.pushes.count == done + expected
                    })
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            }
            #expect(await response.json["sent"] == 10)
        }
    }

    @Test("A thousand outcomes within the call to send don't overflow the stack")
    func synchronous() async throws {
        var options = RelayFixture.Options()
        options.limits.pushesPerEventMax = 1
        try await RelayFixture.with(options) { relay in
            for index in 0..<1000 {
                relay.storage.add(String(10_000 + index * 2) + "0", under: RelayFixture.key)
            }
            let json = await relay.event().json
            #expect(json["sent"] == 1000)
            #expect(json["deliveries"]?.array?.count == Bounds.deliveriesListedMax)
        }
    }

    @Test("Over the limit of pushes an event is refused before anything is sent")
    func overloaded() async throws {
        var options = RelayFixture.Options()
        options.limits.pushesPerLoopMax = 3
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let first = relay.event()
            #expect(await relay.until { $0.production.held.count == 2 })
            let second = await relay.event(["eventID": "e-1"])
            #expect(second.status == 503)
            #expect(second.headers["Retry-After"] == "1")
            #expect(second.json["code"] == "overloaded")
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            await relay.loop.run { _ in
                relay.production.value.script = { .accepted($0) }
                relay.production.value.answerHeld(2) { .accepted($0) }
            }
            #expect(await first.json["sent"] == 2)
            // The refused event's ID was released, so that the caller may try again.
            #expect(await relay.event(["eventID": "e-1"]).json["sent"] == 2)
        }
    }

    @Test("At the limit of pushes in flight, the database isn't queried")
    func overloadedFromTheStart() async throws {
        var options = RelayFixture.Options()
        options.limits.pushesPerLoopMax = 3
        try await RelayFixture.with(options) { relay in
            await relay.loop.run { _ in _ = relay.services.value.slots.take(3) }
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "must not be asked") }
            #expect(await relay.event().json["code"] == "overloaded")
        }
    }

    @Test("Devices from before the pepper move to it before anything is sent to them")
    func pepper() async throws {
        var options = RelayFixture.Options()
        let pepper = Secret(String(repeating: "p", count: 32))
        options.hasher = try #require(SecretHasher(pepper: pepper))
        let key = options.hasher.key(of: Secret(RelayFixture.secret))
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    #expect(relay.storage.state.withLock { $0.devices.map(\.secretHash) } == [key.primary])
                    return .rejected(503, "ServiceUnavailable")
                }
            }
            #expect(await relay.event().json["queued"] == 1)
            #expect(relay.pending.map(\.push.secretHash) == [key.primary])
        }
    }

    @Test("Every push is a row of the delivery log")
    func rows() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "aa00" ? .accepted(push) : .rejected(400, "BadTopic")
                }
            }
            _ = await relay.event(["eventType": "error"])
            let log = await relay.onLoop { $0.services.shared.deliveryLog }
            log.finish()
            await log.run()
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(rows.map(\.status) == [.sent, .failed])
            #expect(rows.map(\.error) == [nil, "BadTopic"])
            #expect(rows.allSatisfy { $0.eventType == "error" && $0.sessionID == "ses_1" })
            #expect(
                rows.allSatisfy {
                    $0.createdAt == 1_800_000_000_000 && $0.secretHash == RelayFixture.key.primary
                })
            // A row can be found by the push's ID at APNs.
            #expect(await relay.onLoop { $0.production.pushes.map(\.id) } == rows.map(\.id))
        }
    }

    @Test("Each kind of failure is one log line, however many pushes it affected")
    func report() async throws {
        let lines = try await RelayFixture.with { relay in
            for index in 0..<5 {
                relay.storage.add(
                    "aa0\(index)", under: RelayFixture.key, bundle: "org.example.default")
            }
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text < "aa02"
                        ? .rejected(403, "InvalidProviderToken")
                        : .unreachable(
                            Unreachable(processed: .notSent, cause: .connectFailed, detail: "refused"))
                }
            }
            _ = await relay.event()
            return try await relay.lines.closed()
        }
        let faults = lines.filter { $0["event"] == "apns.configuration" }
        #expect(faults.count == 1)
        #expect(faults.first?["pushes"] == 2 && faults.first?["reason"] == "InvalidProviderToken")
        #expect(faults.first?["level"] == "error")
        let unreachable = lines.filter { $0["event"] == "apns.unreachable" }
        #expect(unreachable.count == 1)
        #expect(unreachable.first?["pushes"] == 3 && unreachable.first?["detail"] == "refused")
    }
}

import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

/// `RELAY_REGISTRATION`: the requirements of registrations that aren't open to anyone.
@Suite("Registration", .timeLimit(.minutes(2)))
struct RegistrationTests {
    private static let operatorKey = "the-operators-key-of-32-characters"

    private static func challenge() throws -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.hasher = try #require(SecretHasher(pepper: Secret(String(repeating: "p", count: 32))))
        options.registration = .challenge(try #require(ChallengeCodes(options.hasher)))
        return options
    }

    private static func register(
        _ relay: RelayFixture, _ token: String = "aa00", code: String? = nil, environment: String? = nil,
        bundle: String? = nil, headers: [(name: String, value: String)] = [],
        from address: String = "198.51.100.1"
    ) async -> Response {
        var body = JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        body["deviceToken"] = .string(token)
        body["challengeCode"] = code.map { .string($0) }
        body["apnsEnv"] = environment.map { .string($0) }
        body["bundleId"] = bundle.map { .string($0) }
        var request = Request(
            method: .post, target: "/v1/device/register", headers: headers,
            body: JSON.Value.object(body).encoded())
        request.remoteAddress = SocketAddress(ip: address, port: 1)
        return await relay.answer(request)
    }

    /// The payload of the last push to an environment.
    private static func payload(_ push: Push?) throws -> JSON.Value {
        try JSON.parse(try #require(push).notification.payload, maxBytes: 4096)
    }

    // MARK: Challenges

    @Test("A new device is pushed a code and stored once it is sent back; then it refreshes without one")
    func challenged() async throws {
        try await RelayFixture.with(try Self.challenge()) { relay in
            let answer = await Self.register(relay)
            #expect(answer.status.rawValue == 202)
            #expect(answer.json["ok"] == true && answer.json["registered"] == false)
            #expect(answer.json["expiresIn"] == 600)
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            let push = try #require(await relay.onLoop { $0.production.pushes.last })
            #expect(push.deviceToken.text == "aa00")
            #expect(push.notification.topic.text == "org.example.default")
            #expect(push.notification.pushType == .background)
            #expect(push.notification.priority == .conserveDevicePower)
            #expect(push.notification.expiration == 1_800_000_600)
            let payload = try Self.payload(push)
            #expect(payload["aps"] == ["content-available": 1])
            let code = try #require(payload["challengeCode"]?.string)
            #expect(payload["challengeID"] == answer.json["challengeID"])
            for copy in ["data", "body"] { #expect(payload[copy]?["challengeCode"] == .string(code)) }
            #expect(await Self.register(relay, code: code).json == ["ok": true])
            #expect(relay.storage.state.withLock(\.devices).map(\.token) == ["aa00"])
            #expect(await Self.register(relay).json == ["ok": true])
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
            let lines = try await relay.lines.closed()
            #expect(!lines.contains { "\($0)".contains(code) })
        }
    }

    @Test("A wrong code, an old one and one for another device are refused, and nothing is stored or sent")
    func wrongCodes() async throws {
        try await RelayFixture.with(try Self.challenge()) { relay in
            _ = await Self.register(relay)
            let push = await relay.onLoop { $0.production.pushes.last }
            let code = try #require(try Self.payload(push)["challengeCode"]?.string)
            func expectRefused(_ answer: Response) {
                #expect(answer.status.rawValue == 403 && answer.json["code"] == "challenge_failed")
                #expect(answer.json["field"] == "challengeCode")
            }
            expectRefused(await Self.register(relay, code: String(repeating: "0", count: 40)))
            expectRefused(await Self.register(relay, "bb00", code: code))
            expectRefused(await Self.register(relay, code: code, bundle: "org.example.other"))
            relay.pass(.seconds(602))
            expectRefused(await Self.register(relay, code: code))
            #expect(await Self.register(relay, code: "x").json["code"] == "invalid_field")
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("Devices that were there before keep working, and a change of their app needs a code")
    func known() async throws {
        try await RelayFixture.with(try Self.challenge()) { relay in
            let key = await relay.onLoop { $0.services.shared.hasher.key(of: Secret(RelayFixture.secret)) }
            relay.storage.add("aa00", under: key, bundle: "org.example.default")
            #expect(await Self.register(relay, "AA00", environment: "sandbox").status == 200)
            #expect(await relay.event().json["sent"] == 1)
            #expect(await Self.register(relay, bundle: "org.example.other").status.rawValue == 202)
            #expect(relay.storage.state.withLock(\.devices).map(\.bundleID) == ["org.example.default"])
        }
    }

    @Test("A token of the other environment gets its code there, and is stored with that environment")
    func otherEnvironment() async throws {
        try await RelayFixture.with(try Self.challenge()) { relay in
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            #expect(await Self.register(relay).status.rawValue == 202)
            let (refused, accepted) = await relay.onLoop {
                ($0.production.pushes.last, $0.sandbox.pushes.last)
            }
            let code = try #require(try Self.payload(accepted)["challengeCode"]?.string)
            // The refused push contained a different code.
            #expect(try Self.payload(refused)["challengeCode"]?.string != code)
            #expect(await Self.register(relay, code: code).status == 200)
            #expect(relay.storage.state.withLock(\.devices).map(\.environment) == [.sandbox])
        }
    }

    @Test("What APNs refuses is told with its reason, and what it can't take now may be tried again")
    func refused() async throws {
        try await RelayFixture.with(try Self.challenge()) { relay in
            await relay.loop.run { _ in
                for sender in [relay.production.value, relay.sandbox.value] {
                    sender.script = { _ in .rejected(400, "BadDeviceToken") }
                }
            }
            let refused = await Self.register(relay)
            #expect(refused.status == 400 && refused.json["code"] == "device_refused")
            #expect(refused.json["error"]?.string?.contains("BadDeviceToken") == true)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            let later = await Self.register(relay)
            #expect(later.status == 503 && later.json["code"] == "apns_unavailable")
            #expect(later.headers["Retry-After"] == "5")
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
        }
    }

    @Test("Challenges are limited for each device and for each address")
    func limits() async throws {
        var options = try Self.challenge()
        options.rates = RateLimitConfiguration(
            challengesPerDevicePerHour: 2, challengesPerAddressPerMinute: 3)
        try await RelayFixture.with(options) { relay in
            for _ in 0..<2 { #expect(await Self.register(relay).status.rawValue == 202) }
            let limited = await Self.register(relay)
            #expect(limited.status == 429)
            // Half an hour, less the time that these requests took.
            let seconds = try #require(limited.headers["Retry-After"].flatMap { Int($0) })
            #expect((1_700...1_800).contains(seconds))
            // That was the address's third challenge.
            #expect(await Self.register(relay, "bb00").status == 429)
            #expect(await Self.register(relay, "bb00", from: "198.51.100.2").status.rawValue == 202)
            #expect(await Self.register(relay, from: "198.51.100.2").status == 429)
            #expect(await relay.onLoop { $0.production.pushes.count } == 3)
            let samples = await relay.onLoop { $0.services.counts.limitSamples }
            #expect(samples.contains(Metric.Sample(["challenges"], UInt64(3))))
        }
    }

    // MARK: The operator's key

    @Test("Registering needs the operator's key, and nothing else does")
    func key() async throws {
        var options = RelayFixture.Options()
        options.registration = .key(Secret(Self.operatorKey))
        try await RelayFixture.with(options) { relay in
            let wrong: [[(name: String, value: String)]] = [
                [], [("Authorization", "Bearer")], [("Authorization", "Bearer \(Self.operatorKey)x")],
                [("Authorization", "Basic \(Self.operatorKey)")],
            ]
            for headers in wrong {
                let answer = await Self.register(relay, headers: headers)
                #expect(answer.status.rawValue == 401 && answer.json["code"] == "unauthorized")
                #expect(answer.headers["WWW-Authenticate"] == "Bearer")
            }
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            for _ in 0..<2 {
                let right: [(name: String, value: String)] = [("Authorization", "bearer \(Self.operatorKey)")]
                #expect(await Self.register(relay, headers: right).status == 200)
            }
            // Changing an existing device also requires the key.
            #expect(await Self.register(relay).status.rawValue == 401)
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "aa00"]
            #expect(await relay.event().json["sent"] == 1)
            #expect(await relay.post("/v1/device/list", body).status == 200)
            #expect(await relay.post("/v1/device/unregister", body).status == 200)
            let lines = try await relay.lines.closed()
            #expect(!lines.contains { "\($0)".contains(Self.operatorKey) })
        }
    }

    @Test("Guesses of the key count for their address")
    func guesses() async throws {
        var options = RelayFixture.Options()
        options.registration = .key(Secret(Self.operatorKey))
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            for _ in 0..<2 { #expect(await Self.register(relay).status.rawValue == 401) }
            #expect(await Self.register(relay).status == 429)
            #expect(await Self.register(relay, from: "198.51.100.2").status.rawValue == 401)
        }
    }
}

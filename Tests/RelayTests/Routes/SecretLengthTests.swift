import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

/// Secrets shorter than `RELAY_SECRET_BYTES_MIN`: OpenCode's own relay accepted any, and its registrations are adopted.
@Suite("Short secrets", .timeLimit(.minutes(2)))
struct SecretLengthTests {
    private static let short = "tiny"
    private static let key = SecretHasher().key(of: Secret(short))

    /// Every route that takes a secret, with a request that is valid except for the secret.
    private static let requests: [(path: String, body: JSON.Value)] = [
        ("/v1/event", ["secret": .string(short), "eventType": "error", "sessionID": "s"]),
        ("/v1/notify", ["secret": .string(short), "notification": ["title": "t"]]),
        ("/v1/device/list", ["secret": .string(short)]),
        ("/v1/device/register", ["secret": .string(short), "deviceToken": "bb00"]),
        ("/v1/device/unregister", ["secret": .string(short), "deviceToken": "aa00"]),
    ]

    private static func with(_ path: String, secret: String) -> JSON.Value {
        var object = requests.first { $0.path == path }?.body.object ?? JSON.Object()
        object["secret"] = .string(secret)
        return .object(object)
    }

    @Test("One that has devices works on every route")
    func known() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: Self.key)
            var answers: [JSON.Value] = []
            for (path, body) in Self.requests {
                let answer = await relay.post(path, body)
                #expect(answer.status == 200, "\(path)")
                answers.append(answer.json)
            }
            #expect(answers[0]["sent"] == 1)
            #expect(answers[1]["sent"] == 1)
            #expect(answers[2]["devices"]?.array?.count == 1)
            #expect(relay.storage.state.withLock { $0.devices.map(\.token) } == ["bb00"])
            // A second device under the secret, and the first one again.
            for token in ["cc00", "bb00"] {
                let body: JSON.Value = ["secret": .string(Self.short), "deviceToken": .string(token)]
                #expect(await relay.post("/v1/device/register", body).status == 200)
            }
            #expect(relay.storage.state.withLock { $0.devices.map(\.token) } == ["bb00", "cc00"])
        }
    }

    @Test("One without devices can't register, whether or not strangers are counted", arguments: [0, 600])
    func first(unknownSecretsPerMinute: Int) async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: unknownSecretsPerMinute)
        try await RelayFixture.with(options) { relay in
            let register = "/v1/device/register"
            let refused = await relay.post(register, Self.with(register, secret: "0123456789abcde"))
            #expect(refused.status == 400)
            #expect(
                refused.json == [
                    "ok": false, "error": "The secret is too short. It must be at least 16 bytes long.",
                    "code": "weak_secret", "field": "secret",
                ])
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            #expect(
                await relay.post(register, Self.with(register, secret: "0123456789abcdef")).status == 200)
        }
    }

    @Test(
        "One without devices is answered as any secret without devices",
        arguments: ["/v1/event", "/v1/notify", "/v1/device/list", "/v1/device/unregister"])
    func unknown(path: String) async throws {
        try await RelayFixture.with { relay in
            let short = await relay.post(path, Self.with(path, secret: Self.short))
            let long = await relay.post(path, Self.with(path, secret: RelayFixture.secret))
            #expect(short.status == 200)
            #expect(short.json == long.json)
        }
    }

    @Test("Guesses count for their address on every route", arguments: requests.map(\.path))
    func guesses(path: String) async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            for guess in ["a", "b"] {
                #expect(await relay.post(path, Self.with(path, secret: guess)).status != 429)
            }
            #expect(await relay.post(path, Self.with(path, secret: "c")).status == 429)
            // A secret with devices remains usable.
            relay.storage.add("aa00", under: Self.key)
            relay.storage.add("bb00", under: Self.key, bundle: "org.example.default")
            #expect(await relay.post(path, Self.with(path, secret: Self.short)).status == 200)
        }
    }

    @Test("A secret's length costs no look-up but at a short one's registration")
    func lookups() async throws {
        func lookups(_ path: String, _ secret: String) async throws -> Int {
            try await RelayFixture.with { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                relay.storage.add("aa00", under: Self.key)
                _ = await relay.post(path, Self.with(path, secret: secret))
                return relay.storage.state.withLock(\.lookups)
            }
        }
        for (path, expected) in [("/v1/event", 1), ("/v1/notify", 1), ("/v1/device/list", 1)] {
            #expect(try await lookups(path, RelayFixture.secret) == expected)
            #expect(try await lookups(path, Self.short) == expected)
        }
        #expect(try await lookups("/v1/device/register", RelayFixture.secret) == 0)
        #expect(try await lookups("/v1/device/register", Self.short) == 1)
    }

    @Test("A database that can't say whether a short secret has devices refuses nothing for good")
    func unavailable() async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            let path = "/v1/device/register"
            let answer = await relay.post(path, Self.with(path, secret: Self.short))
            #expect(answer.status == 503)
            #expect(answer.json["code"] == "storage_unavailable")
        }
    }

    @Test("An empty secret is none", arguments: requests.map(\.path))
    func empty(path: String) async throws {
        try await RelayFixture.with { relay in
            let answer = await relay.post(path, Self.with(path, secret: ""))
            #expect(answer.json["code"] == "invalid_field" && answer.json["field"] == "secret")
        }
    }
}

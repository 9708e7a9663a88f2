import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Installations", .timeLimit(.minutes(2)))
struct InstallationTests {
    private static let secret = JSON.Value.string(RelayFixture.secret)

    private func register(
        _ relay: RelayFixture, _ token: String, _ deviceID: JSON.Value?, code: String? = nil
    ) async -> Response {
        var body = JSON.Object()
        body["secret"] = Self.secret
        body["deviceToken"] = .string(token)
        body["deviceID"] = deviceID
        body["challengeCode"] = code.map { .string($0) }
        return await relay.post("/v1/device/register", .object(body))
    }

    private func tokens(_ relay: RelayFixture) -> [String] {
        relay.storage.state.withLock { $0.devices.map(\.token) }
    }

    @Test("A new token replaces the old one; the name appears in no list and no log")
    func replaced() async throws {
        try await RelayFixture.with { relay in
            let name = "C1D9E2A7 the installation ~"
            #expect(await register(relay, "aa00", .string(name)).status == 200)
            let id = relay.storage.state.withLock { $0.devices.first?.id }
            #expect(await register(relay, "BB00", .string(name)).status == 200)
            #expect(tokens(relay) == ["bb00"])
            #expect(relay.storage.state.withLock { $0.devices.first?.id } == id)
            #expect(await relay.event().json["sent"] == 1)
            let list = await relay.post("/v1/device/list", ["secret": Self.secret])
            #expect(list.json["devices"]?.array?.count == 1)
            await relay.lines.log.close()
            for text in [String(decoding: list.body, as: UTF8.self), relay.lines.text] {
                #expect(!text.contains("C1D9E2A7"))
            }
        }
    }

    @Test("Without a name, each token is a device")
    func unnamed() async throws {
        try await RelayFixture.with { relay in
            #expect(await register(relay, "aa00", nil).status == 200)
            #expect(await register(relay, "bb00", nil).status == 200)
            #expect(tokens(relay) == ["aa00", "bb00"])
        }
    }

    @Test("Two phones with one name are logged and counted once an hour; a token that changes is not")
    func contested() async throws {
        try await RelayFixture.with { relay in
            func contested(_ count: Int) async -> Bool {
                await eventually { relay.lines.count(of: "device.contested") == count }
            }
            for token in ["aa00", "aa11", "aa22", "aa22", "aa33"] {
                #expect(await register(relay, token, "rotating").status == 200)
            }
            #expect(await contested(0))
            for round in 0..<4 {
                #expect(await register(relay, "bb00", "restored").status == 200)
                #expect(await register(relay, "cc00", "restored").status == 200)
                #expect(await contested(min(round, 1)))
            }
            #expect(await register(relay, "dd00", "other").status == 200)
            relay.pass(.seconds(3_600))
            #expect(await register(relay, "bb00", "restored").status == 200)
            #expect(await register(relay, "cc00", "restored").status == 200)
            #expect(await contested(2))
            await relay.lines.log.close()
            #expect(relay.lines.count(of: "device.contested") == 2)
            #expect(!relay.lines.text.contains("restored"))
        }
    }

    @Test("A name has 1 to 64 printable ASCII characters")
    func names() async throws {
        try await RelayFixture.with { relay in
            let long = String(repeating: "n", count: 64)
            for bad: JSON.Value in ["", .string(long + "n"), "é", "a\u{1F}", "a\u{7F}", "a\0", 1, nil, [:]] {
                let answer = await register(relay, "aa00", bad)
                #expect(answer.status == 400 && answer.json["field"] == "deviceID", "\(bad)")
            }
            for good: JSON.Value in [" ", "~", .string(long)] {
                #expect(await register(relay, "aa00", good).status == 200)
            }
        }
    }

    @Test("A new token needs no room, in the secret or in the relay")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.limits.devicesPerSecretMax = 1
        options.devicesMax = 1
        try await RelayFixture.with(options) { relay in
            #expect(await register(relay, "aa00", "one").status == 200)
            relay.pass(.seconds(60))
            #expect(await register(relay, "bb00", "one").status == 200)
            #expect(await register(relay, "cc00", "two").json["code"] == "relay_full")
            #expect(tokens(relay) == ["bb00"])
        }
    }

    @Test("A challenge proves each new token, of a known installation too")
    func challenged() async throws {
        let hasher = try #require(SecretHasher(pepper: Secret(String(repeating: "p", count: 32))))
        var options = RelayFixture.Options()
        options.hasher = hasher
        options.registration = .challenge(try #require(ChallengeCodes(hasher)))
        try await RelayFixture.with(options) { relay in
            for (index, token) in ["aa00", "bb00"].enumerated() {
                #expect(await register(relay, token, "one").status == 202)
                let payload = try #require(
                    await relay.onLoop { $0.production.pushes.last?.notification.payload })
                let code = try JSON.parse(payload, maxBytes: 4096)["challengeCode"]?.string
                #expect(tokens(relay) == (index == 0 ? [] : ["aa00"]))
                #expect(await register(relay, token, "one", code: code).status == 200)
                #expect(tokens(relay) == [token])
                // The token is known from now on.
                #expect(await register(relay, token, "one").status == 200)
            }
            // A token that has been proven may change its installation.
            #expect(await register(relay, "bb00", "two").status == 200)
            #expect(tokens(relay) == ["bb00"])
        }
    }

    @Test("A secret that is too short for a first device is long enough for a new token")
    func shortSecret() async throws {
        var options = RelayFixture.Options()
        options.rules.secretBytesMin = 17
        try await RelayFixture.with(options) { relay in
            #expect(await register(relay, "aa00", "one").json["code"] == "weak_secret")
            relay.storage.add("00aa", under: RelayFixture.key)
            #expect(await register(relay, "aa00", "one").status == 200)
            #expect(await register(relay, "bb00", "one").status == 200)
            #expect(tokens(relay) == ["00aa", "bb00"])
        }
    }
}

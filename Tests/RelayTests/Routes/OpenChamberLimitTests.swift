import APNs
import Cryptography
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Limits of OpenChamber's servers", .timeLimit(.minutes(2)))
struct OpenChamberLimitTests {
    private static let token = String(repeating: "ab", count: 32)

    private static func options() -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.openChamberApp = Topic("com.example.chamber")
        return options
    }

    @Test("An address that sends wrong signatures has no more of them verified, right ones included")
    func signatures() async throws {
        var options = Self.options()
        options.rates.unknownSecretsPerMinute = 3
        try await RelayFixture.with(options) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            // A new phone also counts.
            #expect(await server.register(relay, Self.token).status == 200)
            var wrong = try #require(
                server.message([Self.token], title: "a", at: OpenChamberServer.now).object)
            wrong["title"] = "b"
            #expect(await relay.post("/v1/push/send", .object(wrong)).status == 401)
            // A registered phone rings without being counted.
            for number in 0..<5 {
                #expect(await server.send(relay, [Self.token], title: "\(number)").status == 200)
            }
            #expect(await relay.post("/v1/push/send", .object(wrong)).status == 401)
            let refused = await server.send(relay, [Self.token])
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(refused.json["error"] == "rate_limited")
            #expect(await server.register(relay, Self.token).status == 429)
        }
    }

    @Test("Servers without phones count against their address, and leave nothing behind")
    func strangers() async throws {
        var options = Self.options()
        options.rates.unknownSecretsPerMinute = 2
        try await RelayFixture.with(options) { relay in
            for (number, status) in [200, 200, 429].enumerated() {
                var scalar = [UInt8](repeating: 7, count: 32)
                scalar[31] = UInt8(number)
                let server = try OpenChamberServer(try #require(P256PrivateKey(scalar: scalar)))
                #expect(await server.send(relay, [Self.token]).status.rawValue == status)
            }
            #expect(relay.storage.state.withLock(\.receipts).isEmpty)
        }
    }

    @Test("A server's events and registrations have the limits of a secret's, and a block holds for it")
    func tenants() async throws {
        var options = Self.options()
        (options.rates.eventsPerMinute, options.rates.registrationsPerMinute) = (1, 2)
        options.limits.devicesPerSecretMax = 1
        try await RelayFixture.with(options) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            #expect(await server.register(relay, Self.token).status == 200)
            let second = await server.register(relay, "aa00")
            #expect(second.status == 409 && second.json["error"] == "device_limit")
            #expect(await server.register(relay, Self.token).status == 429)
            #expect(await server.send(relay, [Self.token], title: "1").status == 200)
            #expect(await server.send(relay, [Self.token], title: "2").status == 429)
            // Signatures of requests over the limit aren't verified either.
            var wrong = try #require(
                server.message([Self.token], title: "a", at: OpenChamberServer.now).object)
            wrong["title"] = "b"
            #expect(await relay.post("/v1/push/send", .object(wrong)).json["error"] == "rate_limited")
            var registering = try #require(
                server.signed("\(Self.token).ios", ["token": "aa01"], at: OpenChamberServer.now).object)
            registering["platform"] = "ios"
            let answer = await relay.post("/v1/push/register-token", .object(registering))
            #expect(answer.json["error"] == "rate_limited")
            let key = SecretHasher().key(of: SignedRequest.secret(of: server.publicKey))
            relay.storage.state.withLock {
                $0.blocked.append(BlockedSecret(secretHash: key.primary, createdAt: 1))
            }
            await relay.onLoop { $0.services.shared.blocked }.refresh()
            #expect(await server.send(relay, [Self.token], title: "3").status == 403)
            #expect(await relay.post("/v1/push/send", .object(wrong)).json["error"] == "blocked")
        }
    }

    @Test("RELAY_REGISTRATION decides who may register phones")
    func policies() async throws {
        var options = Self.options()
        options.registration = .key(Secret("the-operators-key-of-32-characters"))
        try await RelayFixture.with(options) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            #expect(await server.register(relay, Self.token).status == 401)
            let headers = [("Authorization", "Bearer the-operators-key-of-32-characters")]
            #expect(await server.register(relay, Self.token, headers: headers).status == 200)
        }
        options.hasher = try #require(SecretHasher(pepper: Secret(String(repeating: "p", count: 32))))
        let hasher = options.hasher
        options.registration = .challenge(try #require(ChallengeCodes(options.hasher)))
        try await RelayFixture.with(options) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            let refused = await server.register(relay, Self.token)
            #expect(refused.status == 403 && refused.json["error"] == "forbidden")
            #expect(await relay.onLoop { $0.production.pushes.isEmpty && $0.sandbox.pushes.isEmpty })
            // A phone registered before stays.
            let hash = hasher.key(of: SignedRequest.secret(of: server.publicKey)).primary
            relay.storage.state.withLock {
                $0.devices.append(
                    Device(
                        id: "1", secretHash: hash, token: Self.token, bundleID: "com.example.chamber",
                        environment: .production, createdAt: 1, updatedAt: 1))
            }
            #expect(await server.register(relay, Self.token).status == 200)
            #expect(await server.send(relay, [Self.token]).json["results"]?.array?.first?["ok"] == true)
        }
    }

    @Test("An app that has one environment is pushed to there, whatever env says")
    func onlyEnvironment() async throws {
        var options = Self.options()
        let app = try #require(options.openChamberApp)
        options.apps = Apps([app: PushApp(key: TestKey.first, environments: [.production])])
        options.rules.bundleIDs = [app]
        try await RelayFixture.with(options) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            #expect(await server.register(relay, Self.token).status == 200)
            #expect(await server.send(relay, [Self.token], ["env": "sandbox"]).status == 200)
            #expect(await relay.onLoop { $0.production.pushes.count == 1 && $0.sandbox.pushes.isEmpty })
        }
    }
}

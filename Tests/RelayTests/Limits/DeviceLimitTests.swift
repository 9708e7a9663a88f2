import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

/// The limits of one device of an app, across all secrets that it is registered under.
@Suite("Limits per device", .timeLimit(.minutes(2)))
struct DeviceLimitTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func fixture(
        _ rates: RateLimitConfiguration, _ body: (RelayFixture) async throws -> Void
    ) async throws {
        var options = RelayFixture.Options()
        options.rates = rates
        try await RelayFixture.with(options, body)
    }

    private static func secret(_ number: Int) -> String { "a-secret-of-the-test-\(number)" }

    private static func register(
        _ relay: RelayFixture, _ secret: String, _ token: String, bundle: String = "org.example.app",
        from address: String = "198.51.100.1"
    ) async -> Response {
        let body: JSON.Value = [
            "secret": .string(secret), "deviceToken": .string(token), "bundleId": .string(bundle),
        ]
        var request = Request(method: .post, target: "/v1/device/register", body: body.encoded())
        request.remoteAddress = SocketAddress(ip: address, port: 1)
        return await relay.answer(request)
    }

    // MARK: Pushes

    @Test(
        "A device gets no more pushes than its limit from all secrets; other devices of an event get theirs")
    func pushes() async throws {
        try await fixture(RateLimitConfiguration(devicePushesPerMinute: 2)) { relay in
            for number in 0..<3 {
                relay.storage.add("aa00", under: SecretHasher().key(of: Secret(Self.secret(number))))
            }
            relay.storage.add("bb00", under: SecretHasher().key(of: Secret(Self.secret(2))))
            for number in 0..<2 {
                let answer = await relay.event(["secret": .string(Self.secret(number))])
                #expect(answer.json["sent"] == 1)
            }
            let answer = await relay.event(["secret": .string(Self.secret(2))])
            #expect(answer.status == 200)
            #expect(answer.json["sent"] == 1 && answer.json["failed"] == 1)
            let deliveries = try #require(answer.json["deliveries"]?.array)
            #expect(deliveries.map { $0["status"] } == ["failed", "sent"])
            #expect(deliveries[0]["reason"] == "DeviceRateLimited" && deliveries[0]["removed"] == nil)
            #expect(
                await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) } == [
                    "aa00", "aa00", "bb00",
                ])
            let samples = await relay.onLoop { $0.services.counts.limitSamples }
            #expect(samples.contains(Metric.Sample(["device_pushes"], UInt64(1))))
            let results = await relay.onLoop { $0.services.counts.resultSamples }
            #expect(results.contains { $0.labels.suffix(2) == ["failed", "DeviceRateLimited"] })
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
        }
    }

    @Test(
        "The same token of another app has its own limit, and capitals in the bundle identifier make no other app"
    )
    func apps() async throws {
        try await fixture(RateLimitConfiguration(devicePushesPerMinute: 1)) { relay in
            func sent(_ number: Int, bundle: String) async -> JSON.Value? {
                let key = SecretHasher().key(of: Secret(Self.secret(number)))
                relay.storage.add("aa00", under: key, bundle: bundle)
                return await relay.event(["secret": .string(Self.secret(number))]).json["sent"]
            }
            #expect(await sent(1, bundle: "org.example.app") == 1)
            #expect(await sent(2, bundle: "org.example.App") == 0)
            #expect(await sent(3, bundle: "org.example.other") == 1)
        }
    }

    @Test("A push that waits and is sent again is not counted again, and a muted one isn't counted at all")
    func retries() async throws {
        try await fixture(RateLimitConfiguration(devicePushesPerMinute: 2)) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(429, "TooManyRequests") }
            }
            #expect(await relay.event().json["queued"] == 1)
            await relay.loop.run { _ in relay.production.value.script = { .accepted($0) } }
            relay.pass(.seconds(60))
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 2 })
            }
            let muted: JSON.Value = [
                "secret": .string(RelayFixture.secret), "deviceToken": "aa00", "bundleId": "org.example.app",
                "preferences": ["eventTypes": ["error"]],
            ]
            #expect(await relay.post("/v1/device/register", muted).status == 200)
            #expect(await relay.event().json["muted"] == 1)
            #expect(await relay.event(["eventType": "error"]).json["sent"] == 1)
            #expect(await relay.event(["eventType": "error"]).json["failed"] == 1)
        }
    }

    // MARK: Registrations

    @Test("A device may be registered under so many new secrets; known ones go on")
    func newSecrets() async throws {
        try await fixture(RateLimitConfiguration(deviceSecretsPerDay: 3)) { relay in
            for number in 0..<3 {
                #expect(await Self.register(relay, Self.secret(number), "aa00").status == 200)
            }
            let refused = await Self.register(relay, Self.secret(3), "AA00")
            #expect(refused.status == 429 && refused.json["code"] == "rate_limited")
            let wait = try #require(refused.headers["Retry-After"].flatMap { Int($0) })
            #expect((28_000...28_800).contains(wait))
            #expect(relay.storage.state.withLock(\.devices.count) == 3)
            // Refreshing, or unregistering and registering again, doesn't add a secret.
            #expect(await Self.register(relay, Self.secret(1), "aa00").status == 200)
            let leave: JSON.Value = ["secret": .string(Self.secret(1)), "deviceToken": "aa00"]
            #expect(await relay.post("/v1/device/unregister", leave).status == 200)
            #expect(await Self.register(relay, Self.secret(1), "aa00").status == 200)
            // Other devices under these secrets don't add secrets either.
            #expect(await Self.register(relay, Self.secret(1), "bb00").status == 200)
            let samples = await relay.onLoop { $0.services.counts.limitSamples }
            #expect(samples.contains(Metric.Sample(["device_secrets"], UInt64(1))))
        }
    }

    @Test("Registering under another app and moving to the real one counts for the real one")
    func movedApps() async throws {
        try await fixture(RateLimitConfiguration(deviceSecretsPerDay: 1)) { relay in
            #expect(await Self.register(relay, Self.secret(1), "aa00").status == 200)
            for number in 2..<4 {
                let decoy = await Self.register(relay, Self.secret(number), "aa00", bundle: "b.\(number)")
                #expect(decoy.status == 200)
                #expect(await Self.register(relay, Self.secret(number), "aa00").status == 429)
            }
        }
    }

    @Test("A day later there is room for new secrets again")
    func nextDay() throws {
        let rates = RateLimits(RateLimitConfiguration(deviceSecretsPerDay: 2))
        func isCounted(_ secret: Int, at now: MonotonicTime) -> Bool {
            guard let token = DeviceToken("aa00") else { return false }
            let key = SecretHasher().key(of: Secret(Self.secret(secret)))
            return (try? rates.countNewSecret(key, of: DeviceKey(token, bundleID: "a"), at: now)) != nil
        }
        let start = Self.start
        #expect(isCounted(1, at: start) && isCounted(2, at: start))
        #expect(!isCounted(3, at: start))
        #expect(isCounted(1, at: start))
        // A refused secret isn't remembered as counted.
        #expect(!isCounted(3, at: start + .seconds(43_199)))
        #expect(isCounted(3, at: start + .seconds(43_200)))
        #expect(!isCounted(4, at: start + .seconds(43_200)))
        #expect(isCounted(4, at: start + .seconds(86_400)))
        // The first secret is forgotten after a day, so the device is new to it again.
        #expect(!isCounted(1, at: start + .seconds(86_401)))
    }

    @Test("New devices count for their address whatever their secret has; refreshes don't")
    func rows() async throws {
        try await fixture(RateLimitConfiguration(unknownSecretsPerMinute: 3)) { relay in
            for token in ["aa00", "bb00", "cc00"] {
                #expect(await Self.register(relay, Self.secret(1), token).status == 200)
            }
            #expect(await Self.register(relay, Self.secret(1), "dd00").status == 429)
            #expect(relay.storage.state.withLock(\.devices.count) == 3)
            for token in ["aa00", "bb00", "cc00"] {
                #expect(await Self.register(relay, Self.secret(1), token).status == 200)
            }
            #expect(await Self.register(relay, Self.secret(1), "dd00", from: "198.51.100.2").status == 200)
        }
    }
}

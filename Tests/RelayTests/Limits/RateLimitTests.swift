import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Rate limits", .timeLimit(.minutes(2)))
struct RateLimitTests {
    private static let secret = JSON.Value.string(RelayFixture.secret)

    private func fixture<Result: Sendable>(
        _ rates: RateLimitConfiguration, _ body: (RelayFixture) async throws -> Result
    ) async throws -> Result {
        var options = RelayFixture.Options()
        options.rates = rates
        return try await RelayFixture.with(options, body)
    }

    private func expectLimited(_ response: Response, within seconds: Int) throws {
        #expect(response.status == 429)
        #expect(response.json["code"] == "rate_limited")
        let wait = try #require(response.headers["Retry-After"].flatMap { Int($0) })
        #expect((1...seconds).contains(wait))
    }

    @Test("An event too many is refused with Retry-After before anything is looked up or sent")
    func events() async throws {
        try await fixture(RateLimitConfiguration(eventsPerMinute: 2)) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event().status == 200)
            #expect(await relay.event(["eventID": "e-1"]).status == 200)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "must not be asked") }
            try expectLimited(await relay.event(["eventID": "e-2"]), within: 30)
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            // Another secret has its own bucket.
            relay.storage.state.withLock { $0.failure = nil }
            #expect(await relay.event(["secret": "another-secret-of-mine"]).status == 200)
        }
    }

    @Test("Registrations and unregistrations share a bucket, and events have another")
    func registrations() async throws {
        try await fixture(RateLimitConfiguration(eventsPerMinute: 1, registrationsPerMinute: 2)) { relay in
            let body: JSON.Value = ["secret": Self.secret, "deviceToken": "aa00"]
            #expect(await relay.post("/v1/device/register", body).status == 200)
            #expect(await relay.post("/v1/device/unregister", body).status == 200)
            try expectLimited(await relay.post("/v1/device/register", body), within: 30)
            try expectLimited(await relay.post("/v1/device/unregister", body), within: 30)
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            #expect(await relay.event().status == 200)
        }
    }

    @Test("A stranger's requests count for its address: events, first registrations, unregistrations")
    func strangers() async throws {
        let trusted = TrustedProxies(["10.0.0.0/8"].compactMap(AddressRange.init))
        let rates = RateLimitConfiguration(unknownSecretsPerMinute: 3, trustedProxies: trusted)
        try await fixture(rates) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            func post(_ path: String, _ members: JSON.Value, client: String) async throws -> Response {
                var request = Request(
                    method: .post, target: path, headers: [("X-Forwarded-For", client)],
                    body: members.encoded())
                request.remoteAddress = SocketAddress(ip: "10.0.0.1", port: 1)
                return await relay.answer(request)
            }
            func event(_ secret: String, client: String) async throws -> Response {
                try await post(
                    "/v1/event",
                    ["secret": .string(secret), "eventType": "complete", "sessionID": "s", "eventID": "e"],
                    client: client)
            }
            func device(_ action: String, _ secret: String, _ token: String) async throws -> Response {
                try await post(
                    "/v1/device/\(action)",
                    ["secret": .string(secret), "deviceToken": .string(token), "bundleId": "a"],
                    client: "198.51.100.1")
            }
            #expect(try await event("a-guessed-secret-1", client: "198.51.100.1").status == 200)
            #expect(try await device("register", "a-guessed-secret-2", "bb00").status == 200)
            #expect(try await device("unregister", "a-guessed-secret-3", "bb00").status == 200)
            try expectLimited(try await event("a-guessed-secret-4", client: "198.51.100.1"), within: 20)
            try expectLimited(try await device("register", "a-guessed-secret-5", "cc00"), within: 20)
            try expectLimited(try await device("unregister", "a-guessed-secret-3", "cc00"), within: 20)
            #expect(relay.storage.state.withLock { $0.devices.count } == 2)
            #expect(relay.storage.state.withLock { $0.receipts.count } == 1)
            // Secrets with devices still work from the same address, and strangers from another address.
            #expect(try await event(RelayFixture.secret, client: "198.51.100.1").json["sent"] == 1)
            #expect(try await device("register", "a-guessed-secret-2", "bb00").status == 200)
            #expect(try await event("a-guessed-secret-6", client: "198.51.100.2").status == 200)
        }
    }

    @Test("A list counts as a registration of its secret")
    func lists() async throws {
        try await fixture(RateLimitConfiguration(registrationsPerMinute: 2)) { relay in
            let body: JSON.Value = ["secret": Self.secret]
            for _ in 0..<2 { #expect(await relay.post("/v1/device/list", body).status == 200) }
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "must not be asked") }
            try expectLimited(await relay.post("/v1/device/list", body), within: 30)
        }
    }

    @Test("Lists of strangers count for their address, or for their network where it is IPv6")
    func strangersLists() async throws {
        try await fixture(RateLimitConfiguration(unknownSecretsPerMinute: 2)) { relay in
            func list(_ secret: String, from address: String) async -> Response {
                let body: JSON.Value = ["secret": .string(secret)]
                var request = Request(method: .post, target: "/v1/device/list", body: body.encoded())
                request.remoteAddress = SocketAddress(ip: address, port: 1)
                return await relay.answer(request)
            }
            #expect(await list("a-guessed-secret-1", from: "2001:db8::1").status == 200)
            #expect(await list("a-guessed-secret-2", from: "2001:db8::2").status == 200)
            try expectLimited(await list("a-guessed-secret-3", from: "2001:db8::3"), within: 30)
            #expect(await list("a-guessed-secret-3", from: "2001:db8:0:1::1").status == 200)
            // Secrets with devices still work.
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await list(RelayFixture.secret, from: "2001:db8::1").status == 200)
        }
    }

    @Test("The log names the limit and the secret's prefix, no address and no secret")
    func logged() async throws {
        let lines = try await fixture(RateLimitConfiguration(eventsPerMinute: 1)) { relay in
            for _ in 0..<2 { _ = await relay.event() }
            return try await relay.lines.closed()
        }
        let line = try #require(lines.last { $0["event"] == "request" })
        #expect(line["status"] == 429 && line["code"] == "rate_limited" && line["detail"] == "events")
        #expect(line["secret"]?.string == RelayFixture.key.primary.prefix)
    }
}

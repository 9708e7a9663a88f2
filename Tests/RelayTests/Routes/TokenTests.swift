import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Access tokens", .timeLimit(.minutes(2)))
struct TokenTests {
    private static let secret = JSON.Value.string(RelayFixture.secret)
    private static let eventID = "e"

    /// A request to each route that accepts some token, with the members that it needs.
    private static let requests: [(path: String, scope: AccessTokenScope, body: JSON.Value)] = [
        ("/v1/event", .send, ["eventType": "complete", "sessionID": "s", "eventID": .string(eventID)]),
        ("/v1/events", .send, ["events": [["eventType": "complete", "sessionID": "s"]]]),
        ("/v1/notify", .send, ["title": "t"]),
        ("/v1/device/list", .read, [:]),
        ("/v1/history/list", .read, [:]),
        ("/v1/schedule/list", .read, [:]),
        ("/v1/reply/wait", .read, ["eventID": .string(eventID), "timeout": 0]),
        ("/v1/outcomes", .read, [:]),
        ("/v1/ack", .reply, ["eventID": .string(eventID)]),
        ("/v1/reply", .reply, ["eventID": .string(eventID), "action": "once"]),
    ]

    /// Routes that accept only the secret.
    private static let closed: [(path: String, body: JSON.Value)] = [
        ("/v1/device/register", ["deviceToken": "bb00"]),
        ("/v1/device/unregister", ["deviceToken": "aa00"]),
        ("/v1/schedule/create", ["in": 60, "notification": ["title": "t"]]),
        ("/v1/schedule/cancel", ["name": "n"]),
        ("/v1/history/read", ["all": true]),
        ("/v1/reply/result", ["eventID": .string(eventID), "outcome": "taken"]),
        ("/v1/token/create", ["scope": "send", "name": "n"]),
        ("/v1/token/list", [:]),
        ("/v1/token/revoke", ["tokenID": "01970000-0000-7000-8000-000000000000"]),
    ]

    private static var options: RelayFixture.Options {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400))
        return options
    }

    @Test(
        "A token is admitted where its scope fits, and forbidden elsewhere",
        arguments: AccessTokenScope.allCases)
    func scopes(_ scope: AccessTokenScope) async throws {
        try await RelayFixture.with(Self.options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["eventID": .string(Self.eventID), "sessionID": "s"]).status == 200)
            let token = try await relay.token(scope)
            for request in Self.requests {
                let answer = await relay.post(request.path, request.body, token: token)
                let isAdmitted = request.scope == scope
                #expect(answer.status == (isAdmitted ? 200 : 403), "\(request.path): \(answer.json)")
                if !isAdmitted { #expect(answer.json["code"] == "forbidden") }
            }
            for request in Self.closed {
                let answer = await relay.post(request.path, request.body, token: token)
                #expect(answer.status == 403 && answer.json["code"] == "forbidden", "\(request.path)")
            }
            #expect(relay.storage.state.withLock { $0.devices.count } == 1)
        }
    }

    @Test("A token of another scope doesn't use up what its secret may send")
    func otherScope() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 2
        options.rates.unknownSecretsPerMinute = 5
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.read)
            for code in Array(repeating: "forbidden", count: 5) + ["rate_limited"] {
                let answer = await relay.post("/v1/notify", ["title": "t"], token: token)
                #expect(answer.json["code"]?.string == code)
            }
            #expect(await relay.event().status == 200)
        }
    }

    @Test("The time of a token's use is stored once a minute, also if that fails")
    func uses() {
        var uses = AccessTokenUses()
        var generator = SystemRandomNumberGenerator()
        let ids = (0..<2).map { UUIDv7(at: Int64($0), using: &generator) }
        let start = MonotonicTime.current
        let due = [(0, 0), (0, 59), (1, 59), (0, 60)].map { index, seconds in
            uses.isDue(ids[index], at: start + .seconds(seconds))
        }
        #expect(due == [true, false, true, true])
    }

    @Test("A token rings the phones of its secret, and no log line has it")
    func sending() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.send)
            let answer = await relay.post("/v1/notify", ["title": "t"], token: token)
            #expect(answer.json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) } == ["aa00"])
            let both = await relay.post(
                "/v1/notify", ["secret": Self.secret, "title": "t"], token: token)
            #expect(both.status == 400 && both.json["field"] == "secret")
            let lines = try await relay.lines.closed()
            #expect(lines.contains { $0["token_id"] != nil })
            #expect(!relay.lines.text.contains(token))
        }
    }

    @Test("Tokens are listed without their texts, and a revoked or expired one is refused")
    func lifecycle() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let made = await relay.post(
                "/v1/token/create",
                [
                    "secret": Self.secret, "scope": "send", "name": "CI",
                    "expiresAt": "2027-01-15T08:01:00Z",
                ])
            let token = try #require(made.json["token"]?.string)
            let id = try #require(made.json["tokenID"])
            #expect(made.status == 200 && token.utf8.count == AccessTokenText.count)
            func list() async -> Response { await relay.post("/v1/token/list", ["secret": Self.secret]) }
            let unused: JSON.Value = [
                "tokenID": id, "name": "CI", "scope": "send", "createdAt": "2027-01-15T08:00:00.000Z",
                "expiresAt": "2027-01-15T08:01:00.000Z",
            ]
            #expect(await list().json == ["ok": true, "tokens": [unused]])
            func send() async -> Response { await relay.post("/v1/notify", ["title": "t"], token: token) }
            #expect(await send().status == 200)
            #expect(await list().json["tokens"]?.array?.first?["usedAt"] == "2027-01-15T08:00:00.000Z")
            relay.pass(.seconds(59))
            #expect(await send().status == 200)
            #expect(await list().json["tokens"]?.array?.first?["usedAt"] == "2027-01-15T08:00:00.000Z")
            relay.pass(.seconds(1))
            let expired = await send()
            #expect(expired.status == 401 && expired.json["code"] == "invalid_token")
            #expect(expired.headers["WWW-Authenticate"] == "Bearer")

            let other = try await relay.token(.send)
            let last = try #require(await list().json["tokens"]?.array?.last?["tokenID"])
            for count in [1, 0] {
                let answer = await relay.post(
                    "/v1/token/revoke", ["secret": Self.secret, "tokenID": last])
                #expect(answer.json == ["ok": true, "revoked": .int(count)])
            }
            #expect(await relay.post("/v1/notify", ["title": "t"], token: other).status == 401)
        }
    }

    @Test("A secret without devices and one with as many tokens as allowed get no more")
    func limits() async throws {
        try await RelayFixture.with { relay in
            let body: JSON.Value = ["secret": Self.secret, "scope": "send", "name": "n"]
            #expect(await relay.post("/v1/token/create", body).json["code"] == "no_devices")
            relay.storage.add("aa00", under: RelayFixture.key)
            for _ in 0..<Bounds.accessTokensMax { _ = try await relay.token(.send) }
            let answer = await relay.post("/v1/token/create", body)
            #expect(answer.status == 409 && answer.json["code"] == "token_limit")
        }
    }

    @Test("A token shares its secret's rate limit and block, and unknown ones count against their address")
    func rates() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 2
        options.rates.unknownSecretsPerMinute = 1
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.send)
            #expect(await relay.event().status == 200)
            #expect(await relay.post("/v1/notify", ["title": "t"], token: token).status == 200)
            #expect(await relay.post("/v1/notify", ["title": "t"], token: token).status == 429)
            let unknown = AccessTokenText.make()
            #expect(await relay.post("/v1/notify", ["title": "t"], token: unknown).status == 401)
            #expect(await relay.post("/v1/notify", ["title": "t"], token: unknown).status == 429)
            _ = try await relay.storage.block(
                BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1, note: nil), limit: 9)
            await relay.onLoop { $0.services.shared.blocked }.refresh()
            #expect(await relay.post("/v1/notify", ["title": "t"], token: token).json["code"] == "blocked")
        }
    }

    @Test("Only a text of a token's form counts as one; another one is a secret")
    func form() {
        let token = AccessTokenText.make()
        #expect(AccessTokenText.digest(of: Array(token.utf8)) != nil)
        #expect(token != AccessTokenText.make())
        for text in [
            "", "rt_", String(token.dropLast()), token + "A", "st_" + token.dropFirst(3),
            "rt_" + String(repeating: "é", count: 21) + "A",
        ] {
            #expect(AccessTokenText.digest(of: Array(text.utf8)) == nil, "\(text)")
        }
        let digest = AccessTokenText.digest(of: Array(token.utf8)).map { SecretHash($0) }
        #expect(digest != SecretHasher().key(of: Secret(token)).primary)
    }
}

extension RelayFixture {
    /// A new token of the fixture's secret.
    func token(_ scope: AccessTokenScope) async throws -> String {
        let response = await post(
            "/v1/token/create",
            ["secret": .string(Self.secret), "scope": .string(scope.rawValue), "name": "n"])
        return try #require(response.json["token"]?.string)
    }

    /// Posts a body with a token in the header.
    func post(_ path: String, _ body: JSON.Value, token: String) async -> Response {
        await answer(
            Request(
                method: .post, target: path, headers: [("Authorization", "Bearer \(token)")],
                body: body.encoded()))
    }
}

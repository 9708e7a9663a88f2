import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Expo's push/getReceipts", .timeLimit(.minutes(2)))
struct ExpoReceiptsTests {
    /// Sends a message and returns its ticket ID.
    private static func send(_ relay: RelayFixture, _ token: String) async throws -> String {
        let answer = await relay.expo(["to": .string("ExponentPushToken[\(token)]"), "body": "b"])
        return try #require(answer.json["data"]?["id"]?.string, "\(answer.json)")
    }

    private static func receipts(_ relay: RelayFixture, _ ids: [String]) async -> Response {
        await relay.post(RouteName.expoReceipts.path, ["ids": .array(ids.map { .string($0) })])
    }

    /// Runs `body` with a phone that has a waiting push, and the ID of its ticket.
    private static func withQueued(
        _ body: (RelayFixture, String, _ token: String) async throws -> Void
    ) async throws {
        try await RelayFixture.withSender { relay, token in
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            let id = try await send(relay, token)
            #expect(relay.pending.count == 1)
            #expect(await receipts(relay, [id]).json == ["data": [:]])
            try await body(relay, id, token)
        }
    }

    /// Lets the waiting push be sent with this outcome, and has the outcome written.
    private static func end(_ relay: RelayFixture, _ outcome: Outcome?) async throws {
        await relay.loop.run { _ in
            relay.production.value.script = { push in outcome ?? .accepted(push) }
        }
        relay.pass(.seconds(60))
        try await relay.withWorker { _ in #expect(await relay.until { $0.production.pushes.count == 2 }) }
        await relay.writeEnds()
        #expect(relay.pending.isEmpty)
    }

    @Test("A push that was accepted at once has a receipt for a day, and nothing is read for it")
    func accepted() async throws {
        try await RelayFixture.withSender { relay, token in
            let id = try await Self.send(relay, token)
            #expect(UUIDv7(id) != nil)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            #expect(await Self.receipts(relay, [id, id]).json["data"]?[id] == ["status": "ok"])
            relay.pass(.seconds(86_399))
            #expect(await Self.receipts(relay, [id]).json["data"]?[id] == ["status": "ok"])
            relay.pass(.seconds(2))
            #expect(await Self.receipts(relay, [id]).json == ["data": [:]])
        }
    }

    @Test("A push that waited has a receipt when it has ended, for a day")
    func waited() async throws {
        try await Self.withQueued { relay, id, _ in
            try await Self.end(relay, nil)
            let others = ["x", "", id.uppercased(), String(id.prefix(50)), id + "0"]
            #expect(await Self.receipts(relay, others + [id]).json == ["data": [id: ["status": "ok"]]])
            relay.pass(.seconds(86_400))
            #expect(await Self.receipts(relay, [id]).json == ["data": [:]])
        }
    }

    @Test("A receipt says why a push that waited failed, in Expo's words")
    func failed() async throws {
        try await Self.withQueued { relay, id, _ in
            try await Self.end(relay, .rejected(410, "Unregistered", timestamp: 5_000))
            // The device is gone, but the token still has its receipts.
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
            #expect(
                await Self.receipts(relay, [id]).json["data"]?[id] == [
                    "status": "error", "message": "The push failed: Unregistered.",
                    "details": ["error": "DeviceNotRegistered"],
                ])
        }
    }

    @Test("A name isn't given up because of one push while its secret has a device")
    func alive() async throws {
        try await Self.withQueued { relay, id, _ in
            relay.storage.add("bb00", under: RelayFixture.key)
            try await Self.end(relay, .rejected(410, "Unregistered", timestamp: 5_000))
            let receipt = await Self.receipts(relay, [id]).json["data"]?[id]
            #expect(receipt?["details"]?["error"] == "ProviderError")
        }
    }

    @Test("A push is found behind others, but not behind more than are read")
    func behind() async throws {
        for (others, isFound) in [(Bounds.expoReceiptRowsMax - 1, true), (Bounds.expoReceiptRowsMax, false)] {
            try await Self.withQueued { relay, id, _ in
                try await Self.end(relay, nil)
                let later = relay.time.withLock { $0 } + 1
                try await relay.storage.append(
                    (0..<others).map { number in
                        Delivery(
                            id: "row-\(number)", secretHash: RelayFixture.key.primary, eventType: "notify",
                            sessionID: "", status: .sent, error: nil, createdAt: later)
                    })
                #expect((await Self.receipts(relay, [id]).json["data"]?[id] != nil) == isFound)
            }
        }
    }

    @Test("A token names its own tenant alone, only with its scope, and none after it is revoked")
    func foreign() async throws {
        try await Self.withQueued { relay, id, token in
            try await Self.end(relay, nil)
            let push = try #require(ExpoReceiptID(id)?.push)
            func named(_ token: String) throws -> String {
                let digest = try #require(AccessTokenText.digest(of: Array(token.utf8)))
                return ExpoReceiptID.queued(push, token: digest).text
            }
            #expect(try named(token) == id)
            let other = Secret("another-secret-of-16")
            relay.storage.add("bb00", under: SecretHasher().key(of: other))
            let created = await relay.post(
                "/v1/token/create", ["secret": "another-secret-of-16", "scope": "send", "name": "n"])
            let foreign = try #require(created.json["token"]?.string)
            let reading = try await relay.token(.read)
            for name in [foreign, reading, AccessTokenText.make()] {
                let wrong = try named(name)
                #expect(
                    await Self.receipts(relay, [wrong, id]).json["data"]?.object?.members.map(\.name) == [id])
            }
            let secret = JSON.Value.string(RelayFixture.secret)
            let tokens = await relay.post("/v1/token/list", ["secret": secret])
            for shown in tokens.json["tokens"]?.array ?? [] {
                _ = await relay.post(
                    "/v1/token/revoke", ["secret": secret, "tokenID": shown["tokenID"] ?? nil])
            }
            #expect(await Self.receipts(relay, [id]).json == ["data": [:]])
        }
    }

    @Test("Unknown tokens count against the address, and known ones as reads of their secret")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 2
        options.rates.registrationsPerMinute = 3
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.send)
            func id(_ token: String) async throws -> String {
                let digest = try #require(AccessTokenText.digest(of: Array(token.utf8)))
                return ExpoReceiptID.queued(await relay.onLoop { $0.services.makeID() }, token: digest).text
            }
            let own = try await [id(token), id(token)]
            let reads = relay.storage.state.withLock(\.deliveryReads)
            for _ in 0..<3 { #expect(await Self.receipts(relay, own).status == 200) }
            // Creating the token also counted as a request.
            #expect(relay.storage.state.withLock(\.deliveryReads) == reads + 2)
            var unknown: [String] = []
            for _ in 0..<3 { unknown.append(try await id(AccessTokenText.make())) }
            let refused = await Self.receipts(relay, unknown)
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(refused.json["errors"]?.array?.first?["code"] == "TOO_MANY_REQUESTS")
        }
    }

    @Test("At most 100 tokens are looked up for a request, and a failing database ends it")
    func bounded() async throws {
        try await RelayFixture.withSender { relay, _ in
            var ids: [String] = []
            for _ in 0..<Bounds.expoReceiptsMax {
                let digest = try #require(AccessTokenText.digest(of: Array(AccessTokenText.make().utf8)))
                ids.append(
                    ExpoReceiptID.queued(await relay.onLoop { $0.services.makeID() }, token: digest).text)
            }
            let lookUps = relay.storage.state.withLock(\.tokenLookUps)
            #expect(await Self.receipts(relay, Array(ids.prefix(500))).json == ["data": [:]])
            #expect(relay.storage.state.withLock(\.tokenLookUps) == lookUps + Bounds.expoReceiptTenantsMax)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            let failed = await Self.receipts(relay, Array(ids.prefix(2)))
            #expect(failed.status == 503)
            #expect(failed.json["errors"]?.array?.first?["code"] == "INTERNAL_SERVER_ERROR")
        }
    }

    @Test("A list that is none or too long is refused")
    func malformed() async throws {
        try await RelayFixture.with { relay in
            for body in [[:], ["ids": "x"], ["ids": [1]], []] as [JSON.Value] {
                let answer = await relay.post(RouteName.expoReceipts.path, body)
                #expect(answer.status == 400)
                #expect(answer.json["errors"]?.array?.first?["code"] == "VALIDATION_ERROR")
            }
            let many = await Self.receipts(relay, Array(repeating: "x", count: 1_001))
            #expect(many.status == 400)
            #expect(many.json["errors"]?.array?.first?["code"] == "PUSH_TOO_MANY_RECEIPTS")
            #expect(await Self.receipts(relay, Array(repeating: "x", count: 1_000)).json == ["data": [:]])
        }
    }
}

import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("relay tokens", .timeLimit(.minutes(2)))
struct TokensTests {
    private static let now: EpochMilliseconds = 1_800_000_000_000

    private static func token(_ number: Int64, _ name: String) -> AccessToken {
        var generator = SystemRandomNumberGenerator()
        return AccessToken(
            id: UUIDv7(at: number, using: &generator), digest: Digest256(of: [UInt8(number)]),
            secretHash: RelayFixture.key.primary, scope: .send, name: name, createdAt: now,
            expiresAt: number == 1 ? now + 60_000 : nil, usedAt: number == 2 ? now + 1_000 : nil)
    }

    @Test("Each token has a line or an object with its name, times and ID, and no digest")
    func list() throws {
        let tokens = [Self.token(1, "CI\u{1B}[2J"), Self.token(2, "Backup")]
        let text = TokensCommand.text(tokens, of: RelayFixture.key, .plain)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "Secret \(RelayFixture.key): times in UTC")
        #expect(lines[2].hasPrefix("CI\\u{1B}[2J") && lines[2].hasSuffix(tokens[0].id.text))
        #expect(lines[2].contains("2027-01-15 08:01:00") && lines[3].contains("2027-01-15 08:00:01"))
        let json = TokensCommand.json(tokens)
        let shown = try #require(JSON.parse(Array(json.utf8), maxBytes: 10_000)["tokens"]?.array)
        #expect(shown.map { $0["tokenID"] } == tokens.map { .string($0.id.text) })
        #expect(shown[1]["usedAt"] == "2027-01-15T08:00:01.000Z" && shown[1]["expiresAt"] == nil)
        for token in tokens { #expect(!text.contains(token.digest.hex) && !json.contains(token.digest.hex)) }
        #expect(
            TokensCommand.text([], of: RelayFixture.key, .plain)
                == "Secret \(RelayFixture.key): no access tokens\n")
    }

    @Test("The relay that is asked removes the one token, by the secret or its hash, and logs no secret")
    func revocation() async throws {
        let storage = FakeStorage()
        storage.add("aa", under: RelayFixture.key)
        let tokens = [Self.token(1, "a"), Self.token(2, "b")]
        for token in tokens { _ = try await storage.create(token, under: RelayFixture.key, limit: 5) }
        let lines = LogLines(level: .debug)
        let removals = NamedRemovals(storage: storage, hasher: SecretHasher(), log: lines.log)
        func ask(_ body: JSON.Value) async -> Response {
            let request = Request(
                method: .post, target: AdminServer.Path.revokeToken.rawValue, body: body.encoded())
            return await removals.answer(request) { fields throws(APIError) in
                .accessToken(try TokenRevokeRequest(fields).id)
            }
        }
        let ids = tokens.map { JSON.Value.string($0.id.text) }
        let hash = JSON.Value.string(RelayFixture.key.primary.hex)
        let other = JSON.Value.string(SecretHasher().key(of: Secret("another")).primary.hex)
        #expect(await ask(["secretHash": other, "tokenID": ids[0]]).json == ["ok": true, "revoked": 0])
        #expect(await ask(["secretHash": hash, "tokenID": ids[0]]).json == ["ok": true, "revoked": 1])
        #expect(await ask(["secretHash": hash, "tokenID": ids[0]]).json == ["ok": true, "revoked": 0])
        let left = try await storage.accessTokens(of: RelayFixture.key, limit: 5)
        #expect(left.map(\.name) == ["b"])
        let secret = JSON.Value.string(RelayFixture.secret)
        #expect(await ask(["secret": secret, "tokenID": ids[1]]).json == ["ok": true, "revoked": 1])
        #expect(await ask(["secret": secret]).status == 400)
        #expect(await ask(["tokenID": ids[1]]).status == 400)
        storage.state.withLock { $0.failure = .unavailable(logDetail: "away") }
        #expect(await ask(["secretHash": hash, "tokenID": ids[1]]).status == 503)
        await lines.log.close()
        #expect(lines.text.contains("token.revoked") && !lines.text.contains(RelayFixture.secret))
    }
}

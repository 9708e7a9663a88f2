import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Revoking a secret", .timeLimit(.minutes(2)))
struct RevokeTests {
    private static let body: JSON.Value = ["secret": .string(RelayFixture.secret)]

    private func ask(_ storage: FakeStorage, _ lines: LogLines, _ body: JSON.Value) async -> Response {
        let revocation = Revocation(storage: storage, hasher: SecretHasher(), log: lines.log)
        return await revocation.answer(
            Request(method: .post, target: AdminServer.Path.revoke.rawValue, body: body.encoded()))
    }

    @Test("The relay that is asked removes what the secret has, says how much, and logs no secret")
    func answer() async throws {
        let storage = FakeStorage()
        for token in ["aa", "bb"] { storage.add(token, under: RelayFixture.key) }
        storage.add("cc", under: SecretHasher().key(of: Secret("another")))
        let lines = LogLines(level: .debug)
        let first = await ask(storage, lines, Self.body)
        #expect(first.status == 200)
        #expect(Holdings(json: first.body) == Holdings(devices: 2))
        let second = await ask(storage, lines, Self.body)
        #expect(Holdings(json: second.body) == Holdings())
        #expect(storage.state.withLock { $0.devices.map(\.token) } == ["cc"])
        await lines.log.close()
        let said = lines.text
        #expect(said.contains("secret.revoked") && said.contains(RelayFixture.key.primary.prefix))
        #expect(!said.contains(RelayFixture.secret))
    }

    @Test("All goes, however many steps that takes")
    func steps() async throws {
        let storage = FakeStorage()
        let count = 2 * Bounds.revokeRowsPerStep + 1
        for number in 0..<count { storage.add("\(number)", under: RelayFixture.key) }
        #expect(try await storage.revokeAll(RelayFixture.key) == Holdings(devices: count))
        #expect(storage.state.withLock(\.devices).isEmpty)
    }

    @Test("What is no request for that, and a database that is away, are refused")
    func refusals() async throws {
        let storage = FakeStorage()
        let lines = LogLines(level: .debug)
        #expect(await ask(storage, lines, [:]).status == 400)
        #expect(await ask(storage, lines, ["secret": ""]).status == 400)
        storage.state.withLock { $0.failure = .unavailable(logDetail: "away") }
        #expect(await ask(storage, lines, Self.body).status == 503)
        await lines.log.close()
    }

    @Test("What would go is told in numbers that a person reads")
    func words() {
        #expect(
            Holdings(devices: 1, pushes: 1, receipts: 1).text == "1 device, 1 waiting push and 1 receipt")
        #expect(
            Holdings(devices: 0, pushes: 1_234, receipts: 2).text
                == "0 devices, 1,234 waiting pushes and 2 receipts")
        let all = Holdings(
            devices: 2, pushes: 3, receipts: 4, history: 5, schedules: 6, replies: 7, tokens: 8, agents: 1,
            accessTokens: 2)
        #expect(
            all.text
                == "2 devices, 3 waiting pushes, 4 receipts, 5 history items, 6 schedules, 7 replies, "
                + "8 further push tokens, 1 agent's last use and 2 access tokens")
        #expect(Holdings(json: all.json) == all)
    }
}

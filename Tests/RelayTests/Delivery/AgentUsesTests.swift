import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Agents' last use", .timeLimit(.minutes(2)))
struct AgentUsesTests {
    private static let time: EpochMilliseconds = 1_800_000_000_000
    private static let key = RelayFixture.key

    /// Notes uses without a worker; `stored` stores them.
    private struct Uses {
        let storage = FakeStorage()
        let lines = LogLines()
        let uses: AgentUses

        init() { uses = AgentUses(storage: storage, log: lines.log) }

        func note(_ key: SecretKey, _ client: String?, after time: Duration = .zero) {
            let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
            uses.note(
                key, client: client,
                at: (AgentUsesTests.time + time.inMilliseconds, start + time))
        }

        /// Stores the noted uses; none can be noted afterwards.
        func stored() async -> [SecretHash: AgentUse] {
            uses.finish()
            await uses.run()
            await lines.log.close()
            return storage.state.withLock(\.agentUses)
        }
    }

    @Test(
        "A use is recorded again after 30 seconds, or at once for another client",
        arguments: [
            (Duration.milliseconds(29_999), "agent", false), (.seconds(1), nil, false),
            (.seconds(30), "agent", true), (.seconds(30), nil, true), (.seconds(1), "other", true),
        ] as [(Duration, String?, Bool)])
    func interval(later: Duration, client: String?, isNoted: Bool) async throws {
        let uses = Uses()
        uses.storage.add("aa", under: Self.key)
        uses.note(Self.key, "agent")
        uses.note(Self.key, client, after: later)
        let use = try #require(await uses.stored()[Self.key.primary])
        #expect(use.usedAt == Self.time + (isNoted ? later.inMilliseconds : 0))
        #expect(use.client == client ?? "agent")
    }

    @Test("A client's name is truncated in memory as in the database")
    func longName() async throws {
        let uses = Uses()
        let name = String(repeating: "agent ", count: 3_000)
        uses.storage.add("aa", under: Self.key)
        uses.note(Self.key, name)
        #expect(!uses.uses.isDue(Self.key, client: name, at: MonotonicTime(nanoseconds: 1_000_000_000_001)))
        uses.note(Self.key, name, after: .seconds(1))
        let use = try #require(await uses.stored()[Self.key.primary])
        #expect(use == AgentUse(usedAt: Self.time, client: name))
        #expect(use.client?.utf8.count == StorageLimits.agentClientBytes)
    }

    @Test("The number of remembered uses is bounded, and old ones make room")
    func bound() async {
        let uses = Uses()
        uses.storage.add("aa", under: Self.key)
        let keys = (0..<Bounds.agentUsesMax).map { number in
            SecretKey(primary: SecretHash(Digest256(of: [UInt8(number & 255), UInt8(number >> 8)])))
        }
        let devices = keys.map { key in
            Device(
                id: key.primary.hex, secretHash: key.primary, token: "aa", bundleID: "org.example.app",
                environment: .production, createdAt: 1, updatedAt: 1)
        }
        uses.storage.state.withLock { $0.insert(devices) }
        for key in keys { uses.note(key, nil) }
        uses.note(Self.key, "agent", after: .seconds(29))
        #expect(await uses.stored()[Self.key.primary] == nil)
        #expect(uses.storage.state.withLock { $0.agentUses.count } == Bounds.agentUsesMax)
    }

    @Test("A use that can't be stored is dropped and logged, and the next is stored")
    func failure() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa", under: Self.key)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "down") }
            relay.agents.note(Self.key, client: "agent", at: (Self.time, MonotonicTime(nanoseconds: 0)))
            #expect(await eventually { relay.lines.count(of: "agent_use.dropped") == 1 })
            relay.storage.state.withLock { $0.failure = nil }
            relay.agents.note(
                Self.key, client: nil, at: (Self.time + 30_000, MonotonicTime(nanoseconds: 30_000_000_000)))
            #expect(
                await eventually {
                    relay.storage.state.withLock { $0.agentUses[Self.key.primary] }
                        == AgentUse(usedAt: Self.time + 30_000, client: "agent")
                })
        }
    }

    @Test("An agent's answer doesn't wait for its use to be stored, and the list shows it")
    func shown() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa", under: Self.key)
            let gate = Gate()
            relay.storage.state.withLock { $0.agentGate = gate }
            func post(_ body: JSON.Value) async -> Response {
                await relay.answer(
                    Request(
                        method: .post, target: "/mcp",
                        headers: [
                            ("Content-Type", "application/json"),
                            ("Authorization", "Bearer \(RelayFixture.secret)"),
                        ], body: body.encoded()))
            }
            relay.storage.add("aa00112233445566", under: RelayFixture.key)
            let initialize = MCPTests.legacy(
                "initialize",
                ["protocolVersion": "2025-11-25", "clientInfo": ["name": "claude-code", "version": "1"]])
            #expect(await post(initialize).status == .ok)
            let body: JSON.Value = ["secret": .string(RelayFixture.secret)]
            #expect(await relay.post("/v1/device/list", body).json["agent"] == nil)
            gate.open()
            #expect(await eventually { relay.storage.state.withLock { $0.agentUses.count } == 1 })
            for (passed, status) in [
                (0, "connected"), (59_999, "connected"), (60_000, "recent"),
                (299_999, "recent"), (300_000, "idle"),
            ] {
                relay.time.withLock { $0 = Self.time + EpochMilliseconds(passed) }
                #expect(
                    await relay.post("/v1/device/list", body).json["agent"] == [
                        "usedAt": "2027-01-15T08:00:00.000Z", "status": .string(status),
                        "client": "claude-code",
                    ])
            }
        }
    }

    @Test("Refused messages don't count as a use")
    func refused() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa", under: Self.key)
            for (body, status) in [([:], 400), (MCPTests.legacy("ping"), 200)] as [(JSON.Value, Int)] {
                relay.time.withLock { $0 += 5 }
                let request = Request(
                    method: .post, target: "/mcp",
                    headers: [
                        ("Content-Type", "application/json"),
                        ("Authorization", "Bearer \(RelayFixture.secret)"),
                    ], body: body.encoded())
                #expect(await relay.answer(request).status.rawValue == status)
            }
            // A second use would not have been noted so soon after the first.
            #expect(await eventually { relay.storage.state.withLock { $0.agentUses.count } == 1 })
            #expect(
                relay.storage.state.withLock { $0.agentUses[Self.key.primary]?.usedAt } == Self.time + 10)
        }
    }
}

import Storage
import Testing

extension ContractCase {
    static let agents: [ContractCase] = [
        ContractCase(open: "the last use of a secret is the latest one and keeps the client's name") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            #expect(try await storage.agentUse(of: key) == nil)
            let time = Samples.time
            let uses: [(given: AgentUse, stored: AgentUse)] = [
                (AgentUse(usedAt: time, client: nil), AgentUse(usedAt: time, client: nil)),
                (AgentUse(usedAt: time + 1, client: "é🦊"), AgentUse(usedAt: time + 1, client: "é🦊")),
                (AgentUse(usedAt: time + 2, client: nil), AgentUse(usedAt: time + 2, client: "é🦊")),
                (AgentUse(usedAt: time + 1, client: "late"), AgentUse(usedAt: time + 2, client: "é🦊")),
                (AgentUse(usedAt: time + 3, client: "Agent "), AgentUse(usedAt: time + 3, client: "Agent ")),
            ]
            for (given, stored) in uses {
                for _ in 0..<2 { try await storage.note([(given, key)]) }
                #expect(try await storage.agentUse(of: key) == stored)
            }
            #expect(try await storage.agentUse(of: Samples.key("Secret")) == nil)
        },

        ContractCase(open: "a last use comes with the newest deliveries to the devices") {
            storage async throws in
            let key = Samples.key("secret")
            let devices = [try await storage.registered("aa", key), try await storage.registered("bb", key)]
            let none = try await storage.lastUses(of: devices, under: key)
            #expect(none.agent == nil && none.deliveries == [])
            let use = AgentUse(usedAt: Samples.time, client: "agent")
            try await storage.note([(use, key)])
            let log = (0..<4).map { index in
                Samples.delivery(key, at: Samples.time + Int64(index), to: devices[index % 2].id)
            }
            try await storage.append(log)
            let found = try await storage.lastUses(of: devices, under: key)
            #expect(found.agent == use)
            #expect(found.deliveries == [log[3], log[2]])
            let three = try await storage.agentUse(of: key, deliveries: 3).deliveries
            #expect(three == [log[3], log[2], log[1]])
            #expect(try await storage.lastUses(of: [], under: key).agent == nil)
        },

        ContractCase(open: "uses of secrets without devices are left out of a batch") {
            storage async throws in
            let keys = (0..<70).map { Samples.key("secret \($0)") }
            for key in keys.prefix(65) { try await storage.register(Samples.registration("aa"), key) }
            let use = AgentUse(usedAt: Samples.time, client: "agent")
            try await storage.note(keys.map { (use, $0) })
            for (index, key) in keys.enumerated() {
                #expect(try await storage.agentUse(of: key) == (index < 65 ? use : nil))
            }
            try await storage.note([])
        },

        ContractCase(open: "a client's name is truncated to its limit") { storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let name = "a\0\u{1B}\n" + String(repeating: "🦊", count: 20)
            try await storage.note([(AgentUse(usedAt: Samples.time, client: name), key)])
            #expect(
                try await storage.agentUse(of: key)?.client == "a" + String(repeating: "🦊", count: 15))
        },

        ContractCase(open: "a use is found under every hash of its secret and stored under the primary one") {
            storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            try await storage.register(Samples.registration("aa"), plain)
            let old = AgentUse(usedAt: Samples.time, client: "old")
            try await storage.note([(old, plain)])
            #expect(try await storage.agentUse(of: key) == old)
            let new = AgentUse(usedAt: Samples.time + 1, client: "new")
            try await storage.note([(new, key)])
            #expect(try await storage.agentUse(of: key) == new)
            #expect(try await storage.agentUse(of: plain) == old)
        },

        ContractCase(open: "a use is removed with its secret's last device, by revoking, and when it expires")
        {
            storage async throws in
            let keys = ["left", "revoked", "old", "kept"].map(Samples.key)
            for (index, key) in keys.enumerated() {
                for token in ["aa", "bb"] { try await storage.register(Samples.registration(token), key) }
                try await storage.note([
                    (AgentUse(usedAt: Samples.time + Int64(index), client: "agent"), key)
                ])
            }
            _ = try await storage.unregister(token: "aa", under: keys[0], at: Samples.time)
            #expect(try await storage.agentUse(of: keys[0]) != nil)
            _ = try await storage.unregister(token: "bb", under: keys[0], at: Samples.time)
            #expect(try await storage.agentUse(of: keys[0]) == nil)
            #expect(try await storage.revoke(keys[1], limit: 10) == Holdings(devices: 2, agents: 1))
            #expect(try await storage.agentUse(of: keys[1]) == nil)
            #expect(try await storage.prune(.agentUses, before: Samples.time + 3, limit: 1) == 1)
            #expect(try await storage.prune(.agentUses, before: Samples.time + 3, limit: 1) == 0)
            #expect(try await storage.agentUse(of: keys[2]) == nil)
            #expect(try await storage.agentUse(of: keys[3]) != nil)
        },
    ]
}

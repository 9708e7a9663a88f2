import Storage
import Testing

/// Keys of one secret before and after a pepper was set.
private enum Peppered {
    static let before = Samples.key("secret")
    static let after = SecretKey(
        primary: SecretHash(Digest256(of: Array("peppered".utf8))), legacy: before.primary)
    static let onlyAfter = SecretKey(primary: after.primary)
}

extension ContractCase {
    static let pepper: [ContractCase] = [
        ContractCase(open: "devices from before the pepper are found with it") { storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.before)
            let devices = try await storage.devices(of: Peppered.after)
            #expect(devices.map(\.token) == ["aa"])
            #expect(devices.map(\.secretHash) == [Peppered.before.primary])
            #expect(try await storage.devices(of: Peppered.onlyAfter) == [])
        },

        ContractCase(open: "the next registration moves a secret's devices under the pepper") {
            storage async throws in
            let old = Samples.registration("aa")
            try await storage.register(old, Peppered.before)
            try await storage.register(Samples.registration("bb", at: Samples.time + 1), Peppered.before)
            let new = Samples.registration("aa", environment: .sandbox, at: Samples.time + 5)
            #expect(try await storage.register(new, Peppered.after) == .updated)
            #expect(try await storage.devices(of: Peppered.before) == [])
            let devices = try await storage.devices(of: Peppered.onlyAfter)
            #expect(devices.map(\.token) == ["aa", "bb"])
            #expect(devices.map(\.id).first == old.newID.text)
            #expect(devices.map(\.createdAt) == [Samples.time, Samples.time + 1])
            #expect(devices.map(\.updatedAt) == [Samples.time + 5, Samples.time + 1])
        },

        ContractCase(open: "the device limit counts devices from before the pepper") { storage async throws in
            for token in ["aa", "bb"] {
                try await storage.register(Samples.registration(token), Peppered.before)
            }
            let refused = try await storage.register(
                Samples.registration("cc"), under: Peppered.after, deviceLimit: 2)
            #expect(refused == .limitReached)
            let known = try await storage.register(
                Samples.registration("bb"), under: Peppered.after, deviceLimit: 2)
            #expect(known == .updated)
        },

        ContractCase(open: "a token with both hashes is one device, the peppered one") {
            storage async throws in
            try await storage.register(Samples.registration("aa", bundleID: "new"), Peppered.after)
            // A process that doesn't know the pepper registers it again.
            try await storage.register(Samples.registration("aa", bundleID: "old"), Peppered.before)
            #expect(try await storage.devices(of: Peppered.after).map(\.bundleID) == ["new"])
            try await storage.register(Samples.registration("bb", at: Samples.time + 1), Peppered.after)
            #expect(
                try await storage.devices(of: Peppered.onlyAfter).map(\.bundleID) == [
                    "new", "com.example.app",
                ])
            #expect(try await storage.devices(of: Peppered.before) == [])
        },

        ContractCase(open: "unregistering removes a token under both hashes") { storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.after)
            try await storage.register(Samples.registration("aa"), Peppered.before)
            #expect(try await storage.unregister(token: "aa", under: Peppered.after))
            #expect(try await storage.devices(of: Peppered.after) == [])
            #expect(try await storage.devices(of: Peppered.before) == [])
        },

        ContractCase(open: "a device from before the pepper can be changed and removed as it was read") {
            storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.before)
            let device = try #require(try await storage.devices(of: Peppered.after).first)
            #expect(try await storage.setEnvironment(.sandbox, of: device))
            #expect(try await storage.devices(of: Peppered.after).map(\.environment) == [.sandbox])
            #expect(try await storage.remove(device, ifNotUpdatedAfter: .max))
            #expect(try await storage.devices(of: Peppered.after) == [])
        },

        ContractCase(open: "deliveries and receipts from before the pepper belong to the secret") {
            storage async throws in
            try await storage.append([Samples.delivery(Peppered.before, at: Samples.time)])
            try await storage.append([Samples.delivery(Peppered.after, at: Samples.time + 1)])
            let log = try await storage.deliveries(of: Peppered.after, before: nil, limit: 9)
            #expect(log.map(\.secretHash) == [Peppered.after.primary, Peppered.before.primary])

            let old = Samples.claim("event", under: Peppered.before)
            #expect(try await storage.claim(old) == .claimed)
            #expect(try await storage.claim(Samples.claim("event", under: Peppered.after)) == .inProgress)
            #expect(try await storage.complete(old, answer: [1, 2]))
            #expect(
                try await storage.claim(Samples.claim("event", under: Peppered.after)) == .answered([1, 2]))
        },
    ]
}

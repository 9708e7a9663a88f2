import Storage
import Testing

extension ContractCase {
    static let webPush: [ContractCase] = [
        ContractCase(open: "a Web Push subscription is stored as it was written, and goes with its device") {
            storage async throws in
            let key = Samples.key("secret")
            let longest = String(repeating: "ü", count: StorageLimits.webPushBytes / 2)
            try await storage.register(Samples.registration("aa", details: .webPush("one two")), key)
            try await storage.register(Samples.registration("bb", details: .webPush(longest)), key)
            try await storage.register(Samples.registration("cc"), key)
            let devices = try await storage.devices(of: key).sorted { $0.token < $1.token }
            #expect(devices.map(\.details.webPush) == ["one two", longest, nil])
            #expect(try await storage.unregister(token: "aa", under: key))
            #expect(try await storage.devices(of: key).count == 2)
        },

        ContractCase(open: "a registration replaces the subscription, also with none") {
            storage async throws in
            let key = Samples.key("secret")
            func webPush() async throws -> [String?] {
                try await storage.devices(of: key).map(\.details.webPush)
            }
            try await storage.register(Samples.registration("aa", details: .webPush("one")), key)
            try await storage.register(Samples.registration("aa", details: .webPush("two")), key)
            #expect(try await webPush() == ["two"])
            try await storage.register(Samples.registration("aa"), key)
            #expect(try await webPush() == [nil])
            // An installation that changes its transport.
            let old = DeviceDetails(installationID: "phone", webPush: "three")
            try await storage.register(Samples.registration("aa", details: old), key)
            try await storage.register(
                Samples.registration("bb", details: DeviceDetails(installationID: "phone")), key)
            #expect(try await webPush() == [nil])
        },

        ContractCase(open: "a claimed push has its device's subscription") { storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa", details: .webPush("one")), key)
            let device = try #require(try await storage.devices(of: key).first)
            #expect(
                try await storage.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9) == [
                    .queued
                ])
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.device?.details.webPush) == ["one"])
        },

        ContractCase(open: "a subscription that is too long or has a NUL is refused") {
            storage async throws in
            for text in [String(repeating: "x", count: StorageLimits.webPushBytes + 1), "a\0b"] {
                await #expect(throws: StorageError.invalidValue(field: "webPush")) {
                    try await storage.register(
                        Samples.registration("aa", details: .webPush(text)), Samples.key("secret"))
                }
            }
        },

        ContractCase("a shared key is the first one that was stored, also after opening the storage again") {
            database async throws in
            let first = try await database.open()
            let now = Samples.time
            #expect(try await first.relayKey("one", orStoring: nil, at: now) == nil)
            #expect(try await first.relayKey("one", orStoring: "first 🦊", at: now) == "first 🦊")
            #expect(try await first.relayKey("one", orStoring: "second", at: now) == "first 🦊")
            #expect(try await first.relayKey("two", orStoring: "second", at: now) == "second")
            await first.close()
            let second = try await database.open()
            #expect(try await second.relayKey("one", orStoring: nil, at: now) == "first 🦊")
            await second.close()
        },

        ContractCase(open: "callers that store a shared key at once all get the same one") {
            storage async throws in
            let keys = try await concurrently(8) { number in
                try await storage.relayKey("one", orStoring: "key \(number)", at: Samples.time)
            }
            #expect(Set(keys).count == 1 && keys[0]?.hasPrefix("key ") == true)
        },

        ContractCase(open: "a shared key that is too long or has a NUL is refused") { storage async throws in
            for text in [String(repeating: "x", count: StorageLimits.relayKeyBytes + 1), "a\0b"] {
                await #expect(throws: StorageError.invalidValue(field: "key")) {
                    try await storage.relayKey("one", orStoring: text, at: Samples.time)
                }
            }
        },
    ]
}

extension DeviceDetails {
    fileprivate static func webPush(_ text: String) -> DeviceDetails { DeviceDetails(webPush: text) }
}

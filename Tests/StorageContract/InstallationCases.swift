import Storage
import Testing

/// A registration of an installation's token.
private func registration(
    _ token: String, _ installation: String?, at time: EpochMilliseconds = Samples.time,
    bundleID: String = "com.example.app", deviceName: String? = nil
) -> Registration {
    Samples.registration(
        token, bundleID: bundleID, at: time,
        details: DeviceDetails(deviceName: deviceName, installationID: installation))
}

/// The keys of one secret before and after a pepper was set.
private enum Peppered {
    static let before = Samples.key("secret")
    static let after = SecretKey(
        primary: SecretHash(Digest256(of: Array("peppered".utf8))), legacy: [before.primary])
    static let onlyAfter = SecretKey(primary: after.primary)
}

extension ContractCase {
    static let installations: [ContractCase] = [
        ContractCase(open: "an installation's new token replaces its old one, and the device keeps its ID") {
            storage async throws in
            let key = Samples.key("secret")
            let first = registration("aa", "one", deviceName: "Ada's phone")
            #expect(try await storage.register(first, key) == .created)
            let old = try #require(try await storage.devices(of: key).first)
            let new = registration("bb", "one", at: Samples.time + 5, bundleID: "com.example.two")
            #expect(try await storage.register(new, key) == .updated)
            let device = Device(
                id: first.newID.text, secretHash: key.primary, token: "bb", bundleID: "com.example.two",
                environment: .production, createdAt: Samples.time, updatedAt: Samples.time + 5,
                details: first.details)
            #expect(try await storage.devices(of: key) == [device])
            // APNs' report about the old token has no effect on the new one.
            #expect(try await !storage.remove(old, ifNotUpdatedAfter: old.updatedAt))
            #expect(try await !storage.setEnvironment(.sandbox, of: old))
            #expect(try await !storage.setPreferences("{}", of: old))
            #expect(try await !storage.unregister(token: "aa", under: key))
            #expect(try await storage.devices(of: key) == [device])
            #expect(try await storage.setPreferences("{}", of: device))
            let changed = try await storage.devices(of: key)
            #expect(changed.map(\.details.preferences) == ["{}"])
            #expect(changed.map(\.updatedAt) == [device.updatedAt])
        },

        ContractCase(open: "an installation that registers its token again is updated, even at the limit") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(registration("aa", "one"), key)
            for (index, token) in ["aa", "bb", "bb"].enumerated() {
                let again = registration(token, "one", at: Samples.time + 1 + Int64(index))
                #expect(try await storage.register(again, under: key, deviceLimit: 1) == .updated)
            }
            let devices = try await storage.devices(of: key)
            #expect(devices.map(\.token) == ["bb"] && devices.map(\.updatedAt) == [Samples.time + 3])
            let other = try await storage.register(registration("cc", "two"), under: key, deviceLimit: 1)
            #expect(other == .limitReached)
            #expect(try await storage.devices(of: key) == devices)
        },

        ContractCase(open: "pushes queued for the old token go to the new one, leased or not") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(registration("aa", "one"), key)
            let device = try #require(try await storage.devices(of: key).first)
            let (waiting, held) = (Samples.pending(device), Samples.pending(device))
            let lease = Samples.lease()
            _ = try await storage.enqueue([waiting], lease: nil, limitPerSecret: 9)
            _ = try await storage.enqueue([held], lease: lease, limitPerSecret: 9)
            try await storage.register(registration("bb", "one", at: Samples.time + 1), key)
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.push.id) == [waiting.id] && claimed.map(\.device?.token) == ["bb"])
            #expect(try await storage.settle([Samples.again(held, lease.owner)]) == [true])
            #expect(try await storage.claimed(at: Samples.time).map(\.device?.token) == ["bb"])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9) == [])
        },

        ContractCase(open: "a token moves to the installation that registers it, with its queued pushes") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(registration("aa", "one"), key)
            try await storage.register(registration("bb", "two", at: Samples.time + 1), key)
            let devices = try await storage.devices(of: key)
            let pushes = devices.map { Samples.pending($0) }
            let held = Samples.pending(devices[1])
            let lease = Samples.lease()
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            _ = try await storage.enqueue([held], lease: lease, limitPerSecret: 9)
            let moved = registration("bb", "one", at: Samples.time + 2)
            #expect(try await storage.register(moved, key) == .updated)
            let left = try await storage.devices(of: key)
            #expect(left.map(\.id) == [devices[0].id] && left.map(\.token) == ["bb"])
            #expect(left.map(\.details.installationID) == ["one"])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9) == [])
            #expect(try await storage.settle([Samples.again(held, lease.owner)]) == [true])
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(Set(claimed.map(\.push.id)) == Set(pushes.map(\.id) + [held.id]))
            #expect(claimed.allSatisfy { $0.device == left[0] })
            // The other installation comes back as a new device.
            let back = registration("cc", "two", at: Samples.time + 3)
            #expect(try await storage.register(back, key) == .created)
        },

        ContractCase(open: "a token without an installation, or of a removed one, becomes the installation's")
        {
            storage async throws in
            let key = Samples.key("secret")
            let first = registration("aa", nil)
            try await storage.register(first, key)
            for (installation, time) in [("one", 1), ("two", 2)] as [(String, Int64)] {
                let adopted = registration("aa", installation, at: Samples.time + time)
                #expect(try await storage.register(adopted, key) == .updated)
                let devices = try await storage.devices(of: key)
                #expect(devices.map(\.id) == [first.newID.text])
                #expect(devices.map(\.details.installationID) == [installation])
            }
            try await storage.register(registration("bb", "two", at: Samples.time + 3), key)
            #expect(try await storage.tokens(of: key) == ["bb"])
        },

        ContractCase(
            open: "without an installation each token is a device and keeps its installation"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(registration("aa", "one"), key)
            #expect(
                try await storage.register(registration("aa", nil, at: Samples.time + 1), key) == .updated)
            #expect(
                try await storage.register(registration("bb", nil, at: Samples.time + 2), key) == .created)
            let devices = try await storage.devices(of: key)
            #expect(devices.map(\.details.installationID) == ["one", nil])
            try await storage.register(registration("cc", "one", at: Samples.time + 3), key)
            #expect(try await storage.tokens(of: key) == ["cc", "bb"])
        },

        ContractCase(
            open: "an installation under two secrets is two devices, and IDs are compared byte for byte"
        ) {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            for (key, token) in [(mine, "aa"), (yours, "aa"), (yours, "bb")] {
                try await storage.register(registration(token, "one"), key)
            }
            #expect(try await storage.tokens(of: mine) == ["aa"])
            #expect(try await storage.tokens(of: yours) == ["bb"])
            let key = Samples.key("secret")
            for (index, installation) in Samples.confusable.enumerated() {
                let new = registration("token \(index)", installation)
                #expect(try await storage.register(new, key) == .created)
            }
            for (index, installation) in Samples.confusable.enumerated() {
                let renewed = registration("new \(index)", installation)
                #expect(try await storage.register(renewed, key) == .updated)
            }
            let tokens = Samples.confusable.indices.map { "new \($0)" }
            #expect(Set(try await storage.tokens(of: key)) == Set(tokens))
        },

        ContractCase(open: "an installation that registers several tokens at once ends up with one of them") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(registration("aa", nil), key)
            let tokens = ["aa"] + (0..<7).map { "token \($0)" }
            for round in 0..<5 {
                _ = try await concurrently(tokens.count) { index in
                    try await storage.register(
                        registration(tokens[index], "one", at: Samples.time + Int64(round)), key)
                }
                let devices = try await storage.devices(of: key)
                #expect(devices.count == 1 && tokens.contains(devices[0].token))
                #expect(devices.map(\.details.installationID) == ["one"])
            }
        },

        ContractCase(open: "a new token under the pepper replaces the one from before it") {
            storage async throws in
            try await storage.register(registration("aa", "one"), Peppered.before)
            let old = try #require(try await storage.devices(of: Peppered.before).first)
            let push = Samples.pending(old)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let new = registration("bb", "one", at: Samples.time + 1)
            #expect(try await storage.register(new, Peppered.after) == .updated)
            let devices = try await storage.devices(of: Peppered.onlyAfter)
            #expect(devices.map(\.id) == [old.id] && devices.map(\.token) == ["bb"])
            #expect(try await storage.devices(of: Peppered.before) == [])
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.push.id) == [push.id] && claimed.map(\.device) == devices)
        },

        ContractCase(open: "an installation under both hashes is merged, and its later token stays") {
            storage async throws in
            for (before, after, expected) in [(1, 2, "after"), (2, 1, "before"), (1, 1, "after")] {
                let secret = "secret \(before) \(after)"
                let plain = Samples.key(secret)
                let primary = SecretHash(Digest256(of: Array("peppered \(secret)".utf8)))
                let both = SecretKey(primary: primary, legacy: [plain.primary])
                let only = SecretKey(primary: primary)
                // A process that doesn't know the pepper has registered it as well.
                try await storage.register(
                    registration("before", "one", at: Samples.time + Int64(before)), plain)
                try await storage.register(
                    registration("after", "one", at: Samples.time + Int64(after)), only)
                let kept = try #require(try await storage.devices(of: only).first)
                let pushes = try await storage.devices(of: both).map { Samples.pending($0) }
                _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
                #expect(try await storage.rehash(both))
                let devices = try await storage.devices(of: both)
                #expect(devices.map(\.id) == [kept.id] && devices.map(\.token) == [expected])
                #expect(devices.map(\.details) == [kept.details])
                let lease = Samples.lease()
                let claimed = try await storage.claimed(lease)
                #expect(Set(claimed.map(\.push.id)) == Set(pushes.map(\.id)))
                #expect(claimed.allSatisfy { $0.device == devices.first })
                _ = try await storage.settle(claimed.map { Samples.over($0.push, lease.owner) })
            }
        },

        ContractCase(open: "an installation ID with a NUL or over its limit is refused") {
            storage async throws in
            let key = Samples.key("secret")
            for name in ["a\0b", String(repeating: "n", count: StorageLimits.installationIDBytes + 1)] {
                await #expect(throws: StorageError.invalidValue(field: "deviceID")) {
                    try await storage.register(registration("aa", name), key)
                }
            }
            let longest = String(repeating: "n", count: StorageLimits.installationIDBytes)
            #expect(try await storage.register(registration("aa", longest), key) == .created)
            #expect(try await storage.devices(of: key).map(\.details.installationID) == [longest])
        },
    ]
}

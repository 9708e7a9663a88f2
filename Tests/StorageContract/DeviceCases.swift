import Storage
import Testing

extension ContractCase {
    static let devices: [ContractCase] = [
        ContractCase(open: "a new device is found with every field unchanged") { storage async throws in
            let key = Samples.key("secret")
            let registration = Samples.registration(
                "aabbcc", bundleID: "com.example.one", environment: .sandbox)
            let result = try await storage.register(registration, key)
            #expect(result == .created)
            let expected = Device(
                id: registration.newID.text, secretHash: key.primary, token: "aabbcc",
                bundleID: "com.example.one", environment: .sandbox, createdAt: Samples.time,
                updatedAt: Samples.time)
            #expect(try await storage.devices(of: key) == [expected])
        },

        ContractCase(open: "a secret without devices returns none and no error") { storage async throws in
            try await storage.register(Samples.registration("aabbcc"), Samples.key("other"))
            #expect(try await storage.devices(of: Samples.key("secret")) == [])
        },

        ContractCase(open: "devices are counted under all secrets, up to a limit") { storage async throws in
            #expect(try await storage.countDevices(limit: 9) == 0)
            for secret in ["one", "two"] {
                for token in ["aa", "bb"] {
                    try await storage.register(Samples.registration(token), Samples.key(secret))
                }
            }
            try await storage.register(Samples.registration("aa"), Samples.key("one"))
            #expect(try await storage.countDevices(limit: 9) == 4)
            #expect(try await storage.countDevices(limit: 3) == 3)
            _ = try await storage.unregister(
                token: "aa", under: Samples.key("one"), at: Samples.time)
            #expect(try await storage.countDevices(limit: 9) == 3)
        },

        ContractCase(
            open: "devices that haven't registered since a time are removed in steps with their queued pushes"
        ) {
            storage async throws in
            let keys = ["one", "two", "three"].map { Samples.key($0) }
            let limit = Samples.time + 100
            for (index, key) in keys.enumerated() {
                for token in ["aa", "bb", "cc"] {
                    let age: EpochMilliseconds = token == "bb" ? 0 : 1
                    try await storage.register(
                        Samples.registration(token, at: limit - age * EpochMilliseconds(index + 1)), key)
                }
            }
            let stale = try #require(try await storage.devices(of: keys[0]).first { $0.token == "aa" })
            _ = try await storage.enqueue([Samples.pending(stale)], lease: nil, limitPerSecret: 9)
            // A device that registers again during the walk stays.
            try await storage.register(Samples.registration("cc", at: limit), keys[1])
            var steps: [DevicePruning] = []
            repeat {
                steps.append(
                    try await storage.pruneDevices(
                        before: limit, after: steps.last?.next, limit: 2, at: Samples.time + 200))
            } while steps.last?.next != nil && steps.count < 9
            #expect(steps.map(\.removed).reduce(0, +) == 5)
            #expect(steps.count == 5)
            var left: [[String]] = []
            for key in keys { left.append(try await storage.devices(of: key).map(\.token).sorted()) }
            #expect(left == [["bb"], ["bb", "cc"], ["bb"]])
            #expect(try await storage.countPushes(limit: 9) == 0)
            let log = try await storage.deliveries(of: keys[0], before: nil, limit: 9)
            #expect(log.map(\.error) == [Delivery.deviceRemoved])
            #expect(log.map(\.createdAt) == [Samples.time + 200])
            let again = try await storage.pruneDevices(before: limit, after: nil, limit: 99, at: limit)
            #expect(again == DevicePruning())
        },

        ContractCase(open: "the preferences of all secrets' devices are read in steps") {
            storage async throws in
            #expect(try await storage.preferences(after: nil, limit: 9) == PreferencesPage())
            for secret in ["one", "two"] {
                for token in ["aa", "bb", "cc"] {
                    let text = token == "bb" ? nil : "\(secret) \(token)"
                    try await storage.register(
                        Samples.registration(token, details: DeviceDetails(preferences: text)),
                        Samples.key(secret))
                }
            }
            var pages: [PreferencesPage] = []
            repeat {
                pages.append(try await storage.preferences(after: pages.last?.next, limit: 4))
            } while pages.last?.next != nil && pages.count < 9
            #expect(pages.map(\.looked) == [4, 2])
            #expect(Set(pages.flatMap(\.texts)) == ["one aa", "one cc", "two aa", "two cc"])
            let whole = try await storage.preferences(after: nil, limit: 99)
            #expect(whole.looked == 6 && whole.texts.count == 4 && whole.next == nil)
        },

        ContractCase(open: "a second registration updates the device and keeps its ID and creation time") {
            storage async throws in
            let key = Samples.key("secret")
            let first = Samples.registration("aabbcc")
            let second = Samples.registration(
                "aabbcc", bundleID: "com.example.two", environment: .sandbox, at: Samples.time + 1)
            try await storage.register(first, key)
            #expect(try await storage.register(second, key) == .updated)
            let expected = Device(
                id: first.newID.text, secretHash: key.primary, token: "aabbcc", bundleID: "com.example.two",
                environment: .sandbox, createdAt: Samples.time, updatedAt: Samples.time + 1)
            #expect(try await storage.devices(of: key) == [expected])
        },

        ContractCase(
            open: "an update is always later than the previous one, whatever the caller's clock"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aabbcc", at: Samples.time), key)
            let late = Samples.registration("aabbcc", environment: .sandbox, at: Samples.time - 5_000)
            #expect(try await storage.register(late, key) == .updated)
            let devices = try await storage.devices(of: key)
            #expect(devices.map(\.updatedAt) == [Samples.time + 1])
            #expect(devices.map(\.environment) == [.sandbox])
        },

        ContractCase(open: "times are stored to the millisecond, whatever their size") {
            storage async throws in
            let times: [EpochMilliseconds] = [0, 1, 999, 1_000, 2_147_483_648, 4_294_967_297, Samples.time]
            for time in times {
                let key = Samples.key("secret \(time)")
                try await storage.register(Samples.registration("aabbcc", at: time), key)
                #expect(try await storage.devices(of: key).map(\.createdAt) == [time])
                #expect(try await storage.devices(of: key).map(\.updatedAt) == [time])
            }
        },

        ContractCase(open: "devices are returned oldest first, and by ID if they are equally old") {
            storage async throws in
            let key = Samples.key("secret")
            let registrations = [
                Samples.registration("cc", at: Samples.time + 2),
                Samples.registration("aa", at: Samples.time),
                Samples.registration("dd", at: Samples.time + 1),
                Samples.registration("bb", at: Samples.time + 1),
                Samples.registration("ee", at: Samples.time + 1),
            ]
            for registration in registrations { try await storage.register(registration, key) }
            let expected = registrations.sorted { ($0.at, $0.newID.text) < ($1.at, $1.newID.text) }
            #expect(try await storage.tokens(of: key) == expected.map(\.token))
            // Updating the oldest device later doesn't move it.
            try await storage.register(Samples.registration("aa", at: Samples.time + 9), key)
            #expect(try await storage.tokens(of: key) == expected.map(\.token))
        },

        ContractCase(open: "unregistering removes only that device and returns whether it existed") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            try await storage.register(Samples.registration("bb"), key)
            #expect(try await storage.unregister(token: "aa", under: key))
            #expect(try await storage.tokens(of: key) == ["bb"])
            #expect(try await !storage.unregister(token: "aa", under: key))
            #expect(try await !storage.unregister(token: "BB", under: key))
            #expect(try await storage.tokens(of: key) == ["bb"])
        },

        ContractCase(open: "a token under two secrets is two independent devices") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            try await storage.register(Samples.registration("aa", environment: .sandbox), mine)
            try await storage.register(Samples.registration("aa", environment: .production), yours)
            try await storage.register(Samples.registration("aa", bundleID: "changed"), mine)
            #expect(try await storage.devices(of: yours).map(\.bundleID) == ["com.example.app"])
            let device = try #require(try await storage.devices(of: mine).first)
            #expect(try await storage.remove(device, ifNotUpdatedAfter: .max))
            #expect(try await storage.tokens(of: yours) == ["aa"])
            #expect(try await !storage.unregister(token: "aa", under: mine))
            #expect(try await storage.tokens(of: yours) == ["aa"])
        },

        ContractCase(open: "a call sees the changes of every call that returned before it") {
            storage async throws in
            let key = Samples.key("secret")
            for index in 0..<200 {
                try await storage.register(Samples.registration("token \(index)"), key)
                async let others = storage.tokens(of: key)
                #expect(try await storage.tokens(of: key).count == index + 1)
                #expect(try await others.count == index + 1)
            }
        },
    ]

    static let keys: [ContractCase] = [
        ContractCase(open: "tokens that differ in case, spaces, Unicode form or emptiness are different") {
            storage async throws in
            let key = Samples.key("secret")
            for token in Samples.confusable {
                #expect(try await storage.register(Samples.registration(token), key) == .created)
            }
            let tokens = try await storage.tokens(of: key)
            // Compared as bytes: Swift considers canonically equivalent strings equal.
            #expect(Set(tokens.map { Array($0.utf8) }) == Set(Samples.confusable.map { Array($0.utf8) }))
            for token in Samples.confusable {
                #expect(try await storage.register(Samples.registration(token), key) == .updated)
            }
            for token in Samples.confusable {
                #expect(try await storage.unregister(token: token, under: key))
            }
            #expect(try await storage.devices(of: key) == [])
        },

        ContractCase(open: "secrets that differ in case, spaces or Unicode form are different") {
            storage async throws in
            for secret in Samples.confusable {
                try await storage.register(Samples.registration(secret), Samples.key(secret))
            }
            for secret in Samples.confusable {
                #expect(try await storage.tokens(of: Samples.key(secret)) == [secret])
            }
        },

        ContractCase(open: "every text of a device is stored byte for byte") { storage async throws in
            let key = Samples.key("secret")
            for text in Samples.confusable {
                try await storage.register(Samples.registration("token", bundleID: text), key)
                let kept = try await storage.devices(of: key).map { Array($0.bundleID.utf8) }
                #expect(kept == [Array(text.utf8)])
            }
        },

        ContractCase(open: "texts of the maximum length are stored") { storage async throws in
            let key = Samples.key("secret")
            let token = String(repeating: "a", count: StorageLimits.tokenBytes)
            let bundleID = String(repeating: "b", count: StorageLimits.bundleIDBytes)
            try await storage.register(Samples.registration(token, bundleID: bundleID), key)
            let devices = try await storage.devices(of: key)
            #expect(devices.map(\.token) == [token])
            #expect(devices.map(\.bundleID) == [bundleID])
        },

        ContractCase(open: "texts of the maximum length are stored, in characters of one byte and of four") {
            storage async throws in
            for character in ["a", "🦊"] {
                func text(_ bytes: Int) -> String {
                    String(repeating: character, count: bytes / character.utf8.count)
                }
                let key = Samples.key("secret \(character)")
                let details = DeviceDetails(
                    deviceName: text(StorageLimits.deviceDetailBytes),
                    preferences: text(StorageLimits.preferencesBytes))
                let registration = Samples.registration(
                    text(StorageLimits.tokenBytes), bundleID: text(StorageLimits.bundleIDBytes),
                    details: details)
                try await storage.register(registration, key)
                let device = try #require(try await storage.devices(of: key).first)
                #expect(device.token == registration.token && device.bundleID == registration.bundleID)
                #expect(device.details == details)
                let row = Samples.delivery(
                    key, sessionID: text(StorageLimits.sessionIDBytes), status: .failed,
                    error: text(StorageLimits.errorBytes))
                try await storage.append([row])
                #expect(try await storage.deliveries(of: key, before: nil, limit: 1) == [row])
                let eventID = text(StorageLimits.eventIDBytes)
                #expect(try await storage.claim(Samples.claim(eventID, under: key)) == .claimed)
                #expect(try await storage.claim(Samples.claim(eventID, under: key)) == .inProgress)
            }
        },

        ContractCase(open: "a device with a NUL or an over-long text is refused and not stored") {
            storage async throws in
            let key = Samples.key("secret")
            let long = String(repeating: "a", count: StorageLimits.tokenBytes + 1)
            for token in ["\0", "aa\0bb", "aa\0", long] {
                await #expect(throws: StorageError.invalidValue(field: "deviceToken")) {
                    try await storage.register(Samples.registration(token), key)
                }
            }
            let longBundle = String(repeating: "b", count: StorageLimits.bundleIDBytes + 1)
            for bundleID in ["com\0example", longBundle] {
                await #expect(throws: StorageError.invalidValue(field: "bundleId")) {
                    try await storage.register(Samples.registration("aa", bundleID: bundleID), key)
                }
            }
            let stored = try await storage.devices(of: key)
            #expect(stored == [])
        },
    ]
}

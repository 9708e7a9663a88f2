import Storage
import Testing

extension ContractCase {
    static let limits: [ContractCase] = [
        ContractCase(open: "a full secret refuses new devices, and only those") { storage async throws in
            let key = Samples.key("secret")
            for token in ["aa", "bb"] {
                let result = try await storage.register(
                    Samples.registration(token), under: key, deviceLimit: 2)
                #expect(result == .created)
            }
            let refused = try await storage.register(Samples.registration("cc"), under: key, deviceLimit: 2)
            #expect(refused == .limitReached)
            #expect(try await storage.tokens(of: key).sorted() == ["aa", "bb"])
            // An update isn't a new device, even under a limit that has been lowered since.
            let again = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 1)
            #expect(again == .updated)
            let other = try await storage.register(
                Samples.registration("cc"), under: Samples.key("other"), deviceLimit: 2)
            #expect(other == .created)
            #expect(try await storage.unregister(token: "bb", under: key))
            let fits = try await storage.register(Samples.registration("cc"), under: key, deviceLimit: 2)
            #expect(fits == .created)
        },

        ContractCase("concurrent registrations can't exceed the limit") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let results = try await concurrently(100) { index in
                    try await storages[index % storages.count].register(
                        Samples.registration("token \(index)"), under: key, deviceLimit: 10)
                }
                #expect(results.count { $0 == .created } == 10)
                #expect(results.count { $0 == .limitReached } == 90)
                #expect(try await storages[0].devices(of: key).count == 10)
            }
        },

        ContractCase("concurrent registrations of a device create one row") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let results = try await concurrently(60) { index in
                    try await storages[index % storages.count].register(
                        Samples.registration("aa", at: Samples.time + Int64(index)), key)
                }
                #expect(results.count { $0 == .created } == 1)
                #expect(results.count { $0 == .updated } == 59)
                let devices = try await storages[0].devices(of: key)
                #expect(devices.count == 1)
                // Each registration moved the time, by one if it came out of order.
                #expect(Samples.time + 59...Samples.time + 118 ~= devices.first?.updatedAt ?? 0)
            }
        },

        ContractCase(
            open: "an outcome for a registration never removes a later registration"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let read = try #require(try await storage.devices(of: key).first)
            // Registered by a relay whose clock is behind, and in the same millisecond.
            for time in [Samples.time - 60_000, Samples.time] {
                try await storage.register(Samples.registration("aa", at: time), key)
                #expect(try await !storage.remove(read, ifNotUpdatedAfter: read.updatedAt))
                #expect(try await !storage.setEnvironment(.sandbox, of: read))
            }
            #expect(try await storage.devices(of: key).map(\.id) == [read.id])
        },

        ContractCase("concurrent registrations and removals are never seen half done") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let seen = try await concurrently(90) { index in
                    let storage = storages[index % storages.count]
                    switch index % 3 {
                    case 0: try await storage.register(Samples.registration("aa"), key)
                    case 1: _ = try await storage.unregister(token: "aa", under: key)
                    default: break
                    }
                    return try await storage.devices(of: key)
                }
                for devices in seen {
                    #expect(devices.count <= 1)
                    #expect(devices.allSatisfy { $0.token == "aa" && $0.bundleID == "com.example.app" })
                }
            }
        },
    ]

    static let guards: [ContractCase] = [
        ContractCase(open: "a device is removed if APNs' report is later than its registration") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            try await storage.register(Samples.registration("bb"), key)
            let device = try #require(try await storage.devices(of: key).first { $0.token == "aa" })
            #expect(try await storage.remove(device, ifNotUpdatedAfter: device.updatedAt))
            #expect(try await storage.tokens(of: key) == ["bb"])
            #expect(try await !storage.remove(device, ifNotUpdatedAfter: .max))
        },

        ContractCase(open: "a report of APNs that is older than the registration removes nothing") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let device = try #require(try await storage.devices(of: key).first)
            #expect(try await !storage.remove(device, ifNotUpdatedAfter: device.updatedAt - 1))
            // The row's current state counts, not the state when it was read.
            try await storage.register(Samples.registration("aa", at: Samples.time + 100), key)
            #expect(try await !storage.remove(device, ifNotUpdatedAfter: Samples.time + 99))
            #expect(try await storage.tokens(of: key) == ["aa"])
        },

        ContractCase(open: "a device that was removed and registered again is a new one") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let device = try #require(try await storage.devices(of: key).first)
            #expect(try await storage.unregister(token: "aa", under: key))
            try await storage.register(Samples.registration("aa"), key)
            #expect(try await !storage.remove(device, ifNotUpdatedAfter: .max))
            #expect(try await !storage.setEnvironment(.sandbox, of: device))
            #expect(try await storage.devices(of: key).map(\.environment) == [.production])
        },

        ContractCase(open: "the environment that APNs accepted is stored, and the time stays") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            try await storage.register(Samples.registration("bb"), key)
            let device = try #require(try await storage.devices(of: key).first { $0.token == "aa" })
            #expect(try await storage.setEnvironment(.sandbox, of: device))
            let devices = try await storage.devices(of: key)
            #expect(devices.first { $0.token == "aa" }?.environment == .sandbox)
            #expect(devices.first { $0.token == "bb" }?.environment == .production)
            #expect(devices.map(\.updatedAt) == [Samples.time, Samples.time])
        },

        ContractCase(open: "a registration made after the device was read keeps its environment") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa", environment: .production), key)
            let device = try #require(try await storage.devices(of: key).first)
            try await storage.register(Samples.registration("aa", at: Samples.time + 1), key)
            #expect(try await !storage.setEnvironment(.sandbox, of: device))
            #expect(try await storage.devices(of: key).map(\.environment) == [.production])
            #expect(try await storage.unregister(token: "aa", under: key))
            #expect(try await !storage.setEnvironment(.sandbox, of: device))
        },
    ]
}

/// Opens up to two writing storages of one database, as many as the driver allows, and closes them.
func withWriters(
    of database: any ContractDatabase, _ body: @Sendable ([any Storage]) async throws -> Void
) async throws {
    var storages = [try await database.open()]
    if database.allowsSeveralWriters { storages.append(try await database.open()) }
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(storages))
    } catch {
        outcome = .failure(error)
    }
    for storage in storages { await storage.close() }
    try outcome.get()
}

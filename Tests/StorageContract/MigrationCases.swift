import Storage
import Testing

/// Rows as OpenCode's relay would have left them: UUIDv4 ids, the plain SHA-256 of the secret.
private enum OpenCode {
    static let secret = Secret("Kx0aBcDeFgHiJkLmNoPqRsTu")
    static let hash = SecretHasher().key(of: secret).primary

    static let devices = [
        Device(
            id: "9b2f6a54-0c1e-4c39-8f5e-1d2a3b4c5d6e", secretHash: hash, token: "aabbcc",
            bundleID: "com.anomalyco.mobilevoice", environment: .production, createdAt: 1_775_000_000_001,
            updatedAt: 1_775_000_000_999),
        Device(
            id: "0f8e7d6c-5b4a-4321-9abc-def012345678", secretHash: hash, token: "ddeeff",
            bundleID: "com.anomalyco.mobilevoice", environment: .sandbox, createdAt: 1_775_000_000_002,
            updatedAt: 1_775_000_000_002),
    ]
    static let deliveries = [
        Delivery(
            id: "11111111-2222-4333-8444-555555555555", secretHash: hash, eventType: "permission",
            sessionID: "ses_1", status: .failed, error: "{\"reason\":\"BadDeviceToken\"}",
            createdAt: 1_775_000_000_003)
    ]
}

/// Takes the steps after version 5 back.
private let backToVersion5 = [
    "ALTER TABLE device_registration DROP COLUMN sealed_versions",
    "ALTER TABLE device_registration DROP COLUMN installation_id",
    "DROP TABLE history_item",
    "DROP TABLE agent_use",
    "DROP TABLE schedule",
    "DROP TABLE event_reply",
    "DROP TABLE push_token",
    "DELETE FROM relay_schema WHERE version > 5",
]

extension ContractCase {
    static let migrations: [ContractCase] = [
        ContractCase("a database of version 5 keeps its rows, and its devices can become installations") {
            database async throws in
            let key = Samples.key("secret")
            let first = try await database.open()
            let details = DeviceDetails(deviceName: "Ada's phone", preferences: "{}")
            try await first.register(Samples.registration("aa", details: details), key)
            try await first.register(Samples.registration("bb", at: Samples.time + 1), key)
            let devices = try await first.devices(of: key)
            let push = Samples.pending(devices[0])
            _ = try await first.enqueue([push], lease: nil, limitPerSecret: 9)
            let row = Samples.delivery(key, to: devices[0].id)
            try await first.append([row])
            await first.close()
            try await database.run(database.dropBuckets + backToVersion5)

            await #expect(throws: StorageError.self) { _ = try await database.openReadOnly() }
            let second = try await database.open()
            #expect(try await second.schemaVersion() == SchemaStep.current)
            #expect(try await second.devices(of: key) == devices)
            #expect(try await second.deliveries(of: key, before: nil, limit: 9) == [row])
            for (token, time) in [("aa", 2), ("cc", 3)] as [(String, Int64)] {
                let registration = Samples.registration(
                    token, at: Samples.time + time,
                    details: DeviceDetails(sealedVersions: "1", installationID: "one"))
                #expect(try await second.register(registration, key) == .updated)
            }
            let claimed = try await second.claimed(at: Samples.time)
            #expect(claimed.map(\.push.id) == [push.id])
            let device = try #require(claimed.first?.device)
            #expect(device.id == devices[0].id && device.token == "cc")
            #expect(device.details.deviceName == "Ada's phone" && device.details.installationID == "one")
            #expect(try await second.tokens(of: key) == ["cc", "bb"])
            await second.close()
        },

        ContractCase("pushes queued in a database of version 11 are sent in order") {
            database async throws in
            var storage = try await database.open()
            let device = try await storage.registered("aa", Samples.key("secret"))
            let pushes = (0..<20).map { Samples.pending(device, dueAt: Samples.time - Int64($0)) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 99)
            await storage.close()
            try await database.run(
                database.dropBuckets + ["DELETE FROM relay_schema WHERE version > 11"])
            storage = try await database.open()
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.push) == pushes.reversed())
            await storage.close()
        },

        ContractCase("an empty database gets the whole schema, once") { database async throws in
            let first = try await database.open()
            #expect(try await first.schemaVersion() == SchemaStep.current)
            await first.close()
            let second = try await database.open()
            #expect(try await second.schemaVersion() == SchemaStep.current)
            await second.close()
            #expect(try await database.count(of: "relay_schema") == SchemaStep.allCases.count)
        },

        ContractCase("OpenCode's tables are adopted: rows stay and are found with the old secret") {
            database async throws in
            try await database.makeOpenCodeTables(devices: OpenCode.devices, deliveries: OpenCode.deliveries)
            let storage = try await database.open()
            let key = SecretHasher().key(of: OpenCode.secret)
            #expect(try await storage.devices(of: key) == OpenCode.devices)
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9) == OpenCode.deliveries)
            // They are the relay's own rows from now on.
            let again = Samples.registration("aabbcc", environment: .sandbox)
            #expect(try await storage.register(again, key) == .updated)
            #expect(try await storage.register(Samples.registration("AABBCC"), key) == .created)
            let devices = try await storage.devices(of: key)
            #expect(devices.map(\.id).prefix(2) == OpenCode.devices.map(\.id)[...])
            #expect(devices.map(\.updatedAt).first == Samples.time)
            #expect(try await storage.remove(devices[1], ifNotUpdatedAfter: .max))
            try await storage.append([Samples.delivery(key)])
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
            await storage.close()
        },

        ContractCase("adopted rows are found and moved when a pepper is set") { database async throws in
            try await database.makeOpenCodeTables(devices: OpenCode.devices, deliveries: OpenCode.deliveries)
            let storage = try await database.open()
            let pepper = Secret([UInt8](repeating: 9, count: SecretHasher.pepperBytesMin))
            let key = try #require(SecretHasher(pepper: pepper)).key(of: OpenCode.secret)
            #expect(try await storage.devices(of: key) == OpenCode.devices)
            #expect(try await storage.register(Samples.registration("aabbcc"), key) == .updated)
            #expect(try await storage.tokens(of: SecretKey(primary: key.primary)) == ["aabbcc", "ddeeff"])
            #expect(try await storage.devices(of: SecretKey(primary: OpenCode.hash)) == [])
            await storage.close()
        },

        ContractCase("a schema newer than the program is refused and stays unchanged") {
            database async throws in
            let key = Samples.key("secret")
            let storage = try await database.open()
            try await storage.register(Samples.registration("aa"), key)
            await storage.close()
            try await database.setSchemaVersion(SchemaStep.current + 1)
            let expected = StorageError.schemaTooNew(found: SchemaStep.current + 1, known: SchemaStep.current)
            await #expect(throws: expected) { _ = try await database.open() }
            await #expect(throws: expected) { _ = try await database.openReadOnly() }
            #expect(try await database.count(of: "device_registration") == 1)
        },

        ContractCase("a database without histories, agents and schedules gets them, and keeps its rows") {
            database async throws in
            let key = Samples.key("secret")
            var storage = try await database.open()
            let device = try await storage.registered("aa", key)
            try await storage.append([Samples.delivery(key)])
            _ = try await storage.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9)
            let claim = Samples.claim("event", under: key)
            #expect(try await storage.claim(claim) == .claimed)
            #expect(try await storage.complete(claim, answer: [1]))
            #expect(try await storage.block(Samples.blocked(key), limit: 9) == .blocked)
            await storage.close()
            try await database.run(
                database.dropBuckets + [
                    "DROP TABLE history_item",
                    "DROP TABLE agent_use",
                    "DROP TABLE schedule",
                    "DROP TABLE event_reply",
                    "DROP TABLE push_token",
                    "DELETE FROM relay_schema WHERE version >= \(SchemaStep.history.rawValue)",
                ])
            let old = StorageError.schemaTooOld(
                found: SchemaStep.history.rawValue - 1, needed: SchemaStep.current)
            await #expect(throws: old) { _ = try await database.openReadOnly() }

            storage = try await database.open()
            #expect(try await storage.schemaVersion() == SchemaStep.current)
            #expect(try await storage.devices(of: key) == [device])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9).count == 1)
            #expect(try await storage.countPushes(limit: 9) == 1)
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered([1]))
            #expect(try await storage.blockedSecrets(limit: 9) == [Samples.blocked(key)])
            #expect(try await storage.add([Samples.item(key)], counting: [key]).unread == [key: 1])
            let use = AgentUse(usedAt: Samples.time, client: "agent")
            try await storage.note([(use, key)])
            #expect(try await storage.agentUse(of: key) == use)
            #expect(try await storage.create(Samples.schedule(key), under: key, limit: 9) == .created)
            let event = EventName("event", of: key)
            let reply = EventReply(action: "once")
            let acknowledgement = Acknowledgement(
                at: Samples.time + 1, reply: reply, repliedAt: Samples.time + 1)
            #expect(
                try await storage.acknowledge(event, reply: reply, at: Samples.time + 1)
                    == .stored(acknowledgement))
            await storage.close()
        },

        ContractCase("four processes can migrate a database at once") { database async throws in
            try await database.makeOpenCodeTables(devices: OpenCode.devices, deliveries: OpenCode.deliveries)
            let results = try await concurrently(4) { _ -> Bool in
                do throws(StorageError) {
                    let storage = try await database.open()
                    let isCurrent = try await storage.schemaVersion() == SchemaStep.current
                    await storage.close()
                    return isCurrent
                } catch {
                    guard case .inUse = error, !database.allowsSeveralWriters else { throw error }
                    return false
                }
            }
            let opened = results.count { $0 }
            #expect(database.allowsSeveralWriters ? opened == 4 : opened >= 1)
            #expect(try await database.count(of: "relay_schema") == SchemaStep.allCases.count)
            #expect(try await database.count(of: "device_registration") == OpenCode.devices.count)
        },
    ]
}

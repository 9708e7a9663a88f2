import Storage
import Testing

/// Rows as OpenCode's relay would have left them: UUIDv4 IDs, the plain SHA-256 of the secret.
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

extension ContractCase {
    static let migrations: [ContractCase] = [
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

        ContractCase("a database that an unreleased build made is refused and stays unchanged") {
            database async throws in
            let key = Samples.key("secret")
            let storage = try await database.open()
            try await storage.register(Samples.registration("aa"), key)
            await storage.close()
            // The state in which such a build left it, after its first step and after all steps.
            try await database.run([
                """
                UPDATE relay_schema SET summary = 'device_registration and delivery_log: make, or adopt existing ones'
                WHERE version = 1
                """
            ])
            for version in [1, 15] {
                if version > 1 { try await database.setSchemaVersion(version) }
                await #expect(throws: StorageError.unreleased) { _ = try await database.open() }
                await #expect(throws: StorageError.unreleased) { _ = try await database.openReadOnly() }
            }
            #expect(StorageError.unreleased.logDetail.contains("start with an empty database"))
            #expect(try await database.count(of: "device_registration") == 1)
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

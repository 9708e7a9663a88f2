import Glibc
import Storage
import StorageContract
import Testing

@testable import StorageSQLite

/// Runs a body with a directory for a database and removes the directory.
func withDatabase(_ body: (SQLiteDatabase) async throws -> Void) async throws {
    let database = try SQLiteDatabase()
    do {
        try await body(database)
    } catch {
        await database.destroy()
        throw error
    }
    await database.destroy()
}

@Suite("SQLite files", .timeLimit(.minutes(2)))
struct SQLiteFileTests {
    @Test("a new file is marked, in write-ahead mode and for its owner alone")
    func newFile() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            #expect(storage.appliedSteps == SchemaStep.allCases)
            let connection = try database.raw()
            #expect(try connection.integer("PRAGMA application_id") == 0x4150_4E52)
            #expect(try connection.texts("PRAGMA journal_mode") == ["wal"])
            await storage.close()
            var information = stat()
            #expect(stat(database.path, &information) == 0)
            #expect(information.st_mode & 0o777 == 0o600)
            let again = try await database.open(SQLiteDatabase.impatient)
            #expect(again.appliedSteps == [])
            await again.close()
        }
    }

    @Test("the claims and leases of a process that died end when the next one opens its file")
    func leasesEnd() async throws {
        try await withDatabase { database in
            var generator = SystemRandomNumberGenerator()
            let key = SecretHasher().key(of: Secret("secret"))
            for isFirst in [true, false] {
                let claim = EventClaim(
                    id: UUIDv7(at: 0, using: &generator), key: key, eventID: "event",
                    content: Digest256(of: []), at: 0, leaseUntil: 100_000)
                let storage = try await database.open(SQLiteDatabase.impatient)
                #expect(try await storage.claim(claim) == .claimed)
                if isFirst {
                    let registration = Samples.registration("aa")
                    #expect(try await storage.register(registration, under: key, deviceLimit: 1) == .created)
                    let device = try #require(try await storage.devices(of: key).first)
                    let push = Samples.pending(device)
                    _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 1)
                }
                let lease = Samples.lease()
                let claimed = try await storage.claimPushes(
                    dueAt: Samples.time, lease: lease, limit: 1, scope: .everySecret)
                #expect(claimed.count == 1)
                await storage.close()
            }
        }
    }

    @Test("closing leaves no log behind, so the one file is the whole database")
    func closedFile() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            _ = try await storage.register(
                Samples.registration("aa"), under: Samples.key("secret"), deviceLimit: 5)
            await storage.close()
            #expect(access(database.path + "-wal", F_OK) != 0)
            #expect(access(database.path + "-shm", F_OK) != 0)
        }
    }

    @Test(
        "another program's database is refused and not changed by a byte",
        arguments: [
            ["PRAGMA application_id = 252006673"],
            ["CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"],
            ["CREATE TABLE device_registration (id TEXT)", "CREATE TABLE delivery_log (id TEXT)"],
            [OpenCodeTables.statements[0], "CREATE TABLE delivery_log (id TEXT)"],
            [OpenCodeTables.statements[0]],
            OpenCodeTables.statements + ["CREATE TABLE users (id TEXT)"],
            OpenCodeTables.statements + ["ALTER TABLE delivery_log ADD COLUMN extra TEXT"],
            OpenCodeTables.statements + ["CREATE VIEW v AS SELECT 1"],
        ])
    func foreignDatabase(statements: [String]) async throws {
        try await withDatabase { database in
            do {
                let connection = try database.raw()
                for statement in statements { try connection.execute(statement) }
            }
            let before = try contents(of: database.path)
            for open in [database.open, database.openReadOnly] {
                let error = await #expect(throws: StorageError.self) { _ = try await open() }
                guard case .foreignDatabase = error else {
                    Issue.record("got \(String(describing: error))")
                    continue
                }
            }
            #expect(try contents(of: database.path) == before)
        }
    }

    @Test("a file that is no database is refused and not changed")
    func noDatabase() async throws {
        try await withDatabase { database in
            let text = "# not a database\n" + String(repeating: "x", count: 5_000)
            try write(text, to: database.path)
            let error = await #expect(throws: StorageError.self) { _ = try await database.open() }
            guard case .foreignDatabase = error else {
                Issue.record("got \(String(describing: error))")
                return
            }
            #expect(try contents(of: database.path) == Array(text.utf8))
        }
    }

    @Test("tables that compare tokens without case are not adopted")
    func caseInsensitiveTables() async throws {
        try await withDatabase { database in
            do {
                let connection = try database.raw()
                for statement in OpenCodeTables.statements {
                    let changed = statement.split(separator: "device_token varchar(255) NOT NULL")
                    try connection.execute(
                        changed.joined(separator: "device_token varchar(255) NOT NULL COLLATE NOCASE"))
                }
            }
            let error = await #expect(throws: StorageError.self) { _ = try await database.open() }
            guard case .foreignDatabase = error else {
                Issue.record("got \(String(describing: error))")
                return
            }
            // The transaction that would have adopted the tables was rolled back.
            #expect(try database.raw().integer("PRAGMA application_id") == 0)
            #expect(
                try database.raw().texts("SELECT name FROM sqlite_schema WHERE name = 'relay_schema'") == [])
        }
    }

    @Test("a directory that isn't there is unavailable, and the caller isn't told its path")
    func missingDirectory() async throws {
        let location = SQLiteLocation(path: "/nonexistent-directory/relay.db")
        let error = await #expect(throws: StorageError.self) { _ = try await SQLiteStorage.open(location) }
        guard case .unavailable(let detail) = error else {
            Issue.record("got \(String(describing: error))")
            return
        }
        #expect(detail.contains("/nonexistent-directory/relay.db"))
        #expect(error?.description.contains("nonexistent") == false)
    }

    @Test("a strange row of another program is read for itself, and its secret's others beside it")
    func strangeRow() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            let key = Samples.key("secret")
            for token in ["aa", "bb", "cc"] {
                _ = try await storage.register(Samples.registration(token), under: key, deviceLimit: 5)
            }
            let raw = try database.raw()
            try raw.execute("UPDATE device_registration SET apns_env = 'moon' WHERE device_token = 'aa'")
            try raw.execute(
                "UPDATE device_registration SET device_token = CAST(x'ff00aa' AS TEXT) WHERE device_token = 'bb'"
            )
            let devices = try await storage.devices(of: key)
            #expect(Set(devices.map(\.token)) == ["aa", "\u{FFFD}\0\u{FFFD}", "cc"])
            #expect(devices.first { $0.token == "aa" }?.environment == .production)
            // The next registration fixes it.
            _ = try await storage.register(
                Samples.registration("aa", environment: .sandbox), under: key, deviceLimit: 5)
            #expect(try await storage.devices(of: key).first { $0.token == "aa" }?.environment == .sandbox)
            await storage.close()
        }
    }

    @Test("a device that nobody can read keeps no other's pushes waiting, and its own come without one")
    func unreadableDevice() async throws {
        try await withDatabase { database in
            let key = Samples.key("secret")
            let storage = try await database.open(SQLiteDatabase.impatient)
            for token in ["aa", "bb"] {
                _ = try await storage.register(Samples.registration(token), under: key, deviceLimit: 5)
            }
            let pushes = try await storage.devices(of: key).map { Samples.pending($0) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 5)
            try database.raw().execute(
                "UPDATE device_registration SET device_name = CAST(x'ff' AS TEXT) WHERE device_token = 'aa'")
            let claimed = try await storage.claimPushes(
                dueAt: Samples.time, lease: Samples.lease(), limit: 5, scope: .everySecret)
            #expect(claimed.count == 2)
            #expect(claimed.compactMap(\.device?.token) == ["bb"])
            await storage.close()
        }
    }

    @Test("pending steps are told without touching the file")
    func pendingSteps() async throws {
        try await withDatabase { database in
            #expect(
                try await SQLiteStorage.pendingSteps(at: database.location).map(\.step) == SchemaStep.allCases
            )
            #expect(access(database.path, F_OK) != 0)
            try await database.makeOpenCodeTables(devices: [], deliveries: [])
            let before = try contents(of: database.path)
            #expect(
                try await SQLiteStorage.pendingSteps(at: database.location).map(\.step) == SchemaStep.allCases
            )
            #expect(try contents(of: database.path) == before)
            await (try await database.open()).close()
            #expect(try await SQLiteStorage.pendingSteps(at: database.location) == [])
        }
    }

    @Test("a relay that must not migrate refuses a schema that lacks steps")
    func withoutMigrating() async throws {
        try await withDatabase { database in
            var options = SQLiteDatabase.impatient
            options.access = .writeWithoutMigrating
            let expected = StorageError.schemaTooOld(found: 0, needed: SchemaStep.current)
            await #expect(throws: expected) { _ = try await database.open(options) }
            await (try await database.open()).close()
            await (try await database.open(options)).close()
        }
    }
}

private func contents(of path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw SetupError(what: path, code: errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
    return bytes
}

private func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw SetupError(what: path, code: errno) }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw SetupError(what: path, code: errno) }
}

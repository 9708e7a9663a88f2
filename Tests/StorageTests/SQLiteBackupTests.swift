import Glibc
import Storage
import StorageContract
import Testing

@testable import StorageSQLite

@Suite("SQLite backups", .timeLimit(.minutes(2)))
struct SQLiteBackupTests {
    private static let key = Samples.key("secret")

    /// Runs a body with an open database that has a device, and the path of a backup.
    private func withDevice(
        _ body: (SQLiteDatabase, any Storage, String) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            let storage = try await database.open()
            try await register("aa", in: storage)
            let backup = database.directory + "/backup.db"
            defer { for suffix in ["", ".part", "-wal", "-shm"] { unlink(backup + suffix) } }
            try await body(database, storage, backup)
        }
    }

    private func register(_ token: String, in storage: any Storage) async throws {
        _ = try await storage.register(Samples.registration(token), under: Self.key, deviceLimit: 1_000)
    }

    private func restore(
        _ backup: String, to database: SQLiteDatabase, replacing: Bool = true
    ) throws -> SQLiteBackup.Summary {
        let descriptor = open(backup, O_RDONLY)
        defer { close(descriptor) }
        return try SQLiteBackup.restore(from: descriptor, to: database.location, isReplacing: replacing)
    }

    private func tokens(in database: SQLiteDatabase) async throws -> [String] {
        let storage = try await database.open()
        let tokens = try await storage.devices(of: Self.key).map(\.token)
        await storage.close()
        return tokens
    }

    private func contents(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 22)
        let count = read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(count, 0)))
    }

    @Test("a backup beside a relay has everything written before it, and only its owner can read it")
    func beside() async throws {
        try await withDevice { database, storage, backup in
            let summary = try SQLiteBackup.make(of: database.location, at: backup)
            try await register("bb", in: storage)
            await storage.close()
            var information = stat()
            #expect(stat(backup, &information) == 0)
            #expect(information.st_mode & 0o777 == 0o600)
            #expect(
                summary
                    == SQLiteBackup.Summary(
                        version: SchemaStep.current, devices: 1, bytes: Int64(information.st_size)))
            #expect(access(backup + ".part", F_OK) != 0)
            #expect(try restore(backup, to: database) == summary)
            #expect(try await tokens(in: database) == ["aa"])
        }
    }

    @Test("a database that was killed with a full log doesn't keep it for the backup that replaces it")
    func killed() async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            try await register("bb", in: storage)
            // What a kill leaves: the file and its log.
            let left = ["", "-wal"].map { ($0, contents(of: database.path + $0)) }
            await storage.close()
            for (suffix, bytes) in left {
                #expect(!bytes.isEmpty)
                let descriptor = open(database.path + suffix, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR)
                #expect(write(descriptor, bytes, bytes.count) == bytes.count)
                close(descriptor)
            }
            _ = try restore(backup, to: database)
            #expect(access(database.path + "-wal", F_OK) != 0)
            #expect(try await tokens(in: database) == ["aa"])
        }
    }

    @Test("what exists is not overwritten, by a backup or, without being told, by its return")
    func existing() async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            #expect(throws: SQLiteBackup.Failure.exists(path: backup)) {
                try SQLiteBackup.make(of: database.location, at: backup)
            }
            await storage.close()
            #expect(throws: SQLiteBackup.Failure.exists(path: database.path)) {
                try restore(backup, to: database, replacing: false)
            }
            unlink(database.path)
            _ = try restore(backup, to: database, replacing: false)
            #expect(try await tokens(in: database) == ["aa"])
        }
    }

    @Test("a database that a relay uses is not replaced")
    func used() async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            #expect {
                try restore(backup, to: database)
            } throws: { error in
                guard case .writing(.inUse) = error as? SQLiteBackup.Failure else { return false }
                return true
            }
            #expect(try await storage.devices(of: Self.key).map(\.token) == ["aa"])
            await storage.close()
        }
    }

    @Test(
        "a file that isn't a whole backup changes nothing",
        arguments: ["empty", "cut", "damaged", "foreign", "newer", "text"])
    func unusable(_ fault: String) async throws {
        try await withDevice { database, storage, backup in
            for index in 0..<200 { try await register("t\(index)", in: storage) }
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            await storage.close()
            let before = contents(of: database.path)
            var bytes = contents(of: backup)
            switch fault {
            case "empty": bytes = []
            case "cut": bytes.removeLast(bytes.count / 2)
            case "damaged": for index in bytes.count / 2..<bytes.count / 2 + 4_096 { bytes[index] ^= 0x55 }
            case "text": bytes = Array("not a database".utf8)
            default: break
            }
            let descriptor = open(backup, O_WRONLY | O_TRUNC)
            #expect(write(descriptor, bytes, bytes.count) == bytes.count)
            close(descriptor)
            if fault == "foreign" || fault == "newer" {
                let connection = try SQLiteConnection(
                    path: backup, mode: .readWrite, busyTimeoutMilliseconds: 0)
                try connection.execute(
                    fault == "foreign"
                        ? "PRAGMA application_id = 7"
                        : "INSERT INTO relay_schema VALUES (\(SchemaStep.current + 1), 'future')")
            }
            #expect {
                try restore(backup, to: database)
            } throws: { error in
                guard case .reading = error as? SQLiteBackup.Failure else { return false }
                return true
            }
            #expect(contents(of: database.path) == before)
            #expect(access(database.path + ".part", F_OK) != 0)
            #expect(try await tokens(in: database).count == 201)
        }
    }

    @Test("a damaged database gives no backup, and can be replaced by one")
    func damaged() async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            await storage.close()
            let descriptor = open(database.path, O_WRONLY | O_TRUNC)
            let text = Array("not a database, but more bytes than a header has".utf8)
            #expect(write(descriptor, text, text.count) == text.count)
            close(descriptor)
            let other = database.directory + "/other.db"
            #expect {
                try SQLiteBackup.make(of: database.location, at: other)
            } throws: { error in
                guard case .reading = error as? SQLiteBackup.Failure else { return false }
                return true
            }
            #expect(access(other, F_OK) != 0)
            _ = try restore(backup, to: database)
            #expect(try await tokens(in: database) == ["aa"])
        }
    }

    @Test("a folder that does not exist, or a file in its place, is reported")
    func unwritable() async throws {
        try await withDevice { database, storage, _ in
            for path in [database.directory + "/missing/backup.db", "/dev/full/backup.db"] {
                #expect {
                    try SQLiteBackup.make(of: database.location, at: path)
                } throws: { error in
                    guard case .writing = error as? SQLiteBackup.Failure else { return false }
                    return true
                }
            }
            await storage.close()
        }
    }
}

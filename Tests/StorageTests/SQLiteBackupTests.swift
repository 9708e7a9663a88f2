import Foundation
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
            defer { for suffix in ["", "-wal", "-shm"] { unlink(backup + suffix) } }
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

    private func write(_ bytes: [UInt8], to path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR)
        #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
    }

    private func names(beside database: SQLiteDatabase) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: database.directory)) ?? []).sorted()
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
            #expect(try restore(backup, to: database) == summary)
            #expect(names(beside: database) == ["backup.db", "relay.db", "relay.db-writer"])
            #expect(try await tokens(in: database) == ["aa"])
        }
    }

    @Test("the log of a killed relay isn't taken for the backup's", arguments: [true, false])
    func killed(keepsFile: Bool) async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            try await register("bb", in: storage)
            // A kill leaves the file, which an operator may have moved away, and its write-ahead log.
            let left = (keepsFile ? ["", "-wal"] : ["-wal"]).map { ($0, contents(of: database.path + $0)) }
            await storage.close()
            unlink(database.path)
            for (suffix, bytes) in left {
                #expect(!bytes.isEmpty)
                write(bytes, to: database.path + suffix)
            }
            _ = try restore(backup, to: database, replacing: keepsFile)
            #expect(names(beside: database) == ["backup.db", "relay.db", "relay.db-writer"])
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
            write([], to: backup)
            _ = try SQLiteBackup.make(of: database.location, at: backup, isReplacing: true)
            #expect(try restore(backup, to: database).devices == 1)
        }
    }

    @Test("a link to a disk that isn't there is not replaced by a file")
    func danglingLink() async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            await storage.close()
            unlink(database.path)
            #expect(symlink("/nowhere/relay.db", database.path) == 0)
            #expect {
                try restore(backup, to: database)
            } throws: { error in
                guard case .writing = error as? SQLiteBackup.Failure else { return false }
                return true
            }
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
            write(bytes, to: backup)
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
            #expect(names(beside: database).allSatisfy { !$0.hasSuffix(".part") })
            #expect(try await tokens(in: database).count == 201)
        }
    }

    @Test(
        "a damaged database gives no backup, and can be replaced by one",
        arguments: ["text", "header", "page"])
    func damaged(_ fault: String) async throws {
        try await withDevice { database, storage, backup in
            _ = try SQLiteBackup.make(of: database.location, at: backup)
            for index in 0..<200 { try await register("t\(index)", in: storage) }
            await storage.close()
            var bytes = contents(of: database.path)
            switch fault {
            case "text": bytes = Array("not a database, but more bytes than a header has".utf8)
            case "header": for index in 16..<60 { bytes[index] ^= 0x55 }
            default: for index in bytes.count / 2..<bytes.count - 4_096 { bytes[index] ^= 0x55 }
            }
            write(bytes, to: database.path)
            let other = database.directory + "/other.db"
            #expect {
                try SQLiteBackup.make(of: database.location, at: other)
            } throws: { error in
                guard case .reading = error as? SQLiteBackup.Failure else { return false }
                return true
            }
            #expect(!names(beside: database).contains { $0.hasPrefix("other.db") })
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

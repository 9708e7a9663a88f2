import Foundation
import Glibc
import Storage
import StorageContract
import Testing

@testable import StorageSQLite

@Suite("A SQLite file as the target of a copy", .timeLimit(.minutes(2)))
struct SQLiteTransferTests {
    @Test("a file without rows is removed with what stands beside it")
    func empty() async throws {
        try await withDatabase { database in
            #expect(try !SQLiteTransfer.removeEmpty(database.location))
            #expect(FileManager.default.createFile(atPath: database.path, contents: nil))
            #expect(try SQLiteTransfer.removeEmpty(database.location))
            await (try await database.open()).close()
            #expect(try SQLiteTransfer.removeEmpty(database.location))
            #expect(try FileManager.default.contentsOfDirectory(atPath: database.directory).isEmpty)
        }
    }

    @Test("a file with rows, or one that a relay uses, is not removed")
    func inUse() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            let failure = #expect(throws: StorageError.self) {
                try SQLiteTransfer.removeEmpty(database.location)
            }
            guard case .inUse = failure else {
                Issue.record("got \(String(describing: failure))")
                return await storage.close()
            }
            try await storage.append([Samples.delivery(Samples.key("secret"))])
            await storage.close()
            #expect(try !SQLiteTransfer.removeEmpty(database.location))
            #expect(access(database.path, F_OK) == 0)
        }
    }

    @Test("a process that waited for a lock whose file was removed locks the file that is there")
    func removedLock() async throws {
        try await withDatabase { database in
            let path = WriterLock.path(forDatabase: database.path)
            let first = try await database.open(SQLiteDatabase.impatient)
            var patient = SQLiteOptions()
            patient.writerLockTimeoutMilliseconds = 30_000
            async let waiting = database.open(patient)
            while try Self.descriptors(of: path) < 2 { await Task.yield() }
            #expect(unlink(path) == 0)
            await first.close()
            let second = try await waiting
            let failure = await #expect(throws: StorageError.self) { _ = try await database.open() }
            guard case .inUse = failure else {
                Issue.record("got \(String(describing: failure))")
                return await second.close()
            }
            await second.close()
        }
    }

    /// How often this process has a file open.
    private static func descriptors(of path: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) == path
        }
    }
}

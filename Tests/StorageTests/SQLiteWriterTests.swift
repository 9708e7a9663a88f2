import ChildProcess
import Glibc
import Storage
import StorageContract
import Testing

@testable import StorageSQLite

@Suite("SQLite's one writer", .timeLimit(.minutes(2)))
struct SQLiteWriterTests {
    @Test("while a relay has the file, no other process gets the writer's lock, and then it does")
    func otherProcess() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            let lock = WriterLock.path(forDatabase: database.path)
            #expect(try exitStatus("/usr/bin/flock", "--nonblock", lock, "/bin/true") == 1)
            await storage.close()
            #expect(try exitStatus("/usr/bin/flock", "--nonblock", lock, "/bin/true") == 0)
        }
    }

    @Test("a second writer is told which process has the file")
    func holder() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            let error = await #expect(throws: StorageError.self) { _ = try await database.open() }
            guard case .inUse(let detail) = error else {
                Issue.record("got \(String(describing: error))")
                return await storage.close()
            }
            #expect(detail.contains("process \(getpid())"))
            #expect(error?.description.contains(database.directory) == false)
            await storage.close()
        }
    }

    @Test("another name for the file is the same file")
    func symbolicLink() async throws {
        try await withDatabase { database in
            let storage = try await database.open(SQLiteDatabase.impatient)
            let name = database.directory + "/other.db"
            #expect(symlink(database.path, name) == 0)
            let error = await #expect(throws: StorageError.self) {
                _ = try await SQLiteStorage.open(
                    SQLiteLocation(path: name), options: SQLiteDatabase.impatient)
            }
            guard case .inUse = error else {
                Issue.record("got \(String(describing: error))")
                return await storage.close()
            }
            await storage.close()
            unlink(name)
        }
    }

    @Test("a writer that is being replaced is waited for")
    func waitsForTheOther() async throws {
        try await withDatabase { database in
            let old = try await database.open(SQLiteDatabase.impatient)
            var patient = SQLiteOptions()
            patient.writerLockTimeoutMilliseconds = 30_000
            async let new = database.open(patient)
            await old.close()
            let storage = try await new
            try await storage.ping()
            await storage.close()
        }
    }

    @Test("an opening that fails leaves the file to others")
    func failedOpening() async throws {
        try await withDatabase { database in
            await (try await database.open()).close()
            try await database.setSchemaVersion(99)
            await #expect(throws: StorageError.self) { _ = try await database.open() }
            let lock = WriterLock.path(forDatabase: database.path)
            #expect(try exitStatus("/usr/bin/flock", "--nonblock", lock, "/bin/true") == 0)
        }
    }

    @Test("calls that wait together share a commit")
    func groupCommit() async throws {
        try await withDatabase { database in
            var options = SQLiteDatabase.impatient
            options.checkpointPages = .max
            options.busyTimeoutMilliseconds = 60_000
            let storage = try await database.open(options)
            let before = try commits(in: database.path + "-wal")
            // Nobody can commit while this connection holds the write lock, so the calls pile up.
            let blocker = try database.raw()
            try blocker.execute("BEGIN IMMEDIATE")
            let call: @Sendable (Int) -> Task<RegistrationResult, any Error> = { index in
                Task { @concurrent in
                    try await storage.register(
                        Samples.registration("token \(index)"), under: Samples.key("secret"),
                        deviceLimit: 1_000)
                }
            }
            // The first call is taken alone and waits for the lock; the others wait for it. One call is in progress.
            var calls = [call(0)]
            try await waitingChanges(1, storage)
            calls += (1..<300).map(call)
            try await waitingChanges(300, storage)
            try blocker.execute("COMMIT")
            for call in calls { #expect(try await call.value == .created) }
            #expect(try commits(in: database.path + "-wal") - before == 2)
            #expect(try await storage.devices(of: Samples.key("secret")).count == 300)
            await storage.close()
        }
    }

    @Test(
        "a call that finds no room doesn't fail the others in its transaction",
        .timeLimit(.minutes(1)))
    func fullTogether() async throws {
        try await withDatabase { database in
            var options = SQLiteDatabase.impatient
            options.databasePagesMax = 40
            options.busyTimeoutMilliseconds = 60_000
            let storage = try await database.open(options)
            let key = Samples.key("secret")
            let tokens = (0..<20).map { "token \($0)" }
            for token in tokens {
                _ = try await storage.register(Samples.registration(token), under: key, deviceLimit: 99)
            }
            var isFull = false
            while !isFull {
                do { try await storage.append([Self.delivery(key)]) } catch { isFull = true }
            }
            let kept = try await database.count(of: "delivery_log")
            let rows = tokens.map { _ in (0..<20).map { _ in Self.delivery(key) } }
            let blocker = try database.raw()
            try blocker.execute("BEGIN IMMEDIATE")
            let devices = try await storage.devices(of: key)
            let heal: @Sendable (Device) -> Task<Bool, any Error> = { device in
                Task { @concurrent in try await storage.setEnvironment(.sandbox, of: device) }
            }
            // The first call is taken alone and waits for the lock; the others wait for it.
            var small = [heal(devices[0])]
            try await waitingChanges(1, storage)
            var large: [Task<Void, any Error>] = []
            for (index, device) in devices.enumerated().dropFirst() {
                // Before and after a call that needs room.
                if index.isMultiple(of: 2) { small.append(heal(device)) }
                large.append(Task { @concurrent in try await storage.append(rows[index]) })
                if !index.isMultiple(of: 2) { small.append(heal(device)) }
                try await waitingChanges(1 + 2 * index, storage)
            }
            try blocker.execute("COMMIT")
            for call in small { #expect(try await call.value) }
            // Some may use the room that others left.
            var appended = 0
            for call in large { if case .success = await call.result { appended += 1 } }
            #expect(appended < large.count)
            #expect(try await database.count(of: "delivery_log") == kept + 20 * appended)
            #expect(try await storage.devices(of: key).allSatisfy { $0.environment == .sandbox })
            await storage.close()
        }
    }

    /// Waits until this many changes wait for the writer; the test's time limit ends the wait.
    private func waitingChanges(_ count: Int, _ storage: SQLiteStorage) async throws {
        while storage.waitingChanges != count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private static func delivery(_ key: SecretKey) -> Delivery {
        Delivery(
            id: Samples.id().text, secretHash: key.primary, eventType: "complete", sessionID: "ses_1",
            status: .failed, error: String(repeating: "e", count: 1_000), createdAt: Samples.time)
    }

    @Test("a write lock that another connection keeps makes changes time out, and look-ups go on")
    func busy() async throws {
        try await withDatabase { database in
            var options = SQLiteDatabase.impatient
            options.busyTimeoutMilliseconds = 10
            let storage = try await database.open(options)
            let blocker = try database.raw()
            try blocker.execute("BEGIN IMMEDIATE")
            let error = await #expect(throws: StorageError.self) {
                try await storage.register(
                    Samples.registration("aa"), under: Samples.key("secret"), deviceLimit: 9)
            }
            guard case .timeout = error else {
                Issue.record("got \(String(describing: error))")
                return await storage.close()
            }
            #expect(try await storage.devices(of: Samples.key("secret")) == [])
            try blocker.execute("COMMIT")
            let result = try await storage.register(
                Samples.registration("aa"), under: Samples.key("secret"), deviceLimit: 9)
            #expect(result == .created)
            await storage.close()
        }
    }

    @Test("the log is copied into the database as it grows, and used again")
    func checkpoints() async throws {
        try await withDatabase { database in
            var options = SQLiteDatabase.impatient
            options.checkpointPages = 20
            let storage = try await database.open(options)
            for index in 0..<200 {
                _ = try await storage.register(
                    Samples.registration("token \(index)"), under: Samples.key("secret"), deviceLimit: 1_000)
                _ = try await storage.devices(of: Samples.key("secret"))
            }
            var information = stat()
            #expect(stat(database.path + "-wal", &information) == 0)
            // 200 commits of at least two pages each would be 1,600 kB.
            #expect(information.st_size < 400_000)
            #expect(try await storage.devices(of: Samples.key("secret")).count == 200)
            await storage.close()
        }
    }

    /// The number of commits in a write-ahead log: frames with a database size in their header
    /// (SQLite, "WAL-mode File Format", section 1.2).
    private func commits(in log: String) throws -> Int {
        guard let file = fopen(log, "r") else { throw SetupError(what: log, code: errno) }
        defer { fclose(file) }
        var header = [UInt8](repeating: 0, count: 32)
        guard fread(&header, 1, 32, file) == 32 else { return 0 }
        let salt = header[16..<24]
        var frame = [UInt8](repeating: 0, count: 24 + 4_096)
        var commits = 0
        while fread(&frame, 1, frame.count, file) == frame.count, frame[8..<16] == salt {
            if frame[4..<8].contains(where: { $0 != 0 }) { commits += 1 }
        }
        return commits
    }

    private func exitStatus(_ arguments: String...) throws -> Int32 {
        try ChildProcess.run(arguments[0], Array(arguments.dropFirst())).status
    }
}

internal import Glibc
internal import Instruments
package import Storage

/// The `Storage` contract on a SQLite file, with one writing thread and a few reading threads.
///
/// Every call hops to a thread, together with other calls waiting for that thread, and then back to the caller's
/// executor. `Storage` documents the calls.
package final class SQLiteStorage: SQLStorage {
    /// The migration steps applied when the database was opened; empty if its schema was current.
    package let appliedSteps: [SchemaStep]
    package let claimRounds = Guarded(ClaimRounds())

    private let writer: SQLiteWriter?
    private let readers: [SQLiteReader]
    /// Empty in a process that only reads, because that process doesn't learn of changes.
    let cache: Guarded<DeviceCache>

    private init(
        writer: SQLiteWriter?, readers: [SQLiteReader], appliedSteps: [SchemaStep], options: SQLiteOptions
    ) {
        self.writer = writer
        self.readers = readers
        self.appliedSteps = appliedSteps
        cache = Guarded(
            DeviceCache(
                capacity: writer == nil ? 0 : options.cachedDevicesMax,
                lifetime: options.cachedDevicesLifetimeMilliseconds))
    }

    /// Opens a database; creates the file and brings its schema up to date as `options.access` allows.
    ///
    /// Throws `inUse` if another process is the file's writer, or `foreignDatabase`, `schemaTooNew`, `schemaTooOld`,
    /// `readOnly`, `unfinishedCopy` or another error; then nothing stays open.
    ///
    /// One process writes; others can read at the same time:
    ///
    /// ```swift
    /// let location = try SQLiteLocation(url: "sqlite:\(path)")
    /// let storage = try await SQLiteStorage.open(location)
    ///
    /// var options = SQLiteOptions()
    /// options.access = .readOnly
    /// let reader = try await SQLiteStorage.open(location, options: options)
    /// ```
    package static func open(
        _ location: SQLiteLocation, options: SQLiteOptions = SQLiteOptions()
    ) async throws(StorageError) -> SQLiteStorage {
        var writer: SQLiteWriter?
        var readers: [SQLiteReader] = []
        do throws(StorageError) {
            let path: String
            var steps: [SchemaStep] = []
            if options.access == .readOnly {
                path = try DatabaseFile.find(location.path)
            } else {
                path = try DatabaseFile.create(location.path)
                let opened = SQLiteWriter(options: options)
                writer = opened
                steps = try await opened.open(path)
            }
            for _ in 0..<max(options.readers, 1) {
                let reader = SQLiteReader(options: options)
                readers.append(reader)
                try await reader.open(path, options: options)
            }
            return SQLiteStorage(writer: writer, readers: readers, appliedSteps: steps, options: options)
        } catch {
            for reader in readers { await reader.close() }
            await writer?.close()
            throw error
        }
    }

    /// The steps that opening a database for writing would apply.
    ///
    /// Only reads the file, which need not exist.
    package static func pendingSteps(
        at location: SQLiteLocation
    ) async throws(StorageError) -> [PendingStep] {
        guard DatabaseFile.exists(location.path) else {
            return try SQLiteSchema.writer.pending(after: .empty)
        }
        let reader = SQLiteReader(options: SQLiteOptions())
        do throws(StorageError) {
            let steps = try await reader.pendingSteps(try DatabaseFile.find(location.path))
            await reader.close()
            return steps
        } catch {
            await reader.close()
            throw error
        }
    }

    /// The writer is closed last: only it may copy the write-ahead log into the database.
    package func close() async {
        cache.withLock { $0.end() }
        for reader in readers { await reader.close() }
        await writer?.close()
    }

    /// A monotonic clock with a resolution of a few milliseconds.
    private static var milliseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    package var load: StorageLoad {
        var load = StorageLoad()
        load.waitingCalls = waitingChanges
        if let writer { load.durations = writer.durations.withLock { $0 } }
        return load
    }

    /// The number of changes waiting for the writer.
    package var waitingChanges: Int { writer?.load ?? 0 }

    package func read<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await look(call) { session throws(StorageError) in
            try session.connection.withSession(body)
        }
    }

    package func write<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await change(call) { session throws(StorageError) in
            try session.connection.withSession(body)
        }
    }

    /// See `SQLStorage`; affected cache entries are dropped even after a failure, because it may have changed rows.
    package func writeDevices<Output: Sendable>(
        _ call: StaticString, of key: SecretKey,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await changeDevices(call, of: key) { session throws(StorageError) in
            try session.connection.withSession(body)
        }
    }

    private func changeDevices<Output: Sendable>(
        _ call: StaticString, of key: SecretKey,
        _ body: @escaping @Sendable (SQLiteWriter.Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        defer { cache.withLock { $0.forget(key) } }
        return try await change(call, body)
    }

    private func look<Output: Sendable>(
        _ call: StaticString,
        _ body: @escaping @Sendable (SQLiteReader.Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        // The first idle reader, so that a warm one is reused; if all are busy, the least busy one.
        var chosen = readers[0]
        var load = chosen.load
        for reader in readers.dropFirst() where load > 0 {
            let other = reader.load
            if other < load { (chosen, load) = (reader, other) }
        }
        return try await StorageCalls.observed(call) { () async throws(StorageError) in
            try await chosen.read(body)
        }
    }

    private func change<Output: Sendable>(
        _ call: StaticString,
        _ body: @escaping @Sendable (SQLiteWriter.Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        guard let writer else { throw .readOnly(logDetail: "opened for reading") }
        return try await StorageCalls.observed(call) { () async throws(StorageError) in
            try await writer.write(body)
        }
    }
}

// MARK: - Calls measured to be faster with SQLite's own implementation

extension SQLiteStorage {
    package func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        let (known, epoch) = cache.withLock { ($0.devices(of: key, at: Self.milliseconds), $0.epoch) }
        if let known { return known }
        let devices = try await look(#function) { session throws(StorageError) in
            try session.devices.devices(of: key)
        }
        cache.withLock { $0.keep(devices, of: key, since: epoch, at: Self.milliseconds) }
        return devices
    }

    package func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult {
        try registration.validate()
        return try await changeDevices(#function, of: key) { session throws(StorageError) in
            guard key.hasLegacy || registration.details.installationID != nil else {
                return try session.devices.register(registration, key.primary, limit: deviceLimit)
            }
            return try session.connection.withSession { session throws(SQLFailure) in
                try session.register(registration, key, limit: deviceLimit)
            }
        }
    }

    package func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError) {
        try deliveries.validate()
        try await change(#function) { session throws(StorageError) in
            guard isRepeated else { return try session.deliveries.append(deliveries) }
            try session.connection.withSession { session throws(SQLFailure) in
                try session.append(deliveries, isRepeated: true)
            }
        }
    }

    /// Chooses the pushes on a reader, so that a long queue doesn't delay changes.
    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        guard writer != nil else { throw .readOnly(logDetail: "opened for reading") }
        let rounds = claimRounds.withLock { $0 }
        let (chosen, after) = try await read { session throws(SQLFailure) in
            var rounds = rounds
            return (try session.choose(dueAt: now, limit: limit, scope, &rounds), rounds)
        }
        claimRounds.withLock { $0 = after }
        guard !chosen.isEmpty else { return [] }
        return try await write { session throws(SQLFailure) in
            try session.claim(chosen, dueAt: now, lease)
        }
    }
}

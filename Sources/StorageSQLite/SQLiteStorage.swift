internal import Glibc
package import Storage

/// The `Storage` contract over one SQLite file: one writing thread and a few reading ones.
///
/// Every call is a hop to a thread and back to the caller's executor, shared with whatever else waits there. What a call
/// means is written at `Storage`.
package final class SQLiteStorage: Storage {
    /// The schema's steps that opening it applied; empty when it was current.
    package let appliedSteps: [SchemaStep]

    private let writer: SQLiteWriter?
    private let readers: [SQLiteReader]
    /// Remembers nothing in a process that only reads: it doesn't see the changes.
    private let cache: Guarded<DeviceCache>

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

    /// Opens a database, making the file and bringing its schema up to date as `options.access` allows.
    ///
    /// Throws `inUse` when another process is its writer, `foreignDatabase`, `schemaTooNew`, `schemaTooOld`, `readOnly`,
    /// `unfinishedCopy`, or what kept it from being opened; then nothing stays open.
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

    /// The steps that opening a database for writing would apply; the file is only read, and need not be there.
    package static func pendingSteps(
        at location: SQLiteLocation
    ) async throws(StorageError) -> [PendingStep] {
        guard DatabaseFile.exists(location.path) else { return try SQLiteSchema.pending(after: .empty) }
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

    /// As `Storage` says.
    ///
    /// The writer is last: only it may copy the log into the database.
    package func close() async {
        cache.withLock { $0.end() }
        for reader in readers { await reader.close() }
        await writer?.close()
    }

    /// A clock that never goes back, to a few milliseconds.
    private static var milliseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// As `Storage` says.
    package var load: StorageLoad {
        var load = StorageLoad()
        load.waitingCalls = waitingChanges
        if let writer { load.durations = writer.durations.withLock { $0 } }
        return load
    }

    /// How many changes wait for the writer.
    package var waitingChanges: Int { writer?.load ?? 0 }

    private func read<Output: Sendable>(
        _ body: @escaping @Sendable (SQLiteReader.Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        // The first idle reader, so that one that is warm is used again; when all are busy, the least busy.
        var chosen = readers[0]
        var load = chosen.load
        for reader in readers.dropFirst() where load > 0 {
            let other = reader.load
            if other < load { (chosen, load) = (reader, other) }
        }
        return try await chosen.read(body)
    }

    private func write<Output: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriter.Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        guard let writer else { throw .readOnly(logDetail: "opened for reading") }
        return try await writer.write(body)
    }
}

// MARK: - Devices

extension SQLiteStorage {
    /// As `Storage` says.
    package func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult {
        try registration.validate()
        // Also after a failure, of which it may not be known what it changed.
        defer { cache.withLock { $0.forget(key) } }
        return try await write { session throws(StorageError) in
            try session.devices.register(registration, key, limit: deviceLimit)
        }
    }

    /// As `Storage` says.
    package func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        defer { cache.withLock { $0.forget(key) } }
        return try await write { session throws(StorageError) in
            try session.devices.unregister(token, key, at: now)
        }
    }

    /// As `Storage` says.
    package func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        let (known, epoch) = cache.withLock { ($0.devices(of: key, at: Self.milliseconds), $0.epoch) }
        if let known { return known }
        let devices = try await read { session throws(StorageError) in try session.devices.devices(of: key) }
        cache.withLock { $0.keep(devices, of: key, since: epoch, at: Self.milliseconds) }
        return devices
    }

    /// As `Storage` says.
    package func rehash(_ key: SecretKey) async throws(StorageError) -> Bool {
        guard key.hasLegacy else { return false }
        defer { cache.withLock { $0.forget(key) } }
        return try await write { session throws(StorageError) in try session.devices.rehash(key) }
    }

    /// As `Storage` says.
    package func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool {
        defer { cache.withLock { $0.forget(device.secretHash) } }
        return try await write { session throws(StorageError) in
            try session.devices.setEnvironment(environment, device)
        }
    }

    /// As `Storage` says.
    package func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        defer { cache.withLock { $0.forget(device.secretHash) } }
        return try await write { session throws(StorageError) in
            try session.devices.remove(device, notUpdatedAfter: time, at: now)
        }
    }
}

// MARK: - The delivery log

extension SQLiteStorage {
    /// As `Storage` says.
    package func append(_ deliveries: [Delivery]) async throws(StorageError) {
        try deliveries.validate()
        try await write { session throws(StorageError) in try session.deliveries.append(deliveries) }
    }

    /// As `Storage` says.
    package func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery] {
        try await read { session throws(StorageError) in
            try session.deliveries.deliveries(of: key, before: cursor, limit: limit)
        }
    }

    /// As `Storage` says.
    package func pruneDeliveries(
        before time: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Int {
        try await write { session throws(StorageError) in
            try session.deliveries.prune(before: time, limit: limit)
        }
    }
}

// MARK: - Event receipts

extension SQLiteStorage {
    /// As `Storage` says.
    package func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try event.validate()
        return try await write { session throws(StorageError) in try session.receipts.claim(event) }
    }

    /// As `Storage` says.
    package func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try event.validate(answer: answer)
        return try await write { session throws(StorageError) in
            try session.receipts.complete(event, answer: answer)
        }
    }

    /// As `Storage` says.
    package func release(_ event: EventClaim) async throws(StorageError) {
        try await write { session throws(StorageError) in try session.receipts.release(event) }
    }

    /// As `Storage` says.
    package func pruneReceipts(at now: EpochMilliseconds, limit: Int) async throws(StorageError) -> Int {
        try await write { session throws(StorageError) in try session.receipts.prune(at: now, limit: limit) }
    }
}

// MARK: - Pushes that wait

extension SQLiteStorage {
    /// As `Storage` says.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int
    ) async throws(StorageError) -> [EnqueueResult] {
        for push in pushes { try push.validate() }
        return try await write { session throws(StorageError) in
            try session.queue.enqueue(pushes, lease, limitPerSecret: limitPerSecret)
        }
    }

    /// As `Storage` says.
    ///
    /// A reader chooses, so that a long queue keeps no change waiting.
    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        guard writer != nil else { throw .readOnly(logDetail: "opened for reading") }
        let chosen = try await read { session throws(StorageError) in
            try session.queue.chosen(dueAt: now, limit: limit, scope)
        }
        guard !chosen.isEmpty else { return [] }
        return try await write { session throws(StorageError) in try session.queue.claim(chosen, lease) }
    }

    /// As `Storage` says.
    package func settle(_ settlements: [Settlement]) async throws(StorageError) -> [Bool] {
        for settlement in settlements { try settlement.validate() }
        return try await write { session throws(StorageError) in try session.queue.settle(settlements) }
    }

    /// As `Storage` says.
    package func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(StorageError) in try session.queue.nextDue() }
    }

    /// As `Storage` says.
    package func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try await read { session throws(StorageError) in
            try session.queue.pushes(dueAfter: horizon, leased: leased, limit: limit)
        }
    }

    /// As `Storage` says.
    package func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        guard !pushes.isEmpty else { return 0 }
        return try await write { session throws(StorageError) in
            try session.queue.setDue(pushes, to: time)
        }
    }

    /// As `Storage` says.
    package func countPushes(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(StorageError) in try session.queue.count(limit: limit) }
    }
}

// MARK: - All that a secret has, and all that is there

extension SQLiteStorage {
    /// As `Storage` says.
    package func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try await read { session throws(StorageError) in try session.counts.holdings(of: key) }
    }

    /// As `Storage` says.
    package func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        defer { cache.withLock { $0.forget(key) } }
        return try await write { session throws(StorageError) in
            try session.revoking.revoke(key, limit: limit)
        }
    }

    /// As `Storage` says.
    package func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try await read { session throws(StorageError) in
            try session.deliveries.tally(of: hash, from: start, before: end, limit: limit)
        }
    }

    /// As `Storage` says.
    package func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try await read { session throws(StorageError) in try session.counts.census(ofShare: share) }
    }
}

// MARK: - The database itself

extension SQLiteStorage {
    /// As `Storage` says: a look-up that reads a page.
    package func ping() async throws(StorageError) {
        _ = try await schemaVersion()
    }

    /// As `Storage` says.
    package func schemaVersion() async throws(StorageError) -> Int {
        try await read { session throws(StorageError) in
            var version = 0
            try session.version.query({ _ in }) { row throws(StorageError) in
                version = Int(try row.integer(0))
            }
            return version
        }
    }
}

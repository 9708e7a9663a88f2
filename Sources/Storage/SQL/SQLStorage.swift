/// A storage implemented with the statements of ``SQLSession``; every driver is one.
///
/// Each call is implemented once, here. A driver provides the connection, and may implement a call itself where that
/// has been measured to be faster.
package protocol SQLStorage: Storage {
    /// The parts of the queue that the next claims search for due pushes.
    var claimRounds: Guarded<ClaimRounds> { get }

    var shardsBySecret: Bool { get }

    /// Calls `body` with a connection; `body` must not change the database.
    ///
    /// - Parameter call: The `#function` of the call on whose behalf it reads, for the task's `StorageObserver`.
    func read<Output: Sendable>(
        _ call: StaticString,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output

    /// Calls `body` with a connection that may change the database; its changes are committed before this returns.
    ///
    /// `body` may be called again if its first call had no effect, or with `SQLSession.isRepeated` set.
    func write<Output: Sendable>(
        _ call: StaticString,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output

    /// Like `write`, for changes to a secret's devices.
    func writeDevices<Output: Sendable>(
        _ call: StaticString, of key: SecretKey,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output
}

extension SQLStorage {
    /// Reads on behalf of the calling method.
    package func read<Output: Sendable>(
        call: StaticString = #function,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await read(call, body)
    }

    /// Writes on behalf of the calling method.
    package func write<Output: Sendable>(
        call: StaticString = #function,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await write(call, body)
    }

    /// Changes a secret's devices on behalf of the calling method.
    package func writeDevices<Output: Sendable>(
        call: StaticString = #function, of key: SecretKey,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await writeDevices(call, of: key, body)
    }
}

extension SQLStorage {
    /// False, as on most engines.
    package var shardsBySecret: Bool { false }

    /// The groups of elements that one transaction may change, in order.
    ///
    /// There is one group or, on a database that shards by secret, one for each part of the hashes
    /// (`SecretHash.bucket`).
    func parts<Element>(
        of elements: [Element], by hash: (Element) -> SecretHash
    ) -> [[Element]] {
        guard shardsBySecret else { return [elements] }
        return Dictionary(grouping: elements) { hash($0).bucket }.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Like `write`.
    package func writeDevices<Output: Sendable>(
        _ call: StaticString, of key: SecretKey,
        _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await write(call, body)
    }

    /// Makes a change that adds log rows, or makes it without them if the log can't be written.
    private func writeDevicesLogging<Output: Sendable>(
        call: StaticString = #function, of key: SecretKey,
        _ body: @escaping @Sendable (SQLSession, _ logging: Bool) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        do throws(StorageError) {
            return try await writeDevices(call, of: key) { session throws(SQLFailure) in
                try body(session, true)
            }
        } catch {
            guard !error.isTransient, error.canBeCured else { throw error }
            return try await writeDevices(call, of: key) { session throws(SQLFailure) in
                try body(session, false)
            }
        }
    }
}

// MARK: - Devices

extension SQLStorage {
    package func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult {
        try registration.validate()
        return try await writeDevices(of: key) { session throws(SQLFailure) in
            try session.register(registration, key, limit: deviceLimit)
        }
    }

    package func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        // No stored token contains a NUL, and text with a NUL can't be sent to a server.
        guard !token.utf8.contains(0) else { return false }
        return try await writeDevicesLogging(of: key) { session, logging throws(SQLFailure) in
            try session.unregister(token, key, at: now, logging: logging)
        }
    }

    package func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        try await read { session throws(SQLFailure) in try session.devices(of: key) }
    }

    package func rehash(_ key: SecretKey) async throws(StorageError) -> Bool {
        guard key.hasLegacy else { return false }
        return try await writeDevices(of: key) { session throws(SQLFailure) in try session.rehash(key) }
    }

    package func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool {
        try await writeDevices(of: SecretKey(primary: device.secretHash)) { session throws(SQLFailure) in
            try session.setEnvironment(environment, device)
        }
    }

    package func setPreferences(
        _ preferences: String, of device: Device
    ) async throws(StorageError) -> Bool {
        try DeviceDetails(preferences: preferences).validate()
        return try await writeDevices(of: SecretKey(primary: device.secretHash)) {
            session throws(SQLFailure) in
            try session.setPreferences(preferences, device)
        }
    }

    package func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        try await writeDevicesLogging(of: SecretKey(primary: device.secretHash)) {
            session, logging throws(SQLFailure) in
            try session.remove(device, notUpdatedAfter: time, at: now, logging: logging)
        }
    }

    package func pruneDevices(
        before time: EpochMilliseconds, after cursor: DeviceCursor?, limit: Int, at now: EpochMilliseconds
    ) async throws(StorageError) -> DevicePruning {
        let (devices, next) = try await read { session throws(SQLFailure) in
            try session.staleDevices(before: time, after: cursor, limit: limit)
        }
        var pruning = DevicePruning(next: next)
        for device in devices where try await remove(device, ifNotUpdatedAfter: time - 1, at: now) {
            pruning.removed += 1
        }
        return pruning
    }

    package func preferences(
        after cursor: DeviceCursor?, limit: Int
    ) async throws(StorageError) -> PreferencesPage {
        try await read { session throws(SQLFailure) in try session.preferences(after: cursor, limit: limit) }
    }

    package func pruneLocks(
        after start: String, limit: Int
    ) async throws(StorageError) -> (removed: Int, next: String?) {
        try await write { session throws(SQLFailure) in try session.pruneLocks(after: start, limit: limit) }
    }
}

// MARK: - The delivery log

extension SQLStorage {
    package func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError) {
        try deliveries.validate()
        // If a part fails, the parts before it are already stored, so the caller's next attempt must find them.
        let isRepeated = isRepeated || shardsBySecret
        for part in parts(of: deliveries, by: \.secretHash) {
            try await write { session throws(SQLFailure) in
                try session.append(part, isRepeated: isRepeated)
            }
        }
    }

    package func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery] {
        try await read { session throws(SQLFailure) in
            try session.deliveries(of: key, before: cursor, limit: limit)
        }
    }

    package func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) async throws(StorageError) -> [String: SentCount] {
        try await read { session throws(SQLFailure) in
            try session.countSent(of: key, since: start, recentlySince: recent, before: end)
        }
    }
}

// MARK: - Event receipts

extension SQLStorage {
    package func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try event.validate()
        return try await write { session throws(SQLFailure) in try session.claim(event) }
    }

    package func claim(
        _ events: [EventClaim]
    ) async throws(StorageError) -> [Result<EventClaimResult, StorageError>] {
        for event in events { try event.validate() }
        return try await write { session throws(SQLFailure) in try session.claim(events) }
    }

    package func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try event.validate(answer: answer)
        return try await write { session throws(SQLFailure) in try session.complete(event, answer: answer) }
    }

    package func release(_ event: EventClaim) async throws(StorageError) {
        try await write { session throws(SQLFailure) in try session.release(event) }
    }
}

// MARK: - The database itself

extension SQLStorage {
    /// See `Storage`; reads one page and the server's clock.
    package func ping(
        now: @escaping @Sendable () -> EpochMilliseconds
    ) async throws(StorageError) -> ClockReading? {
        try await read { session throws(SQLFailure) in
            _ = try session.count(SchemaStep.versionQuery, [])
            return try session.connection.clock.flatMap { query throws(SQLFailure) in
                try ClockReading(now: now) { () throws(SQLFailure) in try session.integer(query, []) }
            }
        }
    }

    package func tryWriting(id: UUIDv7, at now: EpochMilliseconds) async throws(StorageError) {
        try await write { session throws(SQLFailure) in
            try session.transaction { () throws(SQLFailure) in
                if !session.dialect.hasOneWriter {
                    // Rolled back, because only pruning deletes rows from this table: the trial must not need the
                    // privilege to do so.
                    try session.connection.run("SAVEPOINT lock_trial")
                    try session.execute(TrialWrite.locking(id: id))
                    try session.connection.run("ROLLBACK TO SAVEPOINT lock_trial")
                }
                try session.execute(TrialWrite.statements(id: id, at: now))
            }
        }
    }

    package func schemaVersion() async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in try session.count(SchemaStep.versionQuery, []) }
    }
}

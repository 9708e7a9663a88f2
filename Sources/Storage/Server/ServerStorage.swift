/// The `Storage` contract over a database server, written once for all of them.
///
/// What a call means is written at `Storage`. Here belongs what only a server brings:
/// - A call waits for a connection and for the server no longer than `ServerOptions.callTimeout` in all. While the server
///   is known to be down it fails at once as `unavailable`; the pool notices by itself when the server is back.
/// - A transaction that the server takes back (deadlock, serialization failure) is run again.
/// - A call whose connection was lost is run once more on another. Where the first may have been committed the second
///   comes to the same result, save that `unregister`, `remove`, `revoke` and the prunes then tell only of what was left.
///
/// Its SQL keeps to what PostgreSQL, MySQL and the engines that speak their protocols have in common: every
/// statement on an event's way names `secret_hash`, and correctness rests on unique keys and row locks alone.
package final class ServerStorage<Connection: SQLConnection>: Storage {
    /// The schema's steps that opening it applied; empty when it was current.
    package let appliedSteps: [SchemaStep]

    private let pool: ConnectionPool<Connection>
    private let options: ServerOptions
    private let statements = ServerStatements(Connection.dialect)

    private init(
        pool: ConnectionPool<Connection>, options: ServerOptions, appliedSteps: [SchemaStep]
    ) {
        self.pool = pool
        self.options = options
        self.appliedSteps = appliedSteps
    }

    /// Connects, and brings the schema up to date as `options.access` allows.
    ///
    /// Throws `unavailable` or `timeout` when the server can't be reached now, `refused`, `foreignDatabase`, `schemaTooNew`,
    /// `schemaTooOld`, `unfinishedCopy` or what else kept it from being opened; then nothing stays open.
    package static func open(
        _ location: Connection.Location, options: ServerOptions = ServerOptions()
    ) async throws(StorageError) -> ServerStorage {
        let pool = ConnectionPool<Connection>(location, options: options)
        do throws(StorageError) {
            let steps = try await pool.perform(within: options.migrationTimeout) {
                session throws(SQLFailure) in
                let schema = ServerSchema(connection: session.connection)
                if options.access == .write || options.access == .writeWithoutMigrating {
                    try schema.endCopy()
                }
                if options.access == .write || options.access == .copyTarget {
                    return try schema.migrate()
                }
                let state = try schema.inspect()
                guard try schema.pending(after: state).isEmpty else {
                    let error = StorageError.schemaTooOld(found: state.version, needed: SchemaStep.current)
                    throw SQLFailure(.other, error)
                }
                return []
            }
            return ServerStorage(pool: pool, options: options, appliedSteps: steps)
        } catch {
            await pool.close()
            throw error
        }
    }

    /// The steps that opening a database for writing would apply; it is only read.
    package static func pendingSteps(
        at location: Connection.Location, options: ServerOptions = ServerOptions()
    ) async throws(StorageError) -> [PendingStep] {
        let pool = ConnectionPool<Connection>(location, options: options)
        do throws(StorageError) {
            let steps = try await pool.perform(within: options.callTimeout) { session throws(SQLFailure) in
                let schema = ServerSchema(connection: session.connection)
                return try schema.pending(after: try schema.inspect())
            }
            await pool.close()
            return steps
        } catch {
            await pool.close()
            throw error
        }
    }

    /// As `Storage` says.
    package func close() async {
        await pool.close()
    }

    /// As `Storage` says.
    package var load: StorageLoad { pool.load }

    /// How many connections there are, those included that are being opened; for tests.
    package var connectionCount: Int { pool.connectionCount }

    private func read<Output: Sendable>(
        _ body: @escaping @Sendable (ServerSession<Connection>) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await pool.perform(within: options.callTimeout, body)
    }

    private func write<Output: Sendable>(
        _ body: @escaping @Sendable (ServerSession<Connection>) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        guard options.access != .readOnly else { throw .readOnly(logDetail: "opened for reading") }
        return try await pool.perform(within: options.callTimeout, body)
    }
}

// MARK: - Devices

extension ServerStorage {
    /// As `Storage` says.
    package func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult {
        try registration.validate()
        return try await write { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements)
                .register(registration, key, limit: deviceLimit)
        }
    }

    /// As `Storage` says.
    package func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        // No row has such a token, and no server could be asked for it.
        guard !token.utf8.contains(0) else { return false }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements).unregister(token, key, at: now)
        }
    }

    /// As `Storage` says.
    package func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        try await read { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements).devices(of: key)
        }
    }

    /// As `Storage` says.
    package func rehash(_ key: SecretKey) async throws(StorageError) -> Bool {
        guard key.hasLegacy else { return false }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements).rehash(key)
        }
    }

    /// As `Storage` says.
    package func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool {
        try await write { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements).setEnvironment(environment, device)
        }
    }

    /// As `Storage` says.
    package func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        try await write { [statements] session throws(SQLFailure) in
            try ServerDevices(session: session, statements: statements)
                .remove(device, notUpdatedAfter: time, at: now)
        }
    }
}

// MARK: - The delivery log

extension ServerStorage {
    /// As `Storage` says.
    package func append(_ deliveries: [Delivery]) async throws(StorageError) {
        try deliveries.validate()
        try await write { [statements] session throws(SQLFailure) in
            try ServerDeliveries(session: session, statements: statements).append(deliveries)
        }
    }

    /// As `Storage` says.
    package func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery] {
        try await read { [statements] session throws(SQLFailure) in
            try ServerDeliveries(session: session, statements: statements)
                .deliveries(of: key, before: cursor, limit: limit)
        }
    }

    /// As `Storage` says.
    package func pruneDeliveries(
        before time: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Int {
        try await write { [statements] session throws(SQLFailure) in
            try ServerDeliveries(session: session, statements: statements).prune(before: time, limit: limit)
        }
    }
}

// MARK: - Event receipts

extension ServerStorage {
    /// As `Storage` says.
    package func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try event.validate()
        return try await write { [statements] session throws(SQLFailure) in
            try ServerReceipts(session: session, statements: statements).claim(event)
        }
    }

    /// As `Storage` says.
    package func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try event.validate(answer: answer)
        return try await write { [statements] session throws(SQLFailure) in
            try ServerReceipts(session: session, statements: statements).complete(event, answer: answer)
        }
    }

    /// As `Storage` says.
    package func release(_ event: EventClaim) async throws(StorageError) {
        try await write { [statements] session throws(SQLFailure) in
            try ServerReceipts(session: session, statements: statements).release(event)
        }
    }

    /// As `Storage` says.
    package func pruneReceipts(at now: EpochMilliseconds, limit: Int) async throws(StorageError) -> Int {
        try await write { [statements] session throws(SQLFailure) in
            try ServerReceipts(session: session, statements: statements).prune(at: now, limit: limit)
        }
    }
}

// MARK: - Pushes that wait

extension ServerStorage {
    /// As `Storage` says.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int
    ) async throws(StorageError) -> [EnqueueResult] {
        for push in pushes { try push.validate() }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .enqueue(pushes, lease, limitPerSecret: limitPerSecret)
        }
    }

    /// As `Storage` says.
    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .claim(dueAt: now, lease, limit: limit, scope)
        }
    }

    /// As `Storage` says.
    package func settle(_ settlements: [Settlement]) async throws(StorageError) -> [Bool] {
        for settlement in settlements { try settlement.validate() }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements).settle(settlements)
        }
    }

    /// As `Storage` says.
    package func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(SQLFailure) in
            try session.connection.integer("SELECT due_at FROM pending_push ORDER BY due_at LIMIT 1")
        }
    }

    /// As `Storage` says.
    package func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try await read { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .pushes(dueAfter: horizon, leased: leased, limit: limit)
        }
    }

    /// As `Storage` says.
    package func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        guard !pushes.isEmpty else { return 0 }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements).setDue(pushes, to: time)
        }
    }

    /// As `Storage` says.
    package func countPushes(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            let sql = "SELECT count(*) FROM (SELECT due_at FROM pending_push LIMIT ?) AS counted"
            return Int(try session.connection.integer(sql, [.integer(Int64(max(limit, 0)))]) ?? 0)
        }
    }
}

// MARK: - All that a secret has, and all that is there

extension ServerStorage {
    /// As `Storage` says.
    package func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try await read { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).holdings(of: key)
        }
    }

    /// As `Storage` says.
    package func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        try await write { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).revoke(key, limit: limit)
        }
    }

    /// As `Storage` says.
    package func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try await read { [statements] session throws(SQLFailure) in
            try ServerDeliveries(session: session, statements: statements)
                .tally(of: hash, from: start, before: end, limit: limit)
        }
    }

    /// As `Storage` says.
    package func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try await read { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).census(ofShare: share)
        }
    }
}

// MARK: - The database itself

extension ServerStorage {
    /// As `Storage` says: a look-up that reads a page.
    package func ping() async throws(StorageError) {
        _ = try await schemaVersion()
    }

    /// As `Storage` says.
    package func schemaVersion() async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            try ServerSchema(connection: session.connection).version()
        }
    }
}

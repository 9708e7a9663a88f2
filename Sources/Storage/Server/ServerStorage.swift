/// Implements the `Storage` contract with a database server.
///
/// `Storage` documents the calls. In addition, with a server:
/// - A call waits for a connection and the server no longer than `ServerOptions.callTimeout` in total. While the server
///   is known to be down, calls fail immediately with `unavailable`; the pool notices when the server is back.
/// - A transaction that the server rolls back (deadlock, serialization failure) is run again.
/// - A call whose connection was lost is run again on another connection. If the first run may have been committed, the
///   second run returns the same result, except that `unregister`, `remove`, `revoke` and the pruning calls report only
///   the rows that were still left.
///
package final class ServerStorage<Connection: ServerConnection>: SQLStorage {
    /// The migration steps applied when the database was opened; empty if its schema was current.
    package let appliedSteps: [SchemaStep]
    package let claimRounds = Guarded(ClaimRounds())
    /// Whether the database shards by secret; determined when it was opened.
    package let shardsBySecret: Bool

    let pool: ConnectionPool
    let options: ServerOptions
    private let lookups: SharedCalls<SecretKey, [Device]>
    private let claims: SharedCalls<EventClaim, EventClaimResult>
    private let completions: SharedCalls<CompletedEvent, Bool>

    private init(
        pool: ConnectionPool, options: ServerOptions, appliedSteps: [SchemaStep],
        shardsBySecret: Bool
    ) {
        self.pool = pool
        self.shardsBySecret = shardsBySecret
        self.options = options
        self.appliedSteps = appliedSteps
        lookups = SharedCalls(pool: pool, options: options, isChange: false) {
            session, keys throws(SQLFailure) in
            try session.devices(of: keys).map { .success($0) }
        }
        claims = SharedCalls(pool: pool, options: options, isChange: true) {
            session, events throws(SQLFailure) in
            try session.claim(events)
        }
        completions = SharedCalls(pool: pool, options: options, isChange: true) {
            session, events throws(SQLFailure) in
            try session.complete(events).map { .success($0) }
        }
    }

    /// Connects, and brings the schema up to date as far as `options.access` allows.
    ///
    /// Throws `unavailable` or `timeout` if the server can't be reached now, or `refused`, `foreignDatabase`,
    /// `schemaTooNew`, `schemaTooOld`, `unfinishedCopy` or another error; in that case, nothing stays open.
    package static func open(
        _ location: Connection.Location, options: ServerOptions = ServerOptions()
    ) async throws(StorageError) -> ServerStorage {
        let pool = ConnectionPool(of: Connection.self, to: location, options: options)
        do throws(StorageError) {
            let (steps, shardsBySecret) = try await pool.perform(within: options.migrationTimeout) {
                _, connection throws(SQLFailure) in
                let schema = ServerSchema(connection: connection)
                if options.access != .readOnly, try schema.holdsUnfinishedCopy() {
                    throw SQLFailure(.other, .unfinishedCopy)
                }
                let shardsBySecret = try connection.shardsBySecret()
                if options.access == .write {
                    return (try schema.migrate(), shardsBySecret)
                }
                let state = try schema.inspect()
                guard try schema.pending(after: state).isEmpty else {
                    let error = StorageError.schemaTooOld(found: state.version, needed: SchemaStep.current)
                    throw SQLFailure(.other, error)
                }
                return ([], shardsBySecret)
            }
            return ServerStorage(
                pool: pool, options: options, appliedSteps: steps, shardsBySecret: shardsBySecret)
        } catch {
            await pool.close()
            throw error
        }
    }

    /// The steps that opening a database for writing would apply; only reads the database.
    package static func pendingSteps(
        at location: Connection.Location, options: ServerOptions = ServerOptions()
    ) async throws(StorageError) -> [PendingStep] {
        let pool = ConnectionPool(of: Connection.self, to: location, options: options)
        do throws(StorageError) {
            let steps = try await pool.perform(within: options.callTimeout) {
                _, connection throws(SQLFailure) in
                let schema = ServerSchema(connection: connection)
                return try schema.pending(after: try schema.inspect())
            }
            await pool.close()
            return steps
        } catch {
            await pool.close()
            throw error
        }
    }

    package func close() async {
        await pool.close()
    }

    package var load: StorageLoad {
        var load = pool.load
        load.waitingCalls += lookups.waitingCount + claims.waitingCount + completions.waitingCount
        return load
    }

    /// Concurrent look-ups share a statement.
    package func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        try await StorageCalls.observed(#function) { () async throws(StorageError) in
            try await lookups.perform(key)
        }
    }

    /// Concurrent claims share a statement.
    package func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try event.validate()
        try checkAccess()
        return try await StorageCalls.observed(#function) { () async throws(StorageError) in
            try await claims.perform(event)
        }
    }

    /// Concurrent calls share a statement.
    package func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try event.validate(answer: answer)
        try checkAccess()
        return try await StorageCalls.observed(#function) { () async throws(StorageError) in
            try await completions.perform(CompletedEvent(claim: event, answer: answer))
        }
    }

    /// The number of connections, including those being opened; for tests.
    package var connectionCount: Int { pool.connectionCount }

    package func read<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await StorageCalls.observed(call) { () async throws(StorageError) in
            try await pool.perform(within: options.callTimeout) { session, _ throws(SQLFailure) in
                try body(session)
            }
        }
    }

    package func write<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try checkAccess()
        return try await StorageCalls.observed(call) { () async throws(StorageError) in
            try await pool.perform(within: options.callTimeout, isChange: true) {
                session, _ throws(SQLFailure) in try body(session)
            }
        }
    }

    private func checkAccess() throws(StorageError) {
        guard options.access != .readOnly else { throw .readOnly(logDetail: "opened for reading") }
    }
}

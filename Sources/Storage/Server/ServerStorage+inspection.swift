extension ServerStorage {
    /// Inspects a database without changing it: its schema, its clock, and a trial write that is rolled back.
    ///
    /// Throws the error that prevented the inspection, or `foreignDatabase`, `schemaTooNew` or `unfinishedCopy`.
    ///
    /// - Parameter now: This machine's time.
    package static func inspection(
        at location: Connection.Location, options: ServerOptions = ServerOptions(), id: UUIDv7,
        now: @escaping @Sendable () -> EpochMilliseconds
    ) async throws(StorageError) -> DatabaseInspection {
        let pool = ConnectionPool(of: Connection.self, to: location, options: options)
        do throws(StorageError) {
            let found = try await pool.perform(within: options.callTimeout) {
                session, connection throws(SQLFailure) in
                try inspect(session, connection, id: id, now: now)
            }
            await pool.close()
            return found
        } catch {
            await pool.close()
            throw error
        }
    }

    private static func inspect(
        _ session: SQLSession, _ connection: any ServerConnection, id: UUIDv7, now: () -> EpochMilliseconds
    ) throws(SQLFailure) -> DatabaseInspection {
        let clock = try ClockReading(now: now) { () throws(SQLFailure) in
            try connection.integer(connection.schema.clock)
        }
        let schema = ServerSchema(connection: connection)
        guard try !schema.holdsUnfinishedCopy() else { throw SQLFailure(.other, .unfinishedCopy) }
        let pending = try schema.pending(after: try schema.inspect())
        try schema.requireRights(for: pending)
        if !pending.isEmpty { try connection.trySchemaLock() }
        let missing = pending.map(\.step)
        let hasTables = missing.isEmpty
        return DatabaseInspection(
            missingSteps: missing,
            hasDevices: hasTables ? try connection.integer(TrialWrite.hasDevices) == 1 : nil,
            clock: clock,
            write: hasTables
                ? try trial(session, connection, id: id, at: clock?.local ?? now())
                : .notTried)
    }

    /// Runs the trial write; if it can't be rolled back, the connection is closed, so that the server rolls it back.
    private static func trial(
        _ session: SQLSession, _ connection: any ServerConnection, id: UUIDv7, at now: EpochMilliseconds
    ) throws(SQLFailure) -> DatabaseInspection.WriteTrial {
        do throws(SQLFailure) {
            try connection.run(connection.dialect.begin)
            try session.execute(TrialWrite.locking(id: id) + TrialWrite.statements(id: id, at: now))
            try connection.run("ROLLBACK")
            return .done
        } catch {
            if connection.isUsable, connection.isInTransaction { try? connection.run("ROLLBACK") }
            // After a lost connection the trial is run once more, on a new connection.
            guard error.kind != .connectionLost || session.isRepeated else { throw error }
            return .failed(error.error)
        }
    }
}

extension ServerStorage {
    /// Looks at a database and changes nothing in it: the schema, the clock, and a write that is taken back.
    ///
    /// Throws what kept it from being asked, `foreignDatabase`, `schemaTooNew` and `unfinishedCopy`.
    ///
    /// - Parameter now: This machine's time.
    package static func inspection(
        at location: Connection.Location, options: ServerOptions = ServerOptions(), id: UUIDv7,
        now: @escaping @Sendable () -> EpochMilliseconds
    ) async throws(StorageError) -> DatabaseInspection {
        let pool = ConnectionPool<Connection>(location, options: options)
        do throws(StorageError) {
            let found = try await pool.perform(within: options.callTimeout) { session throws(SQLFailure) in
                try inspect(session, id: id, now: now)
            }
            await pool.close()
            return found
        } catch {
            await pool.close()
            throw error
        }
    }

    private static func inspect(
        _ session: ServerSession<Connection>, id: UUIDv7, now: () -> EpochMilliseconds
    ) throws(SQLFailure) -> DatabaseInspection {
        let connection = session.connection
        let before = now()
        let server = try connection.integer(Connection.dialect.clock)
        let middle = before + (now() - before) / 2
        let schema = ServerSchema(connection: connection)
        guard try !schema.holdsUnfinishedCopy() else { throw SQLFailure(.other, .unfinishedCopy) }
        let missing = try schema.pending(after: try schema.inspect()).map(\.step)
        let hasTables = missing.count < SchemaStep.allCases.count
        return DatabaseInspection(
            missingSteps: missing,
            hasDevices: hasTables ? try connection.integer(WriteTrialStatements.hasDevices) == 1 : nil,
            clock: server.map { DatabaseInspection.ClockReading(server: $0, local: middle) },
            write: hasTables ? try trial(session, id: id, at: middle) : .notTried)
    }

    /// A connection whose trial can't be taken back is closed, and the server takes it back.
    private static func trial(
        _ session: ServerSession<Connection>, id: UUIDv7, at now: EpochMilliseconds
    ) throws(SQLFailure) -> DatabaseInspection.WriteTrial {
        let connection = session.connection
        do throws(SQLFailure) {
            try connection.run(Connection.dialect.begin)
            for (sql, parameters) in WriteTrialStatements.all(id: id, at: now) {
                _ = try session.execute(sql, parameters)
            }
            try connection.run("ROLLBACK")
            return .done
        } catch {
            if connection.isUsable, connection.isInTransaction { try? connection.run("ROLLBACK") }
            // What a new connection may do is tried on one.
            guard error.kind != .connectionLost || session.isRepeated else { throw error }
            return .failed(error.error)
        }
    }
}

/// One side of a copy in a database server.
package enum ServerTransfer<Connection: SQLConnection> {
    /// How long a statement may take: counting a large table reads all of it.
    private static var statementTime: Duration { .seconds(600) }

    /// The database at a location, whose schema must be current unless it is only read.
    ///
    /// - Parameter access: `readOnly` for the source.
    package static func side(
        _ location: Connection.Location, access: ServerOptions.Access
    ) -> TransferSide<ServerTransferConnection<Connection>> {
        var options = ServerOptions()
        options.access = access
        // The server's own limit for a statement follows this.
        options.callTimeout = statementTime
        return TransferSide {
            [options] () throws(StorageError) in
            let pending = try await ServerStorage<Connection>.pendingSteps(at: location, options: options)
            return (pending.first?.step.rawValue ?? SchemaStep.current + 1) - 1
        } open: { [options] () throws(StorageError) in
            do throws(SQLFailure) {
                return ServerTransferConnection(
                    try Connection.open(location, options: options), time: statementTime)
            } catch {
                throw error.error
            }
        }
    }
}

/// A server's connection as a copy uses it.
package final class ServerTransferConnection<Connection: SQLConnection>: TransferConnection {
    private let connection: Connection
    private let time: Duration

    init(_ connection: Connection, time: Duration) {
        self.connection = connection
        self.time = time
    }

    /// As `TransferConnection` says.
    package var words: TransferWords {
        let dialect = Connection.dialect
        return TransferWords(
            begin: dialect.begin,
            countTables: """
                SELECT count(*) FROM information_schema.tables
                WHERE table_schema = \(dialect.currentSchema) AND table_name = ?
                """,
            insertUnlessPresent: dialect.insertUnlessPresent, replacing: dialect.replacing)
    }

    /// As `TransferConnection` says.
    package var isUsable: Bool { connection.isUsable }

    /// As `TransferConnection` says.
    package func startClock() {
        connection.deadline = .now + time
    }

    /// As `TransferConnection` says.
    package func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try connection.execute(sql, parameters)
    }

    /// As `TransferConnection` says.
    package func rows(
        _ sql: String, _ parameters: [SQLValue], columns: Int
    ) throws(SQLFailure) -> [[SQLValue]] {
        var rows: [[SQLValue]] = []
        try connection.query(sql, parameters) { row throws(SQLFailure) in rows.append(row.columns) }
        return rows
    }

    /// As `TransferConnection` says.
    package func run(_ sql: String) throws(SQLFailure) {
        try connection.run(sql)
    }
}

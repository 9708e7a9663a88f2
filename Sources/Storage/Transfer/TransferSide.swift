/// One side of a copy over any driver's connection, on its own thread.
///
/// If the connection is lost, it is reopened and the work repeated a few times; all work is safe to repeat.
package actor TransferSide<Connection: SQLConnection>: TransferDatabase {
    private nonisolated let executor = BlockingExecutor(label: "relay.copy")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    private let open: @Sendable () throws(StorageError) -> Connection
    private let findVersion: @Sendable () async throws(StorageError) -> Int
    private var connection: Connection?
    private let statementTime: Duration

    /// Maximum attempts if the connection is lost or the transaction is rolled back.
    private static var attemptsMax: Int { 6 }

    /// Creates a side of a copy without opening it.
    ///
    /// - Parameters:
    ///   - statementTime: How long a statement may take.
    ///   - version: Determines the schema's version.
    ///   - open: Connects; called again when the connection is lost.
    package init(
        statementTime: Duration = .seconds(600),
        version: @escaping @Sendable () async throws(StorageError) -> Int,
        open: @escaping @Sendable () throws(StorageError) -> Connection
    ) {
        self.statementTime = statementTime
        self.open = open
        findVersion = version
    }

    /// See `TransferDatabase`.
    package func version() async throws(StorageError) -> Int {
        try await findVersion()
    }

    /// See `TransferDatabase`.
    package func count(of table: TransferTable) async throws(StorageError) -> Int {
        try await perform { connection throws(SQLFailure) in
            try Self.count("SELECT count(*) FROM \(table.name)", [], connection)
        }
    }

    /// See `TransferDatabase`.
    package func page(
        of table: TransferTable, after key: [SQLValue]?, version: Int
    ) async throws(StorageError) -> [[SQLValue]] {
        try await perform { connection throws(SQLFailure) in
            let statements = TransferStatements(dialect: connection.dialect)
            guard let key else {
                let sql = statements.page(of: table, equal: nil, version: version)
                return try connection.rows(sql, [.integer(Int64(table.rowsPerPage))])
            }
            var page: [[SQLValue]] = []
            for equal in (0..<key.count).reversed() where page.count < table.rowsPerPage {
                let sql = statements.page(of: table, equal: equal, version: version)
                let limit = SQLValue.integer(Int64(table.rowsPerPage - page.count))
                page += try connection.rows(sql, key.prefix(equal + 1) + [limit])
            }
            return page
        }
    }

    /// See `TransferDatabase`.
    package func rows(
        of table: TransferTable, keys: [[SQLValue]], version: Int
    ) async throws(StorageError) -> [[SQLValue]] {
        try await perform { connection throws(SQLFailure) in
            try Self.rows(of: table, keys, version, connection)
        }
    }

    /// See `TransferDatabase`.
    package func store(
        _ rows: [[SQLValue]], in table: TransferTable, _ mark: TransferMark
    ) async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                if mark.isMerge { try Self.noteAdded(rows, in: table, connection) }
                try Self.insert(rows, into: table, connection)
                try Self.move(mark, connection)
            }
        }
    }

    /// See `TransferDatabase`.
    package func replace(
        _ keys: [[SQLValue]], with rows: [[SQLValue]], in table: TransferTable, isMerge: Bool
    ) async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                if isMerge {
                    try Self.noteAdded(rows, in: table, connection)
                    let kept = Set(rows.map { table.keyBytes(of: $0) })
                    for key in keys where !kept.contains(TransferCoding.encode(key)) {
                        let parameters: [SQLValue] = [.text(table.name), .text(TransferCoding.digest(key))]
                        _ = try connection.execute(TransferStatements.forgetAdded, parameters)
                    }
                }
                let statements = TransferStatements(dialect: connection.dialect)
                try Self.inChunks(keys) { chunk throws(SQLFailure) in
                    let sql = statements.remove(from: table, keys: chunk.count)
                    _ = try connection.execute(sql, chunk.flatMap(\.self))
                }
                try Self.insert(rows, into: table, connection)
            }
        }
    }

    /// See `TransferDatabase`.
    package nonisolated func close() async {
        await dropConnection()
        await executor.shutdown()
    }
}

// MARK: - Parts

extension TransferSide {
    private func dropConnection() {
        connection = nil
    }

    private static func rows(
        of table: TransferTable, _ keys: [[SQLValue]], _ version: Int, _ connection: Connection
    ) throws(SQLFailure) -> [[SQLValue]] {
        let statements = TransferStatements(dialect: connection.dialect)
        var found: [[SQLValue]] = []
        try inChunks(keys) { chunk throws(SQLFailure) in
            let sql = statements.lookUp(in: table, keys: chunk.count, version: version)
            found += try connection.rows(sql, chunk.flatMap(\.self))
        }
        return found
    }

    private static func insert(
        _ rows: [[SQLValue]], into table: TransferTable, _ connection: Connection
    ) throws(SQLFailure) {
        let statements = TransferStatements(dialect: connection.dialect)
        try inChunks(rows) { chunk throws(SQLFailure) in
            let sql = statements.store(in: table, rows: chunk.count)
            _ = try connection.execute(sql, chunk.flatMap(\.self))
        }
    }

    /// Records the rows whose keys the target doesn't have; call it before storing them.
    private static func noteAdded(
        _ rows: [[SQLValue]], in table: TransferTable, _ connection: Connection
    ) throws(SQLFailure) {
        let keys = rows.map { table.key(of: $0) }
        let present = try Self.rows(of: table, keys, SchemaStep.current, connection)
        let known = Set(present.map { table.keyBytes(of: $0) })
        let statements = TransferStatements(dialect: connection.dialect)
        let added: [[SQLValue]] = keys.filter { !known.contains(TransferCoding.encode($0)) }.map {
            [
                .text(table.name), .text(TransferCoding.digest($0)),
                .text(TransferCoding.hexadecimal($0)),
            ]
        }
        try inChunks(added) { chunk throws(SQLFailure) in
            _ = try connection.execute(statements.noteAdded(rows: chunk.count), chunk.flatMap(\.self))
        }
    }

    /// Runs a piece of work, repeating it on another connection if the first is lost.
    func perform<Output: Sendable>(
        _ body: (Connection) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        var attempt = 1
        while true {
            do throws(SQLFailure) {
                return try body(try connected())
            } catch {
                if connection?.isUsable == false { connection = nil }
                let isWorthwhile = error.kind == .connectionLost || error.kind == .conflict
                guard isWorthwhile, attempt < Self.attemptsMax else { throw error.error }
            }
            // 0.1 to 1.6 s: as long as a server may take to come back.
            try? await Task.sleep(for: .milliseconds(50 << attempt))
            attempt += 1
        }
    }

    private func connected() throws(SQLFailure) -> Connection {
        if let connection {
            connection.deadline = .now + statementTime
            return connection
        }
        do throws(StorageError) {
            let opened = try open()
            opened.deadline = .now + statementTime
            connection = opened
            return opened
        } catch {
            throw SQLFailure(error.isTransient ? .connectionLost : .other, error)
        }
    }

    static func inTransaction(
        _ connection: Connection, _ body: () throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        try connection.run(connection.dialect.begin)
        do throws(SQLFailure) {
            try body()
            try connection.run("COMMIT")
        } catch {
            if connection.isUsable { try? connection.run("ROLLBACK") }
            throw error
        }
    }

    private static func inChunks(
        _ rows: [[SQLValue]], _ body: (ArraySlice<[SQLValue]>) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        var rest = rows[...]
        while !rest.isEmpty {
            let size = TransferStatements.chunkSizes.first { $0 <= rest.count } ?? 1
            try body(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
    }

    static func count(
        _ sql: String, _ parameters: [SQLValue], _ connection: Connection
    ) throws(SQLFailure) -> Int {
        guard let values = try connection.rows(sql, parameters).first else { return 0 }
        return Int(try SQLRow(values).integer(0))
    }
}

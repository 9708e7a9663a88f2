/// One side of a copy over any driver's connection, on a thread of its own.
///
/// A connection that is lost is opened again and the work done again, a few times; every piece of work may be.
package actor TransferSide<Connection: TransferConnection>: TransferDatabase {
    private nonisolated let executor = BlockingExecutor(label: "relay.copy")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    private let open: @Sendable () throws(StorageError) -> Connection
    private let findVersion: @Sendable () async throws(StorageError) -> Int
    private var connection: Connection?

    /// How often work is tried whose connection is lost or whose transaction is taken back.
    private static var attemptsMax: Int { 6 }

    /// A side of a copy; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - version: Finds the schema's version out.
    ///   - open: Connects; called again when the connection is lost.
    package init(
        version: @escaping @Sendable () async throws(StorageError) -> Int,
        open: @escaping @Sendable () throws(StorageError) -> Connection
    ) {
        self.open = open
        findVersion = version
    }

    /// As `TransferDatabase` says.
    package func version() async throws(StorageError) -> Int {
        try await findVersion()
    }

    /// As `TransferDatabase` says.
    package func count(of table: TransferTable) async throws(StorageError) -> Int {
        try await perform { connection throws(SQLFailure) in
            try Self.count("SELECT count(*) FROM \(table.name)", [], connection)
        }
    }

    /// As `TransferDatabase` says.
    package func page(
        of table: TransferTable, after key: [SQLValue]?, version: Int
    ) async throws(StorageError) -> [[SQLValue]] {
        try await perform { connection throws(SQLFailure) in
            let statements = TransferStatements(words: connection.words)
            let columns = table.columns.count
            guard let key else {
                let sql = statements.page(of: table, equal: nil, version: version)
                return try connection.rows(sql, [.integer(Int64(table.rowsPerPage))], columns: columns)
            }
            var page: [[SQLValue]] = []
            for equal in (0..<key.count).reversed() where page.count < table.rowsPerPage {
                let sql = statements.page(of: table, equal: equal, version: version)
                let limit = SQLValue.integer(Int64(table.rowsPerPage - page.count))
                page += try connection.rows(sql, key.prefix(equal + 1) + [limit], columns: columns)
            }
            return page
        }
    }

    /// As `TransferDatabase` says.
    package func rows(
        of table: TransferTable, keys: [[SQLValue]]
    ) async throws(StorageError) -> [[SQLValue]] {
        try await perform { connection throws(SQLFailure) in
            let statements = TransferStatements(words: connection.words)
            var found: [[SQLValue]] = []
            try Self.inChunks(keys) { chunk throws(SQLFailure) in
                let sql = statements.lookUp(in: table, keys: chunk.count)
                found += try connection.rows(sql, chunk.flatMap(\.self), columns: table.columns.count)
            }
            return found
        }
    }

    /// As `TransferDatabase` says.
    package func store(
        _ rows: [[SQLValue]], in table: TransferTable, _ mark: TransferMark
    ) async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                let statements = TransferStatements(words: connection.words)
                try Self.inChunks(rows) { chunk throws(SQLFailure) in
                    let sql = statements.store(in: table, rows: chunk.count)
                    _ = try connection.execute(sql, chunk.flatMap(\.self))
                }
                _ = try connection.execute(
                    TransferStatements.moveMark,
                    [
                        mark.reached.map { .text(Hexadecimal.encode(TransferCoding.encode($0))) } ?? .null,
                        .integer(Int64(mark.copied)), .integer(mark.isDone ? 1 : 0), .text(mark.table),
                    ])
            }
        }
    }

    /// As `TransferDatabase` says.
    package func marks() async throws(StorageError) -> [TransferMark]? {
        try await perform { connection throws(SQLFailure) in
            let table = [SQLValue.text(TransferStatements.marksTable)]
            guard try Self.count(connection.words.countTables, table, connection) > 0 else { return nil }
            var marks: [TransferMark] = []
            for values in try connection.rows(TransferStatements.readMarks, [], columns: 6) {
                let row = SQLRow(values)
                var mark = TransferMark(
                    table: try row.text(0), source: try row.text(1), isMerge: try row.integer(2) != 0)
                if let reached = try row.optionalText(3) {
                    guard let key = Hexadecimal.decode(reached).flatMap(TransferCoding.decode) else {
                        throw row.wrong(3)
                    }
                    mark.reached = key
                }
                mark.copied = Int(try row.integer(4))
                mark.isDone = try row.integer(5) != 0
                marks.append(mark)
            }
            return marks
        }
    }

    /// As `TransferDatabase` says.
    package func begin(_ marks: [TransferMark]) async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try connection.run(TransferStatements.createMarks)
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                _ = try connection.execute("DELETE FROM relay_copy", [])
                for mark in marks {
                    _ = try connection.execute(
                        TransferStatements.makeMark,
                        [
                            .text(mark.table), .text(mark.source), .integer(mark.isMerge ? 1 : 0), .null,
                            .integer(0), .integer(0),
                        ])
                }
            }
        }
    }

    /// As `TransferDatabase` says.
    package func end() async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try connection.run("DROP TABLE IF EXISTS relay_copy")
        }
    }

    /// As `TransferDatabase` says.
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

    /// Does a piece of work, again on another connection if the first is lost.
    private func perform<Output: Sendable>(
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
            // 0.1 to 1.6 s: as long as a server may take to be back.
            try? await Task.sleep(for: .milliseconds(50 << attempt))
            attempt += 1
        }
    }

    private func connected() throws(SQLFailure) -> Connection {
        if let connection {
            connection.startClock()
            return connection
        }
        do throws(StorageError) {
            let opened = try open()
            opened.startClock()
            connection = opened
            return opened
        } catch {
            throw SQLFailure(error.isTransient ? .connectionLost : .other, error)
        }
    }

    private static func inTransaction(
        _ connection: Connection, _ body: () throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        try connection.run(connection.words.begin)
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

    private static func count(
        _ sql: String, _ parameters: [SQLValue], _ connection: Connection
    ) throws(SQLFailure) -> Int {
        guard let values = try connection.rows(sql, parameters, columns: 1).first else { return 0 }
        return Int(try SQLRow(values).integer(0))
    }
}

/// Bytes as text.
private enum Hexadecimal {
    static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
        let nibbles = text.compactMap(\.hexDigitValue)
        guard nibbles.count == text.count, nibbles.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: nibbles.count, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
    }
}

/// One database in a copy; its rows are read and written unchanged.
package struct TransferSide {
    /// The connection, which only this side uses.
    package let connection: any SQLConnection
    /// Whether the database has only the two tables of OpenCode's relay; columns that they lack are read as NULL.
    private let isAdoptable: Bool

    /// How long a statement may take; long, because counting a large table's rows reads the whole table.
    package static let statementTime: Duration = .seconds(600)

    /// The numbers of rows per statement; only a few sizes, because each size is a separate prepared statement.
    private static let chunkSizes = [128, 32, 8, 1]

    /// Creates a side from a database with a relay's tables; a source may instead have those of OpenCode's relay.
    package init(_ connection: any SQLConnection, isAdoptable: Bool = false) {
        self.connection = connection
        self.isAdoptable = isAdoptable
    }

    /// Creates the source of a copy; throws `schemaTooOld` if its tables are neither this program's nor OpenCode's.
    package init(source connection: any SQLConnection, state: SchemaState) throws(StorageError) {
        let isCurrent = try SchemaStep.pending(after: state.version).isEmpty
        guard isCurrent || state == .adoptable else {
            throw .schemaTooOld(found: state.version, needed: SchemaStep.current)
        }
        self.init(connection, isAdoptable: state == .adoptable)
    }

    private func begin() { connection.deadline = .now + Self.statementTime }

    private func has(_ table: SchemaTable) -> Bool {
        !isAdoptable || SchemaState.adoptedColumns[table.name] != nil
    }
}

// MARK: - Rows

extension TransferSide {
    func count(_ table: SchemaTable) throws(SQLFailure) -> Int {
        guard has(table) else { return 0 }
        begin()
        return Int(try connection.integer("SELECT count(*) FROM \(table.name)") ?? 0)
    }

    /// The key of the row at a position in key order.
    func key(ofRow index: Int, in table: SchemaTable) throws(SQLFailure) -> [SQLValue]? {
        let key = table.key.joined(separator: ", ")
        let sql = "SELECT \(key) FROM \(table.name) ORDER BY \(key) LIMIT 1 OFFSET ?"
        begin()
        return try connection.rows(sql, [.integer(Int64(index))]).first
    }

    /// At most the table's `rowsPerPage` rows after a key, in key order; the first rows if there is no key.
    ///
    /// Combines several statements, each fixing one key column fewer: every engine reads them along an index, which not
    /// all engines do for `(a, b) > (?, ?)`.
    func page(of table: SchemaTable, after key: [SQLValue]?) throws(SQLFailure) -> [[SQLValue]] {
        guard has(table) else { return [] }
        begin()
        let names = table.columnNames.map { name in
            let isMissing = isAdoptable && SchemaState.adoptedColumns[table.name]?.contains(name) == false
            return isMissing ? "NULL AS \(name)" : name
        }
        let select = "SELECT \(names.joined(separator: ", ")) FROM \(table.name)"
        let order = "ORDER BY \(table.key.joined(separator: ", ")) LIMIT ?"
        guard let key else { return try connection.rows("\(select) \(order)", [.limit(table.rowsPerPage)]) }
        var page: [[SQLValue]] = []
        for equal in key.indices.reversed() where page.count < table.rowsPerPage {
            let condition = table.key.prefix(equal).map { "\($0) = ?" } + ["\(table.key[equal]) > ?"]
            page += try connection.rows(
                "\(select) WHERE \(condition.joined(separator: " AND ")) \(order)",
                key.prefix(equal + 1) + [.limit(table.rowsPerPage - page.count)])
        }
        return page
    }

    /// Reads a whole table.
    ///
    /// - Parameter advance: Called after each page with the number of rows read so far.
    func checksum(
        of table: SchemaTable, advance: (Int) -> Void
    ) throws(SQLFailure) -> TransferChecksum {
        var checksum = TransferChecksum()
        var reached: [SQLValue]?
        while true {
            let page = try page(of: table, after: reached)
            for row in page { checksum.add(row) }
            advance(checksum.rows)
            guard page.count == table.rowsPerPage, let last = page.last else { return checksum }
            reached = table.key(of: last)
        }
    }

    /// Stores a page in one transaction; rows whose key already exists are replaced or, in logs, left unchanged.
    func store(_ rows: [[SQLValue]], in table: SchemaTable) throws(SQLFailure) {
        let names = table.columnNames.joined(separator: ", ")
        let row = "(" + Array(repeating: "?", count: table.columnNames.count).joined(separator: ", ") + ")"
        try transaction { () throws(SQLFailure) in
            var rest = rows[...]
            while !rest.isEmpty {
                let size = Self.chunkSizes.first { $0 <= rest.count } ?? 1
                let values = Array(repeating: row, count: size).joined(separator: ", ")
                let into = "INTO \(table.name) (\(names)) VALUES \(values)"
                let others = table.columnNames.filter { !table.key.contains($0) }
                let sql =
                    table.isLog
                    ? connection.dialect.insertUnlessPresent(into)
                    : "INSERT \(into) " + connection.dialect.replacing(table.key, others)
                _ = try connection.execute(sql, rest.prefix(size).flatMap(\.self))
                rest = rest.dropFirst(size)
            }
        }
    }

    private func transaction(_ body: () throws(SQLFailure) -> Void) throws(SQLFailure) {
        begin()
        try connection.run(connection.dialect.begin)
        do throws(SQLFailure) {
            try body()
            try connection.run("COMMIT")
        } catch {
            if connection.isUsable { try? connection.run("ROLLBACK") }
            throw error
        }
    }
}

// MARK: - The copy's record

extension TransferSide {
    /// The table in which a target records an unfinished copy; no relay uses a database in which it has rows.
    package static let marksTable = "relay_copy"

    /// One table in an unfinished copy.
    struct Mark {
        let table: String
        /// The digest of the source's name.
        let source: String
        /// Whether the comparison found a difference.
        let isDifferent: Bool
    }

    func marks() throws(SQLFailure) -> [Mark] {
        begin()
        let count = connection.dialect.countTables
        guard try connection.integer(count, [.text(Self.marksTable)]) != 0 else { return [] }
        var marks: [Mark] = []
        try connection.query("SELECT table_name, source, is_different FROM relay_copy", []) {
            row throws(SQLFailure) in
            marks.append(
                Mark(
                    table: try row.text(0), source: try row.text(1), isDifferent: try row.integer(2) != 0))
        }
        return marks
    }

    func beginCopy(of source: String) throws(SQLFailure) {
        begin()
        try connection.run(
            """
            CREATE TABLE IF NOT EXISTS relay_copy (
                table_name varchar(64) NOT NULL PRIMARY KEY, source varchar(64) NOT NULL,
                is_different integer NOT NULL)
            """)
        let insert = "INSERT INTO relay_copy (table_name, source, is_different) VALUES (?, ?, 0)"
        try transaction { () throws(SQLFailure) in
            for table in SchemaTable.copied {
                _ = try connection.execute(insert, [.text(table.name), .text(source)])
            }
        }
    }

    func mark(differing tables: [String]) throws(SQLFailure) {
        try transaction { () throws(SQLFailure) in
            for table in tables {
                _ = try connection.execute(
                    "UPDATE relay_copy SET is_different = 1 WHERE table_name = ?", [.text(table)])
            }
        }
    }

    /// Empties tables that differ, so that they are copied again.
    func empty(_ tables: [String]) throws(SQLFailure) {
        for table in SchemaTable.copied where tables.contains(table.name) {
            try transaction { () throws(SQLFailure) in
                _ = try connection.execute("DELETE FROM \(table.name)", [])
                _ = try connection.execute(
                    "UPDATE relay_copy SET is_different = 0 WHERE table_name = ?", [.text(table.name)])
            }
        }
    }

    func endCopy() throws(SQLFailure) {
        begin()
        // Deletes the rows first, because the account may lack the privilege to drop the table; relays check only for
        // rows.
        _ = try connection.execute("DELETE FROM relay_copy", [])
        try? connection.run("DROP TABLE relay_copy")
    }
}

extension SchemaTable {
    /// The key of a row that has all columns.
    func key(of row: [SQLValue]) -> [SQLValue] {
        key.compactMap { name in columns.firstIndex { $0.name == name }.map { row[$0] } }
    }
}

/// The tables in which a target records a copy's progress.
package enum TransferTables {
    /// The progress of each table's copy.
    package static let marks = "relay_copy"
    /// The rows that a merge added.
    package static let added = "relay_copy_row"

    /// Counts the tables of an unfinished copy, whose target no relay may use yet.
    package static let countUnfinished =
        "SELECT count(*) FROM relay_copy WHERE is_done <> \(TransferMark.Stage.same.rawValue)"
}

/// The statements of a copy, for every engine: a pure function of the table.
struct TransferStatements {
    let dialect: SQLDialect

    /// Rows per statement: few sizes, because each is a separate prepared statement.
    static let chunkSizes = [128, 32, 8, 1]

    static let createMarks = """
        CREATE TABLE IF NOT EXISTS relay_copy (
            table_name varchar(64) NOT NULL PRIMARY KEY, source varchar(64) NOT NULL, is_merge integer NOT NULL,
            reached text, copied bigint NOT NULL, is_done integer NOT NULL)
        """
    static let readMarks = "SELECT table_name, source, is_merge, reached, copied, is_done FROM relay_copy"
    static let makeMark = """
        INSERT INTO relay_copy (table_name, source, is_merge, reached, copied, is_done) VALUES (?, ?, ?, ?, ?, ?)
        """
    static let moveMark = "UPDATE relay_copy SET reached = ?, copied = ?, is_done = ? WHERE table_name = ?"

    static let createAdded = """
        CREATE TABLE IF NOT EXISTS relay_copy_row (
            table_name varchar(64) NOT NULL, key_digest varchar(64) NOT NULL, row_key text NOT NULL,
            PRIMARY KEY (table_name, key_digest))
        """
    static let readAdded = """
        SELECT key_digest, row_key FROM relay_copy_row WHERE table_name = ? AND key_digest > ?
        ORDER BY key_digest LIMIT ?
        """
    static let forgetAdded = "DELETE FROM relay_copy_row WHERE table_name = ? AND key_digest = ?"

    /// Records rows that a merge adds.
    func noteAdded(rows: Int) -> String {
        let rows = Array(repeating: "(?, ?, ?)", count: rows).joined(separator: ", ")
        return dialect.insertUnlessPresent(
            "INTO relay_copy_row (table_name, key_digest, row_key) VALUES \(rows)")
    }

    /// A page after a key: the first `equal` columns are equal and the next one is greater.
    ///
    /// A page in key order combines several of these, each with one fewer fixed column: every engine reads each along
    /// an index, which not all do for `(a, b) > (?, ?)`. Without a key it is the table's first page.
    func page(of table: TransferTable, equal: Int?, version: Int) -> String {
        var condition = ""
        if let equal {
            let fixed = table.key.prefix(equal).map { "\($0) = ?" }
            condition = "WHERE " + (fixed + ["\(table.key[equal]) > ?"]).joined(separator: " AND ")
        }
        return """
            SELECT \(columns(of: table, version)) FROM \(table.name) \(condition)
            ORDER BY \(table.key.joined(separator: ", ")) LIMIT ?
            """
    }

    /// Looks up a number of keys.
    func lookUp(in table: TransferTable, keys: Int, version: Int) -> String {
        "SELECT \(columns(of: table, version)) FROM \(table.name) WHERE \(condition(table, keys))"
    }

    /// Removes the rows with a number of keys.
    func remove(from table: TransferTable, keys: Int) -> String {
        "DELETE FROM \(table.name) WHERE \(condition(table, keys))"
    }

    /// Stores a number of rows.
    func store(in table: TransferTable, rows: Int) -> String {
        let names = table.columns.map(\.name)
        let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
        let rows = Array(repeating: row, count: rows).joined(separator: ", ")
        let rest = "INTO \(table.name) (\(names.joined(separator: ", "))) VALUES \(rows)"
        guard !table.isLog else { return dialect.insertUnlessPresent(rest) }
        let others = names.filter { !table.key.contains($0) }
        return "INSERT \(rest) " + dialect.replacing(table.key, others)
    }

    private func columns(of table: TransferTable, _ version: Int) -> String {
        table.columns.map { $0.since.rawValue <= max(version, 1) ? $0.name : "\($0.missing) AS \($0.name)" }
            .joined(separator: ", ")
    }

    private func condition(_ table: TransferTable, _ keys: Int) -> String {
        let key = "(" + table.key.map { "\($0) = ?" }.joined(separator: " AND ") + ")"
        return Array(repeating: key, count: keys).joined(separator: " OR ")
    }
}

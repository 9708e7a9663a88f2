/// The statements of a copy, for every engine: a pure function of the table.
struct TransferStatements {
    let words: TransferWords

    /// Rows of one statement: few sizes, because each is a statement that is prepared.
    static let chunkSizes = [128, 32, 8, 1]

    /// Where a copy that isn't finished stands; made for it and dropped after it.
    static let marksTable = "relay_copy"
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

    /// A page behind a key whose first `equal` columns stay and whose next one grows.
    ///
    /// A page of the whole order is made of several of these, with one column fewer fixed each time: every engine reads
    /// each along an index, which not all do for `(a, b) > (?, ?)`. Without a key the page is the table's first.
    func page(of table: TransferTable, equal: Int?, version: Int) -> String {
        let columns = table.columns.map {
            $0.since.rawValue <= max(version, 1) ? $0.name : "NULL AS \($0.name)"
        }
        var condition = ""
        if let equal {
            let fixed = table.key.prefix(equal).map { "\($0) = ?" }
            condition = "WHERE " + (fixed + ["\(table.key[equal]) > ?"]).joined(separator: " AND ")
        }
        return """
            SELECT \(columns.joined(separator: ", ")) FROM \(table.name) \(condition)
            ORDER BY \(table.key.joined(separator: ", ")) LIMIT ?
            """
    }

    /// Looks a number of keys up.
    func lookUp(in table: TransferTable, keys: Int) -> String {
        let columns = table.columns.map(\.name).joined(separator: ", ")
        let key = "(" + table.key.map { "\($0) = ?" }.joined(separator: " AND ") + ")"
        let keys = Array(repeating: key, count: keys).joined(separator: " OR ")
        return "SELECT \(columns) FROM \(table.name) WHERE \(keys)"
    }

    /// Stores a number of rows.
    func store(in table: TransferTable, rows: Int) -> String {
        let names = table.columns.map(\.name)
        let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
        let rows = Array(repeating: row, count: rows).joined(separator: ", ")
        let rest = "INTO \(table.name) (\(names.joined(separator: ", "))) VALUES \(rows)"
        guard !table.isLog else { return words.insertUnlessPresent(rest) }
        let others = names.filter { !table.key.contains($0) }
        return "INSERT \(rest) " + words.replacing(table.key, others)
    }
}

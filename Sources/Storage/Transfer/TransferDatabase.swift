/// One side of a copy: a database whose tables are read and written row by row.
///
/// Each call may be made again: writing the same rows twice leaves them there once.
package protocol TransferDatabase: Sendable {
    /// The version of its schema; 0 for the two tables of OpenCode's relay, which can be copied from.
    func version() async throws(StorageError) -> Int

    /// How many rows a table has.
    func count(of table: TransferTable) async throws(StorageError) -> Int

    /// The rows behind a key, in the key's order, at most the table's `rowsPerPage`; from the first row on without a key.
    ///
    /// Columns that a database of `version` lacks are NULL.
    func page(
        of table: TransferTable, after key: [SQLValue]?, version: Int
    ) async throws(StorageError) -> [[SQLValue]]

    /// The rows with some keys, in no order.
    func rows(of table: TransferTable, keys: [[SQLValue]]) async throws(StorageError) -> [[SQLValue]]

    /// Stores rows and how far the copy has come, both or neither; a row whose key is there is replaced.
    func store(_ rows: [[SQLValue]], in table: TransferTable, _ mark: TransferMark) async throws(StorageError)

    /// How far a copy that is not finished has come; nil when there is none.
    func marks() async throws(StorageError) -> [TransferMark]?

    /// Begins a copy, or begins it again: a mark for each table.
    func begin(_ marks: [TransferMark]) async throws(StorageError)

    /// Forgets that there was a copy.
    func end() async throws(StorageError)

    /// Closes the connection and ends its thread.
    func close() async
}

/// How far the copy of one table has come; kept in the target while the copy is not finished.
package struct TransferMark: Hashable, Sendable {
    /// The table's name.
    package var table: String
    /// What stands for the source, so that a copy is only continued from where it came.
    package var source: String
    /// Whether the target had rows of its own when the copy began.
    package var isMerge: Bool
    /// The key of the last row that was copied; nil before the first.
    package var reached: [SQLValue]?
    /// The rows that were copied.
    package var copied: Int
    /// Whether all were.
    package var isDone: Bool

    /// The mark of a table of which nothing is copied yet.
    package init(table: String, source: String, isMerge: Bool) {
        self.table = table
        self.source = source
        self.isMerge = isMerge
        copied = 0
        isDone = false
    }
}

/// What the sides of a copy say differently.
package struct TransferWords: Sendable {
    /// Begins a transaction that writes.
    package let begin: String
    /// Counts the tables of one name: a query with one parameter.
    package let countTables: String
    /// `INSERT` that leaves a row alone whose key is there; as `SQLDialect.insertUnlessPresent`.
    package let insertUnlessPresent: @Sendable (_ rest: String) -> String
    /// What an `INSERT` ends with that replaces a row whose key is there: the key's columns, then the others.
    package let replacing: @Sendable (_ key: [String], _ others: [String]) -> String

    /// Words of their parts.
    package init(
        begin: String, countTables: String, insertUnlessPresent: @escaping @Sendable (String) -> String,
        replacing: @escaping @Sendable ([String], [String]) -> String
    ) {
        self.begin = begin
        self.countTables = countTables
        self.insertUnlessPresent = insertUnlessPresent
        self.replacing = replacing
    }

    /// The words of SQL's `ON CONFLICT`, which Postgres and SQLite share.
    package static func onConflict(_ key: [String], _ others: [String]) -> String {
        let changes = others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return "ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(changes)"
    }
}

/// A connection that a copy works with, on its own thread.
package protocol TransferConnection: AnyObject {
    /// What this engine says differently.
    var words: TransferWords { get }
    /// False when the connection has ended and a new one is needed.
    var isUsable: Bool { get }
    /// Begins the time that the next statement may take.
    func startClock()
    /// Runs a statement; as `SQLConnection.execute`.
    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int
    /// Reads rows of the given number of columns.
    func rows(_ sql: String, _ parameters: [SQLValue], columns: Int) throws(SQLFailure) -> [[SQLValue]]
    /// Runs text as it is.
    func run(_ sql: String) throws(SQLFailure)
}

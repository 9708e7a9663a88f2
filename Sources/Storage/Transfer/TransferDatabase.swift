/// One side of a copy: a database whose tables are read and written row by row.
///
/// Each call may be repeated: writing the same rows twice leaves them there once.
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

    /// The rows with some keys, in no order; a column that compares texts loosely may give rows with similar keys too.
    func rows(
        of table: TransferTable, keys: [[SQLValue]], version: Int
    ) async throws(StorageError) -> [[SQLValue]]

    /// Stores rows and how far the copy has come, both or neither; a row whose key is there is replaced.
    ///
    /// In a merge it also records which of the rows are new to the target; see `addedKeys`.
    func store(_ rows: [[SQLValue]], in table: TransferTable, _ mark: TransferMark) async throws(StorageError)

    /// Removes the rows with some keys, then stores others, all in one transaction.
    ///
    /// In a merge it keeps the record of added rows up to date.
    func replace(
        _ keys: [[SQLValue]], with rows: [[SQLValue]], in table: TransferTable, isMerge: Bool
    ) async throws(StorageError)

    /// The keys of rows that a merge added to a table, at most `limit`; the target had no row with such a key before.
    ///
    /// - Parameter digest: The last of the page before.
    func addedKeys(
        of table: TransferTable, after digest: String, limit: Int
    ) async throws(StorageError) -> [TransferAddedKey]

    /// How far a copy into this database has come; nil when there is none.
    func marks() async throws(StorageError) -> [TransferMark]?

    /// Begins a copy: forgets any earlier one and makes a mark for each table.
    func begin(_ marks: [TransferMark]) async throws(StorageError)

    /// Changes the marks of some tables, all or none.
    func update(_ marks: [TransferMark]) async throws(StorageError)

    /// Forgets that there was a copy.
    func end() async throws(StorageError)

    /// Closes the connection and ends its thread.
    func close() async
}

/// A row that a merge added, as the target remembers it.
package struct TransferAddedKey: Hashable, Sendable {
    /// What the keys are sorted by: the SHA-256 of the key, in hexadecimal.
    package let digest: String
    /// The row's key.
    package let key: [SQLValue]

    /// An added key of its parts.
    package init(digest: String, key: [SQLValue]) {
        self.digest = digest
        self.key = key
    }
}

/// How far the copy of one table has come; kept in the target until a relay uses it.
package struct TransferMark: Hashable, Sendable {
    /// What has been done with a table; the raw values are stored.
    package enum Stage: Int64, Sendable {
        /// Its rows are being copied.
        case copying = 0
        /// Every page was copied; nothing is compared yet.
        case copied = 1
        /// It was compared and differs from the source.
        case different = 2
        /// It was compared and is the same as the source.
        case same = 3
        /// Differences that were found are being removed.
        case updating = 4
    }

    /// The table's name.
    package var table: String
    /// What stands for the source, so that a copy is only continued from where it came.
    package var source: String
    /// Whether the target had rows of its own when the copy began.
    package var isMerge: Bool
    /// What has been done.
    package var stage = Stage.copying
    /// While copying: the key of the last row that was copied; nil before the first.
    package var reached: [SQLValue]?
    /// The rows that were copied.
    package var copied = 0
    /// What the target's table held when it was copied as a whole, or compared; nil when that isn't known.
    package var content: TransferChecksum?

    /// The mark of a table of which nothing is copied yet.
    package init(table: String, source: String, isMerge: Bool) {
        self.table = table
        self.source = source
        self.isMerge = isMerge
    }
}

extension TransferMark {
    /// A mark as the table of marks has it: name, source, merge, `place`, rows and stage.
    init(_ row: SQLRow) throws(SQLFailure) {
        self.init(table: try row.text(0), source: try row.text(1), isMerge: try row.integer(2) != 0)
        copied = Int(try row.integer(4))
        // A stage that this program doesn't know is a later one's: comparing again is always right.
        stage = Stage(rawValue: try row.integer(5)) ?? .copied
        guard let text = try row.optionalText(3) else { return }
        guard let values = TransferCoding.decode(hexadecimal: text) else { throw row.wrong(3) }
        switch stage {
        case .copying: reached = values
        case .copied, .different, .same, .updating: content = TransferChecksum(values)
        }
    }

    /// The place in the table, or its content, in one column; NULL when there is neither.
    var place: SQLValue {
        let values = stage == .copying ? reached : content?.values
        return values.map { .text(TransferCoding.hexadecimal($0)) } ?? .null
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

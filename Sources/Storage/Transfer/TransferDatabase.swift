/// One side of a copy: a database whose tables are read and written row by row.
///
/// Each call may be repeated: writing the same rows twice stores them once.
package protocol TransferDatabase: Sendable {
    /// The version of its schema; 0 for the two tables of OpenCode's relay, which can be a source.
    func version() async throws(StorageError) -> Int

    /// How many rows a table has.
    func count(of table: TransferTable) async throws(StorageError) -> Int

    /// The rows after a key, in key order, at most the table's `rowsPerPage`; the first rows if there is no
    /// key.
    ///
    /// Columns that a database of `version` lacks are NULL.
    func page(
        of table: TransferTable, after key: [SQLValue]?, version: Int
    ) async throws(StorageError) -> [[SQLValue]]

    /// The rows with some keys, in any order; a column with a loose collation may also return rows with similar keys.
    func rows(
        of table: TransferTable, keys: [[SQLValue]], version: Int
    ) async throws(StorageError) -> [[SQLValue]]

    /// Stores rows and the copy's position in one transaction; rows with an existing key are replaced.
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

    /// The progress of a copy into this database; nil if there is none.
    func marks() async throws(StorageError) -> [TransferMark]?

    /// Begins a copy: removes the record of any earlier one and creates a mark for each table.
    func begin(_ marks: [TransferMark]) async throws(StorageError)

    /// Changes the marks of some tables, all or none.
    func update(_ marks: [TransferMark]) async throws(StorageError)

    /// Removes the record of the copy.
    func end() async throws(StorageError)

    /// Closes the connection and ends its thread.
    func close() async
}

/// A row that a merge added, as recorded in the target.
package struct TransferAddedKey: Hashable, Sendable {
    /// The SHA-256 of the key in hexadecimal, which determines the order of the keys.
    package let digest: String
    /// The row's key.
    package let key: [SQLValue]

    /// Creates an added key from its parts.
    package init(digest: String, key: [SQLValue]) {
        self.digest = digest
        self.key = key
    }
}

/// The progress of copying one table; stored in the target until a relay uses it.
package struct TransferMark: Hashable, Sendable {
    /// The stage of a table's copy; the raw values are stored.
    package enum Stage: Int64, Sendable {
        /// Its rows are being copied.
        case copying = 0
        /// Every page was copied; nothing is compared yet.
        case copied = 1
        /// It was compared and found to differ from the source.
        case different = 2
        /// It was compared and found equal to the source.
        case same = 3
        /// Differences that were found are being removed.
        case updating = 4
    }

    /// The table's name.
    package var table: String
    /// Identifies the source, so that only a copy from the same source is continued.
    package var source: String
    /// Whether the target had its own rows when the copy began.
    package var isMerge: Bool
    /// The current stage.
    package var stage = Stage.copying
    /// While copying: the key of the last row that was copied; nil before the first.
    package var reached: [SQLValue]?
    /// The number of copied rows.
    package var copied = 0
    /// The content of the target's table when it was copied as a whole or compared; nil if unknown.
    package var content: TransferChecksum?

    /// The mark of a table that hasn't been copied yet.
    package init(table: String, source: String, isMerge: Bool) {
        self.table = table
        self.source = source
        self.isMerge = isMerge
    }
}

extension TransferMark {
    /// A mark as stored in the table of marks: name, source, merge, `place`, rows and stage.
    init(_ row: SQLRow) throws(SQLFailure) {
        self.init(table: try row.text(0), source: try row.text(1), isMerge: try row.integer(2) != 0)
        copied = Int(try row.integer(4))
        // An unknown stage was written by a newer program: comparing again is always correct.
        stage = Stage(rawValue: try row.integer(5)) ?? .copied
        guard let text = try row.optionalText(3) else { return }
        guard let values = TransferCoding.decode(hexadecimal: text) else { throw row.wrong(3) }
        switch stage {
        case .copying: reached = values
        case .copied, .different, .same, .updating: content = TransferChecksum(values)
        }
    }

    /// The position in the table, or its content, in one column; NULL if there is neither.
    var place: SQLValue {
        let values = stage == .copying ? reached : content?.values
        return values.map { .text(TransferCoding.hexadecimal($0)) } ?? .null
    }
}

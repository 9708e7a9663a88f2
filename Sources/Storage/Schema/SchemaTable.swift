/// A table of the schema, from which each engine's SQL is generated.
package struct SchemaTable: Hashable, Sendable {
    /// A column's type; keys and IDs stored as text are compared byte for byte.
    package enum Kind: Hashable, Sendable {
        /// A hexadecimal SHA-256.
        case hash
        /// A UUID as text.
        case id
        /// ASCII text with a maximum number of characters.
        case ascii(Int)
        /// UTF-8 text with a maximum number of bytes, as part of a key.
        case key(Int)
        /// UTF-8 text with a maximum number of characters.
        case text(Int)
        /// UTF-8 text of at most 64 KiB.
        case longText
        /// A small integer.
        case small
        /// A 64-bit integer, such as a time.
        case integer
        /// Binary data of at most 64 KiB.
        case blob
        /// Binary data of at most 16 MiB.
        case largeBlob
    }

    /// A column of a table.
    package struct Column: Hashable, Sendable {
        /// The column's name.
        package let name: String
        /// The column's type.
        package let kind: Kind
        /// Whether the column may be NULL.
        package var isNullable = false
        /// The column's default in SQL, if any.
        package var initial: String?
        /// The step that adds the column, if the table is older.
        package var since = SchemaStep.baseline

        static func column(_ name: String, _ kind: Kind) -> Column { Column(name: name, kind: kind) }
        static func null(_ name: String, _ kind: Kind) -> Column {
            Column(name: name, kind: kind, isNullable: true)
        }
    }

    /// An index of a table.
    package struct Index: Hashable, Sendable {
        /// The index's name.
        package let name: String
        /// The index's columns, in order.
        package let columns: [String]
        /// Whether no two rows may have the same values in these columns.
        package var isUnique = false
        /// The engines that have the index.
        package var engines = Engines.all
    }

    /// The engines on which a part of the schema exists.
    package enum Engines: Hashable, Sendable {
        case all, servers, sqlite
    }

    /// The table's name.
    package let name: String
    /// The columns of the table's primary key, in order.
    ///
    /// It begins with the column by which engines shard, so no key has to be unique across shards.
    package let key: [String]
    /// The table's columns.
    package let columns: [Column]
    /// The table's other indices.
    package var indices: [Index] = []
    /// The primary key in SQLite if it differs; `key` is then an index.
    package var sqliteKey: [String]?
    /// Whether the SQLite table has row IDs, so that its rows are stored separately from the primary key, and counts
    /// and scans read small indices instead of whole rows.
    package var hasRowIDs = false
    /// The engines that have the table.
    package var engines = Engines.all
    /// The step that creates the table.
    package var since = SchemaStep.baseline
    /// How many rows `relay copy` reads and writes at a time, a few megabytes at most; 0 for a table that it skips.
    package var rowsPerPage = 0
    /// Whether rows never change after they are inserted.
    package var isLog = false
    /// Whether the table stays on Citus' coordinator, because it has few rows and each relay reads all of them.
    package var isCoordinators = false

    /// The names of the table's columns.
    package var columnNames: [String] { columns.map(\.name) }
}

/// A table of the schema, from which each engine's SQL is made.
package struct SchemaTable: Hashable, Sendable {
    /// A column's type; texts that are keys or IDs compare by bytes.
    package enum Kind: Hashable, Sendable {
        /// A hexadecimal SHA-256.
        case hash
        /// A UUID as text.
        case id
        /// ASCII of at most some characters.
        case ascii(Int)
        /// UTF-8 of at most some bytes, as part of a key.
        case key(Int)
        /// UTF-8 of at most some characters.
        case text(Int)
        /// UTF-8 of at most 64 KiB.
        case longText
        /// A small integer.
        case small
        /// A 64-bit integer, such as a time.
        case integer
        /// At most 64 KiB.
        case blob
        /// At most 16 MiB.
        case largeBlob
    }

    /// A column.
    package struct Column: Hashable, Sendable {
        /// Its name.
        package let name: String
        /// Its type.
        package let kind: Kind
        /// Whether it may be NULL.
        package var isNullable = false
        /// Its default in SQL, if any.
        package var initial: String?
        /// The step that adds it, if its table is older.
        package var since = SchemaStep.baseline

        static func column(_ name: String, _ kind: Kind) -> Column { Column(name: name, kind: kind) }
        static func null(_ name: String, _ kind: Kind) -> Column {
            Column(name: name, kind: kind, isNullable: true)
        }
    }

    /// An index.
    package struct Index: Hashable, Sendable {
        /// Its name.
        package let name: String
        /// Its columns, in order.
        package let columns: [String]
        /// Whether no two rows may have the same values.
        package var isUnique = false
        /// The engines that have it.
        package var engines = Engines.all
    }

    /// Engines that a part of the schema is for.
    package enum Engines: Hashable, Sendable {
        case all, servers, sqlite
    }

    /// Its name.
    package let name: String
    /// The columns of its primary key, in order.
    ///
    /// It begins with the column by which engines shard, so none has to be unique across shards.
    package let key: [String]
    /// Its columns.
    package let columns: [Column]
    /// Its further indices.
    package var indices: [Index] = []
    /// The primary key in SQLite, if it is another one; `key` is then an index.
    package var sqliteKey: [String]?
    /// Whether SQLite stores the rows apart from the key, so that counts and scans read small indices instead of
    /// contents.
    package var hasRowIDs = false
    /// The engines that have it.
    package var engines = Engines.all
    /// The step that creates it.
    package var since = SchemaStep.baseline
    /// Rows that `relay copy` reads and writes at once, at most a few megabytes; 0 for a table that it leaves out.
    package var rowsPerPage = 0
    /// Whether rows never change after they are inserted.
    package var isLog = false
    /// Whether it stays on the coordinator of Citus: a table of few rows that each relay reads as a whole.
    package var isCoordinators = false

    /// The names of its columns.
    package var columnNames: [String] { columns.map(\.name) }
}

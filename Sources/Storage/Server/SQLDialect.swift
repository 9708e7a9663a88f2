/// What differs between the servers' SQL; everything else is written once, in `ServerStorage`.
package struct SQLDialect: Sendable {
    /// Begins a transaction that may write, at `READ COMMITTED`.
    package let begin: String
    /// An expression for the schema (in MySQL's words: the database) in which tables are made: `current_schema()`.
    package let currentSchema: String
    /// A query for the server's clock, in milliseconds since 1970.
    package let clock: String
    /// A column's values as bytes, for `ORDER BY` and `<`: `id` becomes `id COLLATE "C"`.
    package let bytewise: @Sendable (_ column: String) -> String
    /// `INSERT` that leaves a row alone whose key is there and then counts no row.
    ///
    /// `rest` is what follows the keyword: `secret_lock (secret_hash) VALUES (?)`.
    package let insertUnlessPresent: @Sendable (_ rest: String) -> String
    /// What an `INSERT` ends with that replaces a row whose key is there: the key's columns, then the others.
    package let replacing: @Sendable (_ key: [String], _ others: [String]) -> String
    /// `DELETE` of at most a number of rows, the last parameter, in an order.
    package let deleteFirst: @Sendable (LimitedDeletion) -> String
    /// The statements of a step, each of them harmless where it was run before (`alreadyExists` is no failure then).
    ///
    /// `adopting`: OpenCode's two tables are there and step 1 shall make the relay's of them.
    package let statements: @Sendable (_ step: SchemaStep, _ adopting: Bool) -> [String]
    /// Makes `relay_schema (version, summary)`, version being its key, unless it is there.
    package let createVersionTable: String

    /// A dialect of its parts.
    package init(
        begin: String, currentSchema: String, clock: String, bytewise: @escaping @Sendable (String) -> String,
        insertUnlessPresent: @escaping @Sendable (String) -> String,
        replacing: @escaping @Sendable ([String], [String]) -> String = TransferWords.onConflict,
        deleteFirst: @escaping @Sendable (LimitedDeletion) -> String,
        statements: @escaping @Sendable (SchemaStep, Bool) -> [String], createVersionTable: String
    ) {
        self.begin = begin
        self.currentSchema = currentSchema
        self.clock = clock
        self.bytewise = bytewise
        self.insertUnlessPresent = insertUnlessPresent
        self.replacing = replacing
        self.deleteFirst = deleteFirst
        self.statements = statements
        self.createVersionTable = createVersionTable
    }
}

/// A `DELETE` with a limit, which Postgres writes with a subquery and MySQL without.
package struct LimitedDeletion: Sendable {
    /// The table.
    package let table: String
    /// The columns of its primary key.
    package let key: [String]
    /// Which rows: a condition with parameters.
    package let condition: String
    /// The column whose smallest values go first.
    package let order: String

    /// A deletion of its parts.
    package init(from table: String, key: [String], where condition: String, orderedBy order: String) {
        self.table = table
        self.key = key
        self.condition = condition
        self.order = order
    }
}

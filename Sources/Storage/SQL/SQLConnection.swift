/// One connection to a database, as used by the statements of ``SQLSession``.
///
/// A connection owns one C handle and is used on one thread at a time. Each statement in a transaction reads what was
/// committed before that statement (`READ COMMITTED`). Text is UTF-8 in both directions. A value that doesn't fit its
/// column is an error: it is never truncated or rounded.
package protocol SQLConnection: AnyObject, SendableMetatype {
    /// This engine's SQL dialect.
    static var dialect: SQLDialect { get }

    /// The deadline for the statements that run next.
    ///
    /// A statement that would wait longer fails with `timeout`, and the connection is then unusable. A driver that
    /// can't interrupt its wait ends it after the options' `callTimeout`. SQLite, which waits only for locks, has its
    /// own timeout for them.
    var deadline: ContinuousClock.Instant { get set }

    /// False after a failure that ended the connection or left it in an unknown state; the connection is then
    /// discarded.
    var isUsable: Bool { get }

    /// A query for the server's clock, in milliseconds since 1970; nil for a file.
    var clock: String? { get }

    /// Whether a transaction is open, including a failed one.
    var isInTransaction: Bool { get }

    /// Runs a statement and returns how many rows it inserted, deleted or matched for an update (changed or not).
    ///
    /// Each `?` is a parameter, in order; the statements contain no `?` in literals or names. A statement is prepared
    /// once per connection, unless the location forbids it; the program has a bounded number of statements.
    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int

    /// Runs a statement and passes its rows to `row` one by one; if `row` throws, the rest are dropped.
    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure)

    /// Runs SQL text unchanged, without parameters or results, such as `BEGIN`, `COMMIT` or DDL.
    func run(_ sql: String) throws(SQLFailure)

    /// Inserts rows with the engine's bulk protocol, all or nothing; returns false without inserting anything if the
    /// engine has none.
    ///
    /// Must not be called within a transaction. Fails in the same ways as `execute`.
    func load(_ rows: RowBlock) throws(SQLFailure) -> Bool

    /// Whether the rows are sharded by secret across servers behind this one, so that statements for several secrets
    /// cost more or are refused: Citus refuses a `SELECT … FOR UPDATE` of several secrets' rows.
    func shardsBySecret() throws(SQLFailure) -> Bool
}

extension SQLConnection {
    /// This engine's SQL dialect.
    package var dialect: SQLDialect { Self.dialect }

    /// False: the engine has no bulk protocol.
    package func load(_ rows: RowBlock) throws(SQLFailure) -> Bool { false }

    /// False, as on most engines.
    package func shardsBySecret() throws(SQLFailure) -> Bool { false }

    /// The first column of the first row as an integer; nil if there is no row.
    package func integer(_ sql: String, _ parameters: [SQLValue] = []) throws(SQLFailure) -> Int64? {
        var value: Int64?
        try query(sql, parameters) { row throws(SQLFailure) in
            if value == nil { value = try row.integer(0) }
        }
        return value
    }

    /// The first column of every row as text.
    package func texts(_ sql: String, _ parameters: [SQLValue] = []) throws(SQLFailure) -> [String] {
        var values: [String] = []
        try query(sql, parameters) { row throws(SQLFailure) in values.append(try row.text(0)) }
        return values
    }

    /// Every row's columns.
    package func rows(_ sql: String, _ parameters: [SQLValue] = []) throws(SQLFailure) -> [[SQLValue]] {
        var rows: [[SQLValue]] = []
        try query(sql, parameters) { row throws(SQLFailure) in rows.append(row.columns) }
        return rows
    }
}

extension SQLConnection {
    /// Nil, because a file has no clock.
    package var clock: String? { nil }
}

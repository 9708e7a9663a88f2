/// One connection to a database server: what `ServerStorage` needs of a driver, and all that a driver is.
///
/// A connection owns one C handle, and is opened, used and let go on one thread at a time (letting it go closes it).
/// Its session is set up so that
/// - transactions read what was committed before each of their statements (`READ COMMITTED`),
/// - texts are UTF-8 in both directions, whatever the server's default,
/// - a value that doesn't fit its column is an error, never cut or rounded.
///
/// Every wait ends at `deadline`, and opening at the options' `connectTimeout` for each host: a server that is silent
/// gives `timeout` or `unavailable`, not a thread that hangs.
package protocol SQLConnection: AnyObject, SendableMetatype {
    /// Where the database is: the URL, read and checked. Its description shows neither user nor password.
    associatedtype Location: Sendable

    /// What differs in this server's SQL.
    static var dialect: SQLDialect { get }

    /// Connects to the first of the location's hosts that answers and is what was asked for.
    ///
    /// Fails as `connectionLost` with `unavailable` or `timeout` where a later attempt may succeed, and as `other` with
    /// `refused` where nothing but a change of the configuration helps: user, password, database, certificate.
    static func open(_ location: Location, options: ServerOptions) throws(SQLFailure) -> Self

    /// When the statements that are run now must have ended.
    ///
    /// A statement that would wait longer fails as `timeout`, and the connection is of no use any more. A driver that
    /// can't interrupt its wait then ends it after the options' `callTimeout`.
    var deadline: ContinuousClock.Instant { get set }

    /// False after a failure that ended the connection, or left it unknown where it stands; it is thrown away then.
    var isUsable: Bool { get }

    /// Whether a transaction is open, be it one that failed.
    var isInTransaction: Bool { get }

    /// Runs a statement and says how many rows it inserted, deleted, or found to update (changed or not).
    ///
    /// `?` stands for each parameter in turn, and for nothing else: the statements have no `?` in texts or names.
    /// The statement is prepared once in a connection's life, if the location doesn't forbid it; the program has a
    /// bounded number of them.
    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int

    /// Runs a statement and gives its rows to `row`, one after the other; when that throws, the others are dropped.
    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure)

    /// Runs text as it is, without parameters and result: `BEGIN`, `COMMIT`, DDL.
    func run(_ sql: String) throws(SQLFailure)

    /// Runs `body` while no other connection to this database is in `withSchemaLock`, and commits what it did.
    ///
    /// Waits for the others until `deadline`, then fails as `timeout`. Where DDL is transactional, the lock is a
    /// transaction's and all that `body` did is undone when it throws.
    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result
}

extension SQLConnection {
    /// The first column of the first row as an integer; nil without a row.
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
}

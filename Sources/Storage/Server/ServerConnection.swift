/// One connection to a database server: everything that a driver implements for `ServerStorage`.
///
/// It is opened, used and released on one thread at a time (releasing it closes it). Every wait ends at `deadline`, and
/// opening at the options' `connectTimeout` for each host: a server that is silent gives `timeout` or `unavailable`,
/// not a thread that hangs.
package protocol ServerConnection: SQLConnection {
    /// Where the database is: the URL, read and checked. Its description shows neither user nor password.
    associatedtype Location: Sendable

    /// What differs in this server's schema.
    static var schema: SchemaDialect { get }

    /// Connects to the first of the location's hosts that answers and meets the URL's requirements.
    ///
    /// Fails as `connectionLost` with `unavailable` or `timeout` where a later attempt may succeed, and as `other` with
    /// `refused` where the configuration must change: user, password, database, certificate.
    static func open(_ location: Location, options: ServerOptions) throws(SQLFailure) -> Self

    /// Fails as `denied` if the account may not create tables, or not alter those of `tables` that exist.
    ///
    /// Changes nothing. On an engine that can't tell, it does nothing.
    func checkSchemaRights(tables: [String]) throws(SQLFailure)

    /// Fails if `withSchemaLock` would because of the server's kind; doesn't wait for those in it.
    func trySchemaLock() throws(SQLFailure)

    /// Runs `body` while no other connection to this database is in `withSchemaLock`, and commits what it did.
    ///
    /// Waits for others until `deadline`, then fails as `timeout`. If DDL is transactional, the lock belongs to a
    /// transaction, and everything that `body` did is undone if it throws.
    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result
}

extension ServerConnection {
    /// As `SQLConnection` says.
    package var clock: String? { schema.clock }

    /// What differs in this server's schema.
    package var schema: SchemaDialect { Self.schema }

    /// Nothing: every server has the lock.
    package func trySchemaLock() throws(SQLFailure) {}
}

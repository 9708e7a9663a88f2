/// One connection to a database server: everything that a driver must implement for `ServerStorage`.
///
/// It is opened, used and released on one thread at a time; releasing it closes it. Every wait ends at `deadline`, and
/// opening takes at most the options' `connectTimeout` for each host, so an unresponsive server causes `timeout` or
/// `unavailable` instead of a hung thread.
package protocol ServerConnection: SQLConnection {
    /// The location of a database: its parsed and validated URL, whose description shows neither user nor password.
    associatedtype Location: Sendable

    /// This server's SQL for the schema.
    static var schema: SchemaDialect { get }

    /// Connects to the first of the location's hosts that answers and meets the URL's requirements.
    ///
    /// If a later attempt may succeed, fails as `connectionLost` with `unavailable` or `timeout`. If the configuration
    /// must change (user, password, database or certificate), fails as `other` with `refused`.
    static func open(_ location: Location, options: ServerOptions) throws(SQLFailure) -> Self

    /// Fails with `denied` if the account may not create tables, or may not alter those of `tables` that exist.
    ///
    /// Changes nothing, and does nothing on an engine that can't check this.
    func checkSchemaRights(tables: [String]) throws(SQLFailure)

    /// Fails if this kind of server doesn't support `withSchemaLock`; doesn't wait for the lock.
    func trySchemaLock() throws(SQLFailure)

    /// Runs `body` while no other connection to this database is in `withSchemaLock`, and commits its changes.
    ///
    /// Waits for other connections until `deadline`, then fails with `timeout`. If DDL is transactional, the lock
    /// belongs to a transaction, and everything that `body` did is undone if it throws.
    func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result
}

extension ServerConnection {
    package var clock: String? { schema.clock }

    /// This server's SQL for the schema.
    package var schema: SchemaDialect { Self.schema }

    /// Does nothing: every server of this engine supports the lock.
    package func trySchemaLock() throws(SQLFailure) {}
}

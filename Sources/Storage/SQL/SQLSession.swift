/// The context of a storage call: a connection that no other call uses until the call returns.
///
/// Its extensions contain the statements, which all engines share except for the parts in `SQLDialect`.
package struct SQLSession {
    /// The connection.
    package let connection: any SQLConnection
    /// The caller's deadline; nil if calls wait only for locks.
    let deadline: ContinuousClock.Instant?
    /// Whether the call has already run on a connection that was lost, and may have been committed.
    let isRepeated: Bool
    /// Whether the call runs in a transaction that the connection's owner commits or rolls back.
    private let isInTransaction: Bool

    /// Creates a session for one call on a server's connection.
    init(connection: any SQLConnection, deadline: ContinuousClock.Instant, isRepeated: Bool) {
        self.connection = connection
        self.deadline = deadline
        self.isRepeated = isRepeated
        isInTransaction = false
    }

    /// Creates a session for calls within a transaction that the connection's owner has begun.
    package init(inTransactionOf connection: any SQLConnection) {
        self.connection = connection
        deadline = nil
        isRepeated = false
        isInTransaction = true
    }

    var dialect: SQLDialect { connection.dialect }
    var statements: SQLStatements { connection.dialect.statements }

    /// Runs a statement; see `SQLConnection.execute`.
    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try checkTime()
        return try connection.execute(sql, parameters)
    }

    /// Reads rows; see `SQLConnection.query`.
    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        try checkTime()
        try connection.query(sql, parameters, row: row)
    }

    /// The first column of the first row as an integer; nil if there is no row.
    func integer(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int64? {
        try checkTime()
        return try connection.integer(sql, parameters)
    }

    /// The result of a `SELECT count(*)`.
    func count(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        Int(try integer(sql, parameters) ?? 0)
    }

    /// Inserts rows with the engine's bulk protocol; see `SQLConnection.load`.
    func load(_ rows: RowBlock) throws(SQLFailure) -> Bool {
        guard !isInTransaction else { return false }
        try checkTime()
        return try connection.load(rows)
    }

    /// Every row's columns.
    func rows(_ sql: String, _ parameters: [SQLValue] = []) throws(SQLFailure) -> [[SQLValue]] {
        try checkTime()
        return try connection.rows(sql, parameters)
    }

    /// Runs a trial write's statements.
    package func execute(_ statements: [TrialWrite.Statement]) throws(SQLFailure) {
        for (sql, parameters) in statements {
            guard sql.hasPrefix("SELECT") else {
                _ = try execute(sql, parameters)
                continue
            }
            guard try connection.texts(sql, parameters) == [TrialWrite.text] else {
                let detail =
                    "text came back changed: a proxy or the server converts it to another character set"
                throw SQLFailure(.other, .unsuitable(logDetail: detail))
            }
        }
    }

    /// Locks a secret until the transaction ends.
    ///
    /// Tries to update the row before inserting it: two concurrent inserts would share a lock that neither could
    /// upgrade.
    func lock(_ hash: SecretHash) throws(SQLFailure) {
        guard !dialect.hasOneWriter else { return }
        guard try execute(statements.takeLock, [.hash(hash)]) == 0 else { return }
        _ = try execute(statements.makeLock, [.hash(hash)])
        _ = try execute(statements.takeLock, [.hash(hash)])
    }

    /// Locks a secret under several hashes, always in the same order; within a transaction.
    func lock(_ hashes: [SecretHash]) throws(SQLFailure) {
        for hash in hashes.sorted() { try lock(hash) }
    }

    /// Runs `body` in a transaction, which is rolled back if `body` throws or the commit fails.
    func transaction<Result>(_ body: () throws(SQLFailure) -> Result) throws(SQLFailure) -> Result {
        guard !isInTransaction else { return try body() }
        let result: Result
        do throws(SQLFailure) {
            try checkTime()
            try connection.run(dialect.begin)
            result = try body()
            try checkTime()
        } catch {
            rollBack()
            var failure = error
            failure.mayBeDone = false
            throw failure
        }
        do throws(SQLFailure) {
            try connection.run("COMMIT")
        } catch {
            rollBack()
            // Whatever the error, a failed COMMIT may have taken effect, unless the server rolled it back because of a
            // conflict.
            guard error.kind != .conflict else { throw error }
            throw SQLFailure(.connectionLost, .unavailable(logDetail: error.error.logDetail), mayBeDone: true)
        }
        return result
    }

    /// Rolls back the transaction.
    ///
    /// If that fails, the connection isn't used again, so the server ends the transaction.
    private func rollBack() {
        guard connection.isUsable, connection.isInTransaction else { return }
        try? connection.run("ROLLBACK")
    }

    private func checkTime() throws(SQLFailure) {
        guard let deadline, ContinuousClock.now >= deadline else { return }
        throw SQLFailure(.other, .timeout(logDetail: "the call took too long"))
    }
}

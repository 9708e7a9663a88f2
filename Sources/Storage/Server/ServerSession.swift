/// What a call works with: a connection that is its own until it returns.
struct ServerSession<Connection: SQLConnection> {
    let connection: Connection
    /// When the caller stops waiting.
    let deadline: ContinuousClock.Instant
    /// Whether the call was run before on a connection that was lost, and may have been committed there.
    let isRepeated: Bool

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

    /// Makes whoever else locks the secret wait for this transaction's end.
    ///
    /// The row is updated before it is made: two who insert it share a lock that neither can then turn into its own.
    func lock(_ hash: SecretHash, _ statements: ServerStatements) throws(SQLFailure) {
        guard try execute(statements.takeLock, [.hash(hash)]) == 0 else { return }
        _ = try execute(statements.makeLock, [.hash(hash)])
        _ = try execute(statements.takeLock, [.hash(hash)])
    }

    /// Commits what `body` does, or takes all of it back when it throws or can't be committed.
    func transaction<Result>(_ body: () throws(SQLFailure) -> Result) throws(SQLFailure) -> Result {
        let result: Result
        do throws(SQLFailure) {
            try checkTime()
            try connection.run(Connection.dialect.begin)
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
            // Whatever else it says, a COMMIT that failed may have been done, unless the server took it back.
            guard error.kind != .conflict else { throw error }
            throw SQLFailure(.connectionLost, .unavailable(logDetail: error.error.logDetail), mayBeDone: true)
        }
        return result
    }

    /// A connection whose transaction can't be ended isn't used again; the server ends it then.
    private func rollBack() {
        guard connection.isUsable, connection.isInTransaction else { return }
        try? connection.run("ROLLBACK")
    }

    private func checkTime() throws(SQLFailure) {
        guard ContinuousClock.now < deadline else {
            throw SQLFailure(.other, .timeout(logDetail: "the call took too long"))
        }
    }
}

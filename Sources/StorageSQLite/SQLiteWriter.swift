internal import Glibc
internal import Instruments
internal import Storage

/// The only connection that changes the database and checkpoints its write-ahead log, on its own thread.
///
/// Concurrent calls share one transaction, and so one fsync. Each runs in a savepoint, so that a failing call rolls
/// back only its own changes. If a call ends the transaction (on a full disk), the others run again without it. No call
/// is answered before its commit.
actor SQLiteWriter {
    /// The context of a call.
    struct Session {
        let connection: SQLiteConnection
        let devices: DeviceWrites
        let deliveries: DeliveryWrites
        fileprivate let transaction: Transaction
    }

    private nonisolated let executor = BlockingExecutor(label: "relay.sqlite.w")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private nonisolated let inbox: Inbox<SQLiteCall<Session>>
    /// The durations of transactions.
    nonisolated let durations = Guarded(DurationHistogram())
    private let options: SQLiteOptions
    private var session: Session?
    private var lock: WriterLock?

    init(options: SQLiteOptions) {
        self.options = options
        inbox = Inbox(capacity: options.waitingCallsMax)
    }

    /// Becomes the file's writer, migrates its schema and returns the applied steps.
    func open(_ path: String) throws(StorageError) -> [SchemaStep] {
        let lock = try WriterLock(
            forDatabase: path, waitingMilliseconds: options.writerLockTimeoutMilliseconds)
        let connection = try SQLiteConnection(
            path: path, mode: .readWrite, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
        guard !connection.isReadOnly else { throw .readOnly(logDetail: "\(path) can't be written") }
        // Checked before any change, so that another program's file stays unchanged.
        let pending = try SchemaStep.pending(after: try SQLiteSchema.inspect(connection).version)
        if options.access == .writeWithoutMigrating { try SQLiteSchema.requireCurrent(connection) }
        guard try !SQLiteSchema.holdsUnfinishedCopy(connection) else { throw .unfinishedCopy }
        try configure(connection)
        let steps = pending.isEmpty ? [] : try SQLiteSchema.migrate(connection)
        // The leases' owners have exited: this process is now the only writer.
        for statement in Self.endLeases { try connection.execute(statement) }
        session = Session(
            connection: connection,
            devices: try DeviceWrites(connection),
            deliveries: try DeliveryWrites(connection),
            transaction: try Transaction(connection))
        self.lock = lock
        return steps
    }

    /// Ends all leases and all unanswered claims: a process that opens the file for writing is the only writer.
    private static let endLeases = [
        "UPDATE pending_push SET lease_owner = NULL, due_at = created_at WHERE lease_owner IS NOT NULL",
        "UPDATE event_receipt SET lease_until = 0 WHERE answer IS NULL AND lease_until > 0",
        // Only due rows can be leased; the others aren't read.
        """
        UPDATE schedule SET lease_owner = NULL, lease_until = 0
        WHERE due_at <= unixepoch() * 1000 AND lease_until > 0
        """,
    ]

    /// The number of waiting calls.
    nonisolated var load: Int { inbox.load }

    /// Runs a change on the thread, commits it and returns to the caller's executor.
    nonisolated func write<Output: Sendable>(
        _ body: @escaping @Sendable (Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        let output = CallOutput<Output>()
        try await inbox.perform { session throws(StorageError) in
            output.value = try body(session)
        } wake: {
            executor.submit { self.assumeIsolated { $0.commitAll() } }
        }
        return try output.get()
    }

    /// Commits waiting calls, closes the connection, releases the file and ends the thread; later calls fail with
    /// `closed`.
    nonisolated func close() async {
        inbox.close()
        await closeSession()
        await executor.shutdown()
    }

    private func closeSession() {
        commitAll()
        session = nil
        lock = nil
    }

    private func configure(_ connection: SQLiteConnection) throws(StorageError) {
        let mode = try connection.texts("PRAGMA journal_mode = WAL")
        guard mode == ["wal"] else {
            throw .unavailable(logDetail: "the file system can't do write-ahead logging: \(mode)")
        }
        try connection.execute("PRAGMA synchronous = FULL")
        // Otherwise, savepoints keep overwritten pages in a temporary file for each transaction.
        try connection.execute("PRAGMA temp_store = MEMORY")
        try connection.execute("PRAGMA journal_size_limit = \(options.journalBytesMax)")
        try connection.execute("PRAGMA cache_size = -\(options.cacheKiB)")
        if let pages = options.databasePagesMax { try connection.execute("PRAGMA max_page_count = \(pages)") }
    }

    private func commitAll() {
        while true {
            let batch = inbox.take(limit: options.changesPerTransactionMax)
            guard !batch.isEmpty else { return }
            guard let session else {
                for call in batch { call.fail(.closed) }
                continue
            }
            commit(batch, session)
            checkpointIfDue(session.connection)
        }
    }

    /// Runs all calls in as few transactions as possible, commits them and answers the calls.
    private func commit(_ batch: [SQLiteCall<Session>], _ session: Session) {
        let began = Self.nanoseconds
        defer { durations.withLock { $0.observe(nanoseconds: Self.nanoseconds &- began) } }
        var mayMakeRoom = true
        // A stack: the calls to run next are on top.
        var left = [batch[...]]
        while let calls = left.popLast() {
            guard let failure = attempt(calls, session) else {
                for call in calls { call.finish() }
                continue
            }
            // On a full disk, the write-ahead log's pages may still fit into the database; the log's space can then be
            // reused.
            if case .full = failure.error, mayMakeRoom {
                mayMakeRoom = false
                if (try? session.connection.checkpoint()) != nil {
                    left.append(calls)
                    continue
                }
            }
            // A smaller transaction may fit.
            if failure.call == nil, case .full = failure.error, calls.count > 1 {
                let middle = calls.startIndex + calls.count / 2
                left += [calls[middle...], calls[..<middle]]
                continue
            }
            guard let index = failure.call else {
                for call in calls { call.fail(failure.error) }
                continue
            }
            calls[index].fail(failure.error)
            left += [calls[(index + 1)...], calls[..<index]].filter { !$0.isEmpty }
        }
    }

    /// The failure that rolled back a transaction, and with it the changes made by all of its calls.
    private struct LostTransaction {
        let error: StorageError
        /// The index of the call that ended it; `nil` if the transaction couldn't be begun or committed.
        var call: Int?
    }

    /// A monotonic clock.
    private static var nanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Runs all calls in one transaction and commits it; a failure leaves everything unchanged.
    private func attempt(
        _ calls: ArraySlice<SQLiteCall<Session>>, _ session: Session
    ) -> LostTransaction? {
        var culprit: Int?
        do throws(StorageError) {
            try session.transaction.run { () throws(StorageError) in
                for index in calls.indices {
                    culprit = index
                    try session.transaction.savepoint { calls[index].run(session) }
                }
                culprit = nil
            }
            return nil
        } catch {
            return LostTransaction(error: error, call: culprit)
        }
    }

    /// Copies a long write-ahead log into the database, outside of commits, so that no call waits for this.
    ///
    /// If this fails, such as on a full disk, the log only grows; the next commit reports the error and the next batch
    /// tries again.
    private func checkpointIfDue(_ connection: SQLiteConnection) {
        guard connection.pagesInLog >= options.checkpointPages else { return }
        try? connection.checkpoint()
    }
}

/// The statements that begin and end a transaction and its savepoints.
private struct Transaction {
    private let connection: SQLiteConnection
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    private let rollback: SQLiteStatement
    private let savepoint: SQLiteStatement
    private let release: SQLiteStatement
    private let rollbackToSavepoint: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        self.connection = connection
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        savepoint = try connection.prepare("SAVEPOINT call")
        release = try connection.prepare("RELEASE call")
        rollbackToSavepoint = try connection.prepare("ROLLBACK TO call")
    }

    /// Commits the changes made by `body`, or rolls them back if it throws or the commit fails.
    func run(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        try begin.execute()
        do throws(StorageError) {
            try body()
            try commit.execute()
        } catch {
            if connection.isInTransaction { _ = try? rollback.execute() }
            throw error
        }
    }

    /// Rolls back the changes made by `body` if it returns an error; throws if the whole transaction is lost.
    func savepoint(_ body: () -> StorageError?) throws(StorageError) {
        try savepoint.execute()
        if let error = body() {
            // Some errors, such as a full disk, end the transaction.
            guard connection.isInTransaction else { throw error }
            try rollbackToSavepoint.execute()
        }
        try release.execute()
    }
}

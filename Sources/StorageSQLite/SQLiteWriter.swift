internal import Glibc
internal import Storage

/// The one connection that changes the database and checkpoints its log, on a thread of its own.
///
/// Calls that wait together share one transaction and so one fsync; each runs in a savepoint, so that one that fails takes
/// back its own changes only. Nobody is answered before the commit.
actor SQLiteWriter {
    /// What its calls work with.
    struct Session {
        let connection: SQLiteConnection
        let devices: DeviceWrites
        let deliveries: DeliveryWrites
        let receipts: ReceiptWrites
        let queue: QueueWrites
        let revoking: RevokeWrites
        fileprivate let transaction: Transaction
    }

    private nonisolated let executor = BlockingExecutor(label: "relay.sqlite.w")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private nonisolated let inbox: Inbox<any SQLiteCall<Session>>
    /// How long transactions took.
    nonisolated let durations = Guarded(DurationHistogram())
    private let options: SQLiteOptions
    private var session: Session?
    private var lock: WriterLock?

    init(options: SQLiteOptions) {
        self.options = options
        inbox = Inbox(capacity: options.waitingCallsMax)
    }

    /// Becomes the file's writer, brings its schema up to date and says which steps that took.
    func open(_ path: String) throws(StorageError) -> [SchemaStep] {
        let lock = try WriterLock(
            forDatabase: path, waitingMilliseconds: options.writerLockTimeoutMilliseconds)
        let connection = try SQLiteConnection(
            path: path, mode: .readWrite, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
        guard !connection.isReadOnly else { throw .readOnly(logDetail: "\(path) can't be written") }
        // Before anything is changed: another program's file stays as it is.
        let pending = try SchemaStep.pending(after: try SQLiteSchema.inspect(connection).version)
        if options.access == .writeWithoutMigrating { try SQLiteSchema.requireCurrent(connection) }
        try configure(connection)
        let steps = pending.isEmpty ? [] : try SQLiteSchema.migrate(connection)
        // Whoever held them is dead; the source of a copy may live.
        if options.access != .copyTarget {
            try SQLiteSchema.endCopy(connection)
            try QueueWrites.endLeases(connection)
            try ReceiptWrites.endLeases(connection)
        }
        session = Session(
            connection: connection,
            devices: try DeviceWrites(connection),
            deliveries: try DeliveryWrites(connection),
            receipts: try ReceiptWrites(connection),
            queue: try QueueWrites(connection),
            revoking: try RevokeWrites(connection),
            transaction: try Transaction(connection))
        self.lock = lock
        return steps
    }

    /// How many calls it has to do.
    nonisolated var load: Int { inbox.load }

    /// Runs a change on the thread, commits it and returns to the caller's executor.
    nonisolated func write<Output: Sendable>(
        _ body: @escaping @Sendable (Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        try await inbox.perform(body) {
            executor.submit { self.assumeIsolated { $0.commitAll() } }
        }
    }

    /// Commits what waits, closes the connection, lets the file go and ends the thread; later calls fail as `closed`.
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
        // Savepoints keep what they overwrite in a temporary file otherwise, one a transaction.
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

    /// Does all calls in one transaction, commits it and answers them.
    private func commit(_ batch: [any SQLiteCall<Session>], _ session: Session) {
        let began = Self.nanoseconds
        var failure = attempt(batch, session)
        // On a full disk what the log holds may fit the database, and then the log's own room can be used again.
        if case .full = failure, (try? session.connection.checkpoint()) != nil {
            failure = attempt(batch, session)
        }
        let took = Self.nanoseconds &- began
        durations.withLock { $0.observe(nanoseconds: took) }
        for call in batch {
            if let failure { call.fail(failure) } else { call.finish() }
        }
    }

    /// A clock that never goes back.
    private static var nanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Does all calls in one transaction and commits it; the error means that none of them has changed anything.
    private func attempt(_ batch: [any SQLiteCall<Session>], _ session: Session) -> StorageError? {
        do throws(StorageError) {
            try session.transaction.run { () throws(StorageError) in
                for call in batch { try session.transaction.savepoint { call.run(session) } }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Copies a long log into the database: here and not in a commit, so that nobody waits for it.
    ///
    /// When it fails (a full disk) the log only grows; the next commit reports what is wrong and the next batch tries again.
    private func checkpointIfDue(_ connection: SQLiteConnection) {
        guard connection.pagesInLog >= options.checkpointPages else { return }
        try? connection.checkpoint()
    }
}

/// The statements around a batch of changes.
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

    /// Commits what `body` does, or takes all of it back when it throws or can't be committed.
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

    /// Takes back what `body` does when it returns an error; throws when the whole transaction is lost.
    func savepoint(_ body: () -> StorageError?) throws(StorageError) {
        try savepoint.execute()
        if let error = body() {
            // A full disk, for one, ends the transaction by itself.
            guard connection.isInTransaction else { throw error }
            try rollbackToSavepoint.execute()
        }
        try release.execute()
    }
}

internal import Storage

/// A read-only connection for look-ups, on its own thread.
///
/// Concurrent calls share one read transaction: taking the write-ahead log's shared lock for each call would cost as
/// much as the look-up. The transaction begins after all of its calls were made, so each call sees what was committed
/// before the call.
actor SQLiteReader {
    /// The context of a call.
    struct Session {
        let connection: SQLiteConnection
        let devices: DeviceReads
        let begin: SQLiteStatement
        let commit: SQLiteStatement
    }

    private nonisolated let executor = BlockingExecutor(label: "relay.sqlite.r")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private nonisolated let inbox: Inbox<SQLiteCall<Session>>
    private let callsPerBatchMax: Int
    private var session: Session?

    init(options: SQLiteOptions) {
        inbox = Inbox(capacity: options.waitingCallsMax)
        callsPerBatchMax = options.lookupsPerBatchMax
    }

    /// Opens the file, whose schema must be current.
    func open(_ path: String, options: SQLiteOptions) throws(StorageError) {
        let connection = try SQLiteConnection(
            path: path, mode: .readOnly, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
        try connection.execute("PRAGMA cache_size = -\(options.cacheKiB)")
        try connection.execute("PRAGMA mmap_size = \(options.mappedBytesMax)")
        try SQLiteSchema.requireCurrent(connection)
        session = Session(
            connection: connection,
            devices: try DeviceReads(connection),
            begin: try connection.prepare("BEGIN"),
            commit: try connection.prepare("COMMIT"))
    }

    /// The steps missing from a file's schema; used instead of `open` to inspect a file before it is changed.
    func pendingSteps(_ path: String) throws(StorageError) -> [PendingStep] {
        let connection = try SQLiteConnection(path: path, mode: .readOnly, busyTimeoutMilliseconds: 0)
        return try SQLiteSchema.writer.pending(after: try SQLiteSchema.inspect(connection))
    }

    /// The number of waiting calls.
    nonisolated var load: Int { inbox.load }

    /// Runs a look-up on the thread and returns to the caller's executor.
    nonisolated func read<Output: Sendable>(
        _ body: @escaping @Sendable (Session) throws(StorageError) -> Output
    ) async throws(StorageError) -> Output {
        let output = CallOutput<Output>()
        try await inbox.perform { session throws(StorageError) in
            output.value = try body(session)
        } wake: {
            executor.submit { self.assumeIsolated { $0.answerAll() } }
        }
        return try output.get()
    }

    /// Answers waiting calls, closes the connection and ends the thread; later calls fail with `closed`.
    nonisolated func close() async {
        inbox.close()
        await closeSession()
        await executor.shutdown()
    }

    private func closeSession() {
        answerAll()
        session = nil
    }

    private func answerAll() {
        while true {
            let batch = inbox.take(limit: callsPerBatchMax)
            guard !batch.isEmpty else { return }
            guard let session else {
                for call in batch { call.fail(.closed) }
                continue
            }
            // If the transaction can't begin, each call takes its own lock and reports the error.
            let together = batch.count > 1 && (try? session.begin.execute()) != nil
            for call in batch { _ = call.run(session) }
            if together { _ = try? session.commit.execute() }
            // Answered together, so that an event loop is woken only once.
            for call in batch { call.finish() }
        }
    }
}

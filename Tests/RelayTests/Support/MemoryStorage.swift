import Storage

@testable import StorageSQLite

/// SQLite without a file: each call runs immediately, in its own transaction, on the caller's thread.
final class MemoryStorage: SQLStorage {
    private struct Handle: @unchecked Sendable {  // why: used under the lock
        let connection: SQLiteConnection
    }

    let claimRounds = Guarded(ClaimRounds())
    let load = StorageLoad()
    private let handle: Guarded<Handle>

    init() {
        do throws(StorageError) {
            let connection = try SQLiteConnection(
                path: ":memory:", mode: .readWrite, busyTimeoutMilliseconds: 0)
            _ = try SQLiteSchema.migrate(connection)
            handle = Guarded(Handle(connection: connection))
        } catch {
            preconditionFailure("\(error.logDetail)")
        }
    }

    /// Runs statements in a transaction.
    func run<Output>(
        _ body: (SQLSession) throws(SQLFailure) -> Output
    ) throws(StorageError) -> Output {
        let result: Result<Output, StorageError> = handle.withLock { handle in
            do throws(StorageError) {
                try handle.connection.execute("BEGIN")
                let output = try handle.connection.withSession(body)
                try handle.connection.execute("COMMIT")
                return .success(output)
            } catch {
                try? handle.connection.execute("ROLLBACK")
                return .failure(error)
            }
        }
        return try result.get()
    }

    func read<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try run(body)
    }

    func write<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try run(body)
    }

    func close() async {}
}

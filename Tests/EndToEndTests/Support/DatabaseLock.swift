import CSQLite

/// Prevents all changes to a SQLite database, as a program with an open transaction does.
final class DatabaseLock {
    private var database: OpaquePointer?

    /// Locks the database at a path.
    init(_ path: String) throws {
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_busy_timeout(database, 10_000) == SQLITE_OK,
            sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK
        else { throw Program.Failure(description: "the database \(path) can't be locked") }
    }

    deinit { sqlite3_close(database) }
}

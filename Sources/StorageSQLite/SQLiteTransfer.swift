internal import Glibc
package import Storage

/// One side of a copy in a SQLite file.
package enum SQLiteTransfer {
    /// The file at a location, only to be read; a relay may be running over it.
    package static func source(_ location: SQLiteLocation) -> TransferSide<SQLiteTransferConnection> {
        TransferSide { () throws(StorageError) in
            try await version(location)
        } open: { () throws(StorageError) in
            try SQLiteTransferConnection(readingAt: location)
        }
    }

    /// The file at a location, whose one writer the copy becomes; its schema must be current.
    package static func target(_ location: SQLiteLocation) -> TransferSide<SQLiteTransferConnection> {
        TransferSide { () throws(StorageError) in
            try await version(location)
        } open: { () throws(StorageError) in
            try SQLiteTransferConnection(writingAt: location)
        }
    }

    /// Removes the file of a target, with what SQLite and the relay put beside it, unless it holds rows or is in use.
    ///
    /// - Returns: Whether it was removed.
    package static func removeEmpty(_ location: SQLiteLocation) throws(StorageError) -> Bool {
        guard DatabaseFile.exists(location.path) else { return false }
        let path = try DatabaseFile.find(location.path)
        let lock = try WriterLock(forDatabase: path, waitingMilliseconds: 0)
        guard try isEmpty(path) else { return false }
        for suffix in ["", "-wal", "-shm"] { unsafe _ = unlink(path + suffix) }
        lock.removeFile(ofDatabase: path)
        return true
    }

    private static func isEmpty(_ path: String) throws(StorageError) -> Bool {
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_size == 0 { return true }
        let connection = try SQLiteConnection(
            path: path, mode: .readOnly, busyTimeoutMilliseconds: SQLiteTransferConnection.busyMilliseconds)
        guard try SQLiteSchema.inspect(connection) != .empty else { return true }
        for table in TransferTable.all {
            guard try connection.integer("SELECT count(*) FROM \(table.name)") == 0 else { return false }
        }
        return true
    }

    private static func version(_ location: SQLiteLocation) async throws(StorageError) -> Int {
        guard DatabaseFile.exists(location.path) else {
            throw .unavailable(logDetail: "there is no file \(location.path)")
        }
        let pending = try await SQLiteStorage.pendingSteps(at: location)
        return (pending.first?.step.rawValue ?? SchemaStep.current + 1) - 1
    }
}

/// A file's connection as a copy uses it.
package final class SQLiteTransferConnection: TransferConnection {
    private let connection: SQLiteConnection
    private let lock: WriterLock?
    private var statements: [String: SQLiteStatement] = [:]

    private static let lockWaitMilliseconds: Int64 = 5_000
    fileprivate static let busyMilliseconds: Int32 = 5_000

    fileprivate init(readingAt location: SQLiteLocation) throws(StorageError) {
        lock = nil
        connection = try SQLiteConnection(
            path: try DatabaseFile.find(location.path), mode: .readOnly,
            busyTimeoutMilliseconds: Self.busyMilliseconds)
    }

    fileprivate init(writingAt location: SQLiteLocation) throws(StorageError) {
        let path = try DatabaseFile.find(location.path)
        lock = try WriterLock(forDatabase: path, waitingMilliseconds: Self.lockWaitMilliseconds)
        connection = try SQLiteConnection(
            path: path, mode: .readWrite, busyTimeoutMilliseconds: Self.busyMilliseconds)
        try SQLiteSchema.requireCurrent(connection)
        try connection.execute("PRAGMA synchronous = FULL")
        try connection.execute("PRAGMA temp_store = MEMORY")
    }

    /// As `TransferConnection` says.
    package var words: TransferWords {
        TransferWords(
            begin: "BEGIN IMMEDIATE",
            countTables: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?",
            insertUnlessPresent: { "INSERT OR IGNORE \($0)" }, replacing: TransferWords.onConflict)
    }

    /// As `TransferConnection` says: a file isn't lost.
    package var isUsable: Bool { true }

    /// As `TransferConnection` says: SQLite waits for locks alone, and those have their time.
    package func startClock() {}

    /// As `TransferConnection` says.
    package func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try mapped { () throws(StorageError) in
            try prepared(sql).execute { binder in for value in parameters { binder.value(value) } }
        }
    }

    /// As `TransferConnection` says.
    package func rows(
        _ sql: String, _ parameters: [SQLValue], columns: Int
    ) throws(SQLFailure) -> [[SQLValue]] {
        try mapped { () throws(StorageError) in
            var rows: [[SQLValue]] = []
            try prepared(sql).query { binder in
                for value in parameters { binder.value(value) }
            } row: { row throws(StorageError) in
                var values: [SQLValue] = []
                values.reserveCapacity(columns)
                for column in 0..<Int32(columns) { values.append(try row.value(column)) }
                rows.append(values)
            }
            return rows
        }
    }

    /// As `TransferConnection` says.
    package func run(_ sql: String) throws(SQLFailure) {
        try mapped { () throws(StorageError) in try connection.execute(sql) }
    }

    private func prepared(_ sql: String) throws(StorageError) -> SQLiteStatement {
        if let statement = statements[sql] { return statement }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    private func mapped<Output>(
        _ body: () throws(StorageError) -> Output
    ) throws(SQLFailure) -> Output {
        do throws(StorageError) { return try body() } catch { throw SQLFailure(.other, error) }
    }
}

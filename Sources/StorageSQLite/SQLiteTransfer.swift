internal import Glibc
package import Storage

/// One side of a copy in a SQLite file.
package enum SQLiteTransfer {
    /// The copy itself has just held the lock.
    private static let lockWaitMilliseconds: Int64 = 300
    private static let busyMilliseconds: Int32 = 5_000

    /// The file at a location, only for reading; a relay may be using it.
    package static func source(_ location: SQLiteLocation) -> TransferSide<SQLiteConnection> {
        TransferSide { () throws(StorageError) in
            try await version(location)
        } open: { () throws(StorageError) in
            let connection = try SQLiteConnection(
                path: try DatabaseFile.find(location.path), mode: .readOnly,
                busyTimeoutMilliseconds: busyMilliseconds)
            connection.repairsTexts = true
            return connection
        }
    }

    /// The file at a location, whose only writer the copy becomes; its schema must be current.
    package static func target(_ location: SQLiteLocation) -> TransferSide<SQLiteConnection> {
        TransferSide { () throws(StorageError) in
            try await version(location)
        } open: { () throws(StorageError) in
            let path = try DatabaseFile.find(location.path)
            let lock = try WriterLock(forDatabase: path, waitingMilliseconds: lockWaitMilliseconds)
            let connection = try SQLiteConnection(
                path: path, mode: .readWrite, busyTimeoutMilliseconds: busyMilliseconds)
            try SQLiteSchema.requireCurrent(connection)
            try connection.execute("PRAGMA synchronous = FULL")
            try connection.execute("PRAGMA temp_store = MEMORY")
            connection.lock = lock
            connection.repairsTexts = true
            return connection
        }
    }

    /// Removes a target's file and the files that SQLite and the relay created next to it, unless it contains rows or
    /// is in use.
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
            path: path, mode: .readOnly, busyTimeoutMilliseconds: busyMilliseconds)
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

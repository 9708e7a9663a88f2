package import Storage

/// A SQLite file as one side of a copy; throws `inUse` if a relay is writing to it.
package enum SQLiteTransfer {
    private static let busyMilliseconds: Int32 = 5_000
    private static let lockMilliseconds: Int64 = 300

    /// The file at a location, opened only for reading; while the result exists, no relay can become the file's writer.
    package static func source(_ location: SQLiteLocation) throws(StorageError) -> TransferSide {
        let path = try DatabaseFile.find(location.path)
        let connection = try SQLiteConnection(
            path: path, mode: .readOnly, busyTimeoutMilliseconds: busyMilliseconds)
        switch try WriterLock.look(atDatabase: path) {
        case .free(let lock): connection.lock = lock
        case .held(let process): throw .inUse(logDetail: "process \(process) writes \(path)")
        }
        connection.repairsTexts = true
        return try TransferSide(source: connection, state: try SQLiteSchema.inspect(connection))
    }

    /// The file at a location, created if it is missing; the copy becomes its only writer and brings its schema up to
    /// date.
    package static func target(_ location: SQLiteLocation) throws(StorageError) -> TransferSide {
        let path = try DatabaseFile.create(location.path)
        let lock = try WriterLock(forDatabase: path, waitingMilliseconds: lockMilliseconds)
        let connection = try SQLiteConnection(
            path: path, mode: .readWrite, busyTimeoutMilliseconds: busyMilliseconds)
        guard !connection.isReadOnly else { throw .readOnly(logDetail: "\(path) can't be written") }
        // Checked before any change, so that another program's file stays unchanged.
        let pending = try SchemaStep.pending(after: try SQLiteSchema.inspect(connection).version)
        _ = try connection.texts("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA synchronous = FULL")
        try connection.execute("PRAGMA temp_store = MEMORY")
        if !pending.isEmpty { _ = try SQLiteSchema.migrate(connection) }
        connection.lock = lock
        connection.repairsTexts = true
        return TransferSide(connection)
    }
}

package import Storage

extension SQLiteStorage {
    /// Inspects a file without changing it, even while a relay is writing to it; doesn't create a missing file.
    ///
    /// Throws the error that prevented reading the file or that would prevent creating it, or `foreignDatabase`,
    /// `schemaTooNew` or `unfinishedCopy`.
    package static func inspection(
        at location: SQLiteLocation, id: UUIDv7, now: EpochMilliseconds
    ) async throws(StorageError) -> DatabaseInspection {
        guard DatabaseFile.exists(location.path) else {
            try DatabaseFile.checkFolder(of: location.path)
            return DatabaseInspection(
                missingSteps: SchemaStep.allCases, hasDevices: nil, clock: nil, write: .notTried)
        }
        let reader = SQLiteReader(options: SQLiteOptions())
        do throws(StorageError) {
            let found = try await reader.inspection(
                try DatabaseFile.find(location.path), id: id, now: now)
            await reader.close()
            return found
        } catch {
            await reader.close()
            throw error
        }
    }
}

extension SQLiteReader {
    /// Inspects the file on the reader's thread; used instead of `open`.
    fileprivate func inspection(
        _ path: String, id: UUIDv7, now: EpochMilliseconds
    ) throws(StorageError) -> DatabaseInspection {
        let connection = try SQLiteConnection(
            path: path, mode: .readOnly, busyTimeoutMilliseconds: Self.lookBusyMilliseconds)
        guard try !SQLiteSchema.holdsUnfinishedCopy(connection) else { throw .unfinishedCopy }
        let missing = try SQLiteSchema.writer.pending(after: try SQLiteSchema.inspect(connection)).map(\.step)
        let hasTables = missing.isEmpty
        return DatabaseInspection(
            missingSteps: missing,
            hasDevices: hasTables ? try connection.integer(TrialWrite.hasDevices) == 1 : nil,
            clock: nil, write: try trial(path, hasTables: hasTables, id: id, now: now))
    }

    /// How long the inspection waits for another process's lock.
    private static var lookBusyMilliseconds: Int32 { 2_000 }

    private func trial(
        _ path: String, hasTables: Bool, id: UUIDv7, now: EpochMilliseconds
    ) throws(StorageError) -> DatabaseInspection.WriteTrial {
        let lock: WriterLock?
        switch try WriterLock.look(atDatabase: path) {
        case .held(let process): return .heldBy(process: process)
        case .free(let free): lock = free
        }
        // Keeps the lock, so that no relay becomes the writer in the meantime.
        return withExtendedLifetime(lock) {
            do throws(StorageError) {
                // SQLite and the relay create other files in the same directory.
                try DatabaseFile.checkFolder(of: path)
                let connection = try SQLiteConnection(
                    path: path, mode: .readWrite, busyTimeoutMilliseconds: Self.lookBusyMilliseconds)
                guard !connection.isReadOnly else {
                    throw StorageError.readOnly(logDetail: "\(path) can't be written")
                }
                guard hasTables else { return .notTried }
                try connection.execute("BEGIN IMMEDIATE")
                try connection.withSession { session throws(SQLFailure) in
                    try session.execute(TrialWrite.statements(id: id, at: now))
                }
                try connection.execute("ROLLBACK")
                return .done
            } catch {
                return .failed(error)
            }
        }
    }
}

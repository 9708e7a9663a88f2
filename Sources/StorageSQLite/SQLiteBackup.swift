internal import Glibc
package import Storage

/// A backup of a database: one file that holds all of it.
package enum SQLiteBackup {
    /// Why a file wasn't written; the database is as it was before.
    package enum Failure: Error, Equatable, Sendable {
        /// The file to write exists.
        case exists(path: String)
        /// What was to be read can't be, or isn't a relay's database.
        case reading(StorageError)
        /// The file can't be written, or a relay uses it.
        case writing(StorageError)
    }

    /// What a backup holds.
    package struct Summary: Sendable, Equatable {
        /// The version of its schema; a newer relay upgrades it.
        package let version: Int
        /// Its registered devices.
        package let devices: Int64
        /// Its size.
        package let bytes: Int64
    }

    private static let busyMilliseconds: Int32 = 5_000
    private static let lockMilliseconds: Int64 = 300
    private static let pieceBytes = 1 << 20

    /// Writes a database as it is now to a new file that only its owner can read, also while a relay uses it.
    ///
    /// The file appears when it is complete, checked and on the disk.
    package static func make(of location: SQLiteLocation, at path: String) throws(Failure) -> Summary {
        guard !DatabaseFile.exists(path) else { throw .exists(path: path) }
        let source = try reading { () throws(StorageError) in
            let source = try connection(try DatabaseFile.find(location.path), .readOnly)
            _ = try version(of: source)
            return source
        }
        let part = path + partSuffix
        return try removing(part) { () throws(Failure) in
            try writing { () throws(StorageError) in
                // SQLite fills an empty file and keeps its mode.
                close(try create(part))
                let statement = try source.prepare("VACUUM INTO ?")
                try statement.execute { $0.text(part.hasPrefix("/") ? part : "./" + part) }
            }
            let summary = try reading { () throws(StorageError) in try check(part) }
            try writing { () throws(StorageError) in
                try flush(part)
                try move(part, to: path)
            }
            return summary
        }
    }

    /// Makes a backup the database, which no relay may use meanwhile.
    ///
    /// - Parameters:
    ///   - backup: A descriptor of the backup's file, at its beginning.
    ///   - isReplacing: Whether an existing database may be replaced. It stays complete until the backup takes its place.
    package static func restore(
        from backup: Int32, to location: SQLiteLocation, isReplacing: Bool
    ) throws(Failure) -> Summary {
        let exists = DatabaseFile.exists(location.path)
        guard isReplacing || !exists else { throw .exists(path: location.path) }
        var path = location.path
        let lock = try writing { () throws(StorageError) in
            if exists { path = try DatabaseFile.find(path) }
            return try WriterLock(forDatabase: path, waitingMilliseconds: lockMilliseconds)
        }
        defer { withExtendedLifetime(lock) {} }
        let part = path + partSuffix
        return try removing(part) { () throws(Failure) in
            try writing { () throws(StorageError) in try copy(backup, to: part) }
            let summary = try reading { () throws(StorageError) in try check(part) }
            try writing { () throws(StorageError) in
                if exists { try emptyLog(of: path) }
                try move(part, to: path)
            }
            return summary
        }
    }

    // MARK: Steps

    private static let partSuffix = ".part"

    private static func reading<Output>(
        _ body: () throws(StorageError) -> Output
    ) throws(Failure) -> Output {
        do throws(StorageError) { return try body() } catch { throw .reading(error) }
    }

    private static func writing<Output>(
        _ body: () throws(StorageError) -> Output
    ) throws(Failure) -> Output {
        do throws(StorageError) { return try body() } catch { throw .writing(error) }
    }

    /// Removes an unfinished file of an earlier run, and of this one if it fails.
    private static func removing<Output>(
        _ part: String, _ body: () throws(Failure) -> Output
    ) throws(Failure) -> Output {
        _ = unsafe unlink(part)
        do throws(Failure) {
            return try body()
        } catch {
            for suffix in ["", "-journal", "-wal", "-shm"] { _ = unsafe unlink(part + suffix) }
            throw error
        }
    }

    private static func connection(
        _ path: String, _ mode: SQLiteConnection.Mode
    ) throws(StorageError) -> SQLiteConnection {
        try SQLiteConnection(path: path, mode: mode, busyTimeoutMilliseconds: busyMilliseconds)
    }

    /// The version of a relay's database that this program can open.
    private static func version(of connection: SQLiteConnection) throws(StorageError) -> Int {
        guard try !SQLiteSchema.holdsUnfinishedCopy(connection) else { throw .unfinishedCopy }
        let state = try SQLiteSchema.inspect(connection)
        guard state != .empty else { throw .foreignDatabase(logDetail: "it has no tables") }
        _ = try SQLiteSchema.writer.pending(after: state)
        return state.version
    }

    /// Reads all of a file, as the relay would.
    private static func check(_ path: String) throws(StorageError) -> Summary {
        let connection = try connection(path, .readOnly)
        let version = try version(of: connection)
        let faults = try connection.texts("PRAGMA integrity_check(1)")
        guard faults == ["ok"] else { throw .corrupt(logDetail: faults.joined(separator: ", ")) }
        let devices = try connection.integer("SELECT count(*) FROM device_registration") ?? 0
        var information = stat()
        guard unsafe stat(path, &information) == 0 else {
            throw StorageError.systemCall("reading \(path)", errno)
        }
        return Summary(version: version, devices: devices, bytes: Int64(information.st_size))
    }

    private static func create(_ path: String) throws(StorageError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe open(path, flags, S_IRUSR | S_IWUSR)
        guard descriptor >= 0 else { throw StorageError.systemCall("creating \(path)", errno) }
        return descriptor
    }

    private static func copy(_ source: Int32, to path: String) throws(StorageError) {
        let target = try create(path)
        defer { close(target) }
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        while true {
            let count = unsafe read(source, &piece, piece.count)
            guard count >= 0 else { throw StorageError.systemCall("reading the backup", errno) }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let result = unsafe piece.withUnsafeBytes { bytes in
                    unsafe write(target, bytes.baseAddress.map { unsafe $0 + written }, count - written)
                }
                guard result >= 0 else { throw StorageError.systemCall("writing \(path)", errno) }
                written += result
            }
        }
        guard fsync(target) == 0 else { throw StorageError.systemCall("writing \(path)", errno) }
    }

    /// Moves a database's log into its file, because SQLite would take the log for that of the file's successor.
    ///
    /// A damaged or foreign file has no content to keep.
    private static func emptyLog(of path: String) throws(StorageError) {
        do throws(StorageError) {
            let old = try connection(path, .readWrite)
            guard try old.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
                throw .unavailable(logDetail: "another process reads \(path)")
            }
        } catch {
            switch error {
            case .corrupt, .foreignDatabase: break
            default: throw error
            }
        }
        for suffix in ["-wal", "-shm"] where unsafe unlink(path + suffix) != 0 && errno != ENOENT {
            throw StorageError.systemCall("removing \(path)\(suffix)", errno)
        }
    }

    private static func flush(_ path: String) throws(StorageError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError.systemCall("opening \(path)", errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageError.systemCall("writing \(path)", errno) }
    }

    private static func move(_ part: String, to path: String) throws(StorageError) {
        guard unsafe rename(part, path) == 0 else { throw StorageError.systemCall("creating \(path)", errno) }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        try flush(folder)
    }
}

internal import Glibc
package import Storage

/// A backup of a database: one file that contains the whole database.
package enum SQLiteBackup {
    /// Why no file was written; the database is unchanged.
    package enum Failure: Error, Equatable, Sendable {
        /// The file to write already exists.
        case exists(path: String)
        /// The source can't be read, or isn't a relay's database.
        case reading(StorageError)
        /// The file can't be written, or a relay is using it.
        case writing(StorageError)
    }

    /// A summary of a backup's content.
    package struct Summary: Sendable, Equatable {
        /// The backup's schema version; a newer relay upgrades the schema.
        package let version: Int
        /// The number of registered devices in the backup.
        package let devices: Int64
        /// The backup's size.
        package let bytes: Int64
    }

    private static let busyMilliseconds: Int32 = 5_000
    private static let lockMilliseconds: Int64 = 300
    private static let pieceBytes = 1 << 20

    /// Writes a snapshot of a database, even one that a relay is using, to a file that only its owner can read.
    ///
    /// The file appears once it is complete, checked and flushed to disk; until then, an existing file stays in place.
    ///
    /// - Parameter isReplacing: Whether an existing file may be replaced.
    package static func make(
        of location: SQLiteLocation, at path: String, isReplacing: Bool = false
    ) throws(Failure) -> Summary {
        guard isReplacing || !exists(path) else { throw .exists(path: path) }
        let source = try reading { () throws(StorageError) in
            let source = try connection(try DatabaseFile.find(location.path), .readOnly)
            _ = try version(of: source)
            return source
        }
        return try withPart(of: path) { descriptor, part throws(Failure) in
            do throws(StorageError) {
                // SQLite fills an empty file and keeps its mode.
                let statement = try source.prepare("VACUUM INTO ?")
                try statement.execute { $0.text(part.hasPrefix("/") ? part : "./" + part) }
            } catch {
                switch error {
                case .corrupt, .foreignDatabase, .internalFault, .timeout: throw .reading(error)
                default: throw .writing(error)
                }
            }
            let summary = try reading { () throws(StorageError) in try check(part) }
            try writing { () throws(StorageError) in try flush(descriptor, part) }
            try move(part, to: path, isReplacing: isReplacing)
            return summary
        }
    }

    /// Replaces the database with a backup; no relay may be using the database.
    ///
    /// - Parameters:
    ///   - backup: A descriptor of the backup's file, at its beginning.
    ///   - isReplacing: Whether to replace an existing database, which stays complete until the backup takes its place.
    package static func restore(
        from backup: Int32, to location: SQLiteLocation, isReplacing: Bool
    ) throws(Failure) -> Summary {
        var path = location.path
        let lock = try writing { () throws(StorageError) in
            // A link may lead to another disk, so the new file must be beside the link's target.
            if exists(path) { path = try DatabaseFile.find(path) }
            return try WriterLock(forDatabase: path, waitingMilliseconds: lockMilliseconds)
        }
        defer { withExtendedLifetime(lock) {} }
        guard isReplacing || !exists(path) else { throw .exists(path: location.path) }
        return try withPart(of: path) { descriptor, part throws(Failure) in
            try writing { () throws(StorageError) in
                try copy(backup, to: descriptor, part)
                try flush(descriptor, part)
            }
            let summary = try reading { () throws(StorageError) in try check(part) }
            try writing { () throws(StorageError) in try removeLog(of: path) }
            try move(part, to: path, isReplacing: isReplacing)
            return summary
        }
    }

    // MARK: Steps

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

    /// Runs `body` with a new, empty file beside another file, and removes the new file if `body` leaves it there.
    private static func withPart<Output>(
        of path: String, _ body: (Int32, String) throws(Failure) -> Output
    ) throws(Failure) -> Output {
        // mkostemps(3) replaces the six Xs before the suffix in its argument with random characters.
        let placeholder = String(repeating: "X", count: 6)
        var template = Array("\(path).\(placeholder).part".utf8CString)
        let descriptor = unsafe mkostemps(&template, Int32(".part".utf8.count), O_CLOEXEC)
        let code = errno
        guard descriptor >= 0 else {
            throw .writing(StorageError.systemCall("creating a file beside \(path)", code))
        }
        let part = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer {
            close(descriptor)
            for suffix in ["", "-journal", "-wal", "-shm"] { _ = unsafe unlink(part + suffix) }
        }
        return try body(descriptor, part)
    }

    /// Whether a file or a link exists at the path.
    private static func exists(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0
    }

    private static func connection(
        _ path: String, _ mode: SQLiteConnection.Mode
    ) throws(StorageError) -> SQLiteConnection {
        try SQLiteConnection(path: path, mode: mode, busyTimeoutMilliseconds: busyMilliseconds)
    }

    /// The database's version; throws unless it is a relay's database that this program can open.
    private static func version(of connection: SQLiteConnection) throws(StorageError) -> Int {
        guard try !SQLiteSchema.holdsUnfinishedCopy(connection) else { throw .unfinishedCopy }
        let state = try SQLiteSchema.inspect(connection)
        guard state != .empty else { throw .foreignDatabase(logDetail: "it has no tables") }
        _ = try SQLiteSchema.writer.pending(after: state)
        return state.version
    }

    /// Checks a file by reading all of it, as the relay would.
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

    private static func copy(
        _ source: Int32, to target: Int32, _ path: String
    ) throws(StorageError) {
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        while true {
            let count = unsafe read(source, &piece, piece.count)
            guard count >= 0 else { throw StorageError.systemCall("reading the backup", errno) }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let result = unsafe piece.withUnsafeBytes { bytes in
                    unsafe write(target, bytes.baseAddress.map { unsafe $0 + written }, count - written)
                }
                guard result >= 0 else { throw StorageError.systemCall("writing \(path)", errno) }
                written += result
            }
        }
    }

    /// Moves a database's write-ahead log into its file, and removes the log, which SQLite would otherwise apply to the
    /// file's successor.
    ///
    /// If the file can't be read, it has no content worth keeping.
    private static func removeLog(of path: String) throws(StorageError) {
        if exists(path) {
            var isBusy = false
            do throws(StorageError) {
                let old = try connection(path, .readWrite)
                isBusy = try old.integer("PRAGMA wal_checkpoint(TRUNCATE)") != 0
            } catch {
                switch error {
                case .timeout, .readOnly, .full: throw error
                default: break
                }
            }
            guard !isBusy else { throw .timeout(logDetail: "another process reads \(path)") }
        }
        for suffix in ["-journal", "-wal", "-shm"]
        where unsafe unlink(path + suffix) != 0 && errno != ENOENT {
            throw StorageError.systemCall("removing \(path)\(suffix)", errno)
        }
    }

    private static func flush(_ descriptor: Int32, _ path: String) throws(StorageError) {
        guard fsync(descriptor) == 0 else { throw StorageError.systemCall("writing \(path)", errno) }
    }

    /// Renames a complete file atomically; an existing file with the new name stays unless `isReplacing` is set.
    private static func move(
        _ part: String, to path: String, isReplacing: Bool
    ) throws(Failure) {
        let moved = isReplacing ? unsafe rename(part, path) : unsafe link(part, path)
        let code = errno
        guard moved == 0 else {
            if code == EEXIST { throw .exists(path: path) }
            throw .writing(StorageError.systemCall("creating \(path)", code))
        }
        try writing { () throws(StorageError) in
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw StorageError.systemCall("opening \(folder)", errno) }
            defer { close(descriptor) }
            try flush(descriptor, folder)
        }
    }
}

internal import Glibc
internal import Storage

/// The right to be a database file's only writer: an flock(2) on a file next to it, held until `deinit`.
///
/// SQLite before 3.51.3 can damage a write-ahead log that two connections reset, so a second process must not even try
/// to write. The lock isn't on the database itself: closing any descriptor of that file would drop SQLite's own locks
/// on it. The kernel releases the lock when the process dies, so a leftover lock file has no effect. The file is never
/// removed, because a process could then hold a lock on the removed file.
@safe
final class WriterLock {
    private let descriptor: Int32

    /// The path of a database's lock file.
    static func path(forDatabase path: String) -> String {
        path + suffix
    }

    private static let suffix = "-writer"

    /// Takes the lock, retrying for a while; throws `inUse` with the ID of the process that holds it.
    init(forDatabase database: String, waitingMilliseconds: Int64) throws(StorageError) {
        let path = Self.path(forDatabase: database)
        let deadline = ContinuousClock.now + .milliseconds(waitingMilliseconds)
        descriptor = try Self.locked(path, until: deadline)
        writeHolder()
    }

    /// Opens the lock file, creating it if necessary, and locks it.
    private static func locked(
        _ path: String, until deadline: ContinuousClock.Instant
    ) throws(StorageError) -> Int32 {
        // Root must not follow a symbolic link that the database's owner has put here.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)
        guard descriptor >= 0 else { throw StorageError.systemCall("opening \(path)", errno) }
        DatabaseFile.give(descriptor, toOwnerOf: String(path.dropLast(Self.suffix.count)))
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR else {
                close(descriptor)
                throw StorageError.systemCall("locking \(path)", code)
            }
            guard ContinuousClock.now < deadline else {
                let process = holder(descriptor)
                close(descriptor)
                throw .inUse(logDetail: "\(path) is locked by process \(process)")
            }
            usleep(retryMicroseconds)
        }
        return descriptor
    }

    /// Takes the lock if its file exists and no process holds it, without changing anything; for inspecting a database.
    ///
    /// A database's first writer creates the lock file, so if there is no lock file, there is no writer.
    private init?(lookingAt path: String) throws(StorageError) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw StorageError.systemCall("opening \(path)", errno) }
            return nil
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
        let code = errno
        guard code == EWOULDBLOCK else { throw StorageError.systemCall("locking \(path)", code) }
        throw .inUse(logDetail: Self.holder(descriptor))
    }

    /// The state of a database's lock.
    enum Look {
        /// No process holds the lock and, if the lock file exists, no other process can take it while this value
        /// exists.
        case free(WriterLock?)
        /// The database has a writer, the process with this ID.
        case held(process: String)
    }

    /// Determines whether a database has a writer; creates no file.
    static func look(atDatabase database: String) throws(StorageError) -> Look {
        do throws(StorageError) {
            return .free(try WriterLock(lookingAt: path(forDatabase: database)))
        } catch {
            guard case .inUse(let process) = error else { throw error }
            return .held(process: process)
        }
    }

    /// Unlocks instead of only closing the descriptor: between fork and exec, a child process keeps a copy of the
    /// descriptor, and with it the lock.
    deinit {
        guard descriptor >= 0 else { return }
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static let retryMicroseconds: UInt32 = 10_000

    /// Writes this process's ID to the file, for other processes' error messages; the lock doesn't depend on it.
    private func writeHolder() {
        let text = "\(getpid())\n"
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe pwrite(descriptor, text, text.utf8.count, 0)
    }

    private static func holder(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 20)
        let count = unsafe pread(descriptor, &buffer, buffer.count, 0)
        let digits = buffer.prefix(max(count, 0)).prefix { (0x30...0x39).contains($0) }
        return digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self)
    }
}

/// A database file's canonical path, so that different names for it lead to the same lock.
enum DatabaseFile {
    /// The path without symbolic links; if the file is missing, creates an empty one that only its owner can access.
    static func create(_ path: String) throws(StorageError) -> String {
        if let existing = resolve(path) { return existing }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)
        // EEXIST: another process created it in the meantime.
        guard descriptor >= 0 || errno == EEXIST else {
            throw StorageError.systemCall("creating \(path)", errno)
        }
        if descriptor >= 0 {
            give(descriptor, toOwnerOf: folder(of: path))
            close(descriptor)
        }
        return try find(path)
    }

    /// Makes the directory's owner the owner of a file created by root, as SQLite does with the files that it adds.
    ///
    /// Otherwise, a service running as another user could no longer open the file.
    static func give(_ descriptor: Int32, toOwnerOf path: String) {
        guard geteuid() == 0 else { return }
        var around = stat()
        var own = stat()
        guard unsafe stat(path, &around) == 0, unsafe fstat(descriptor, &own) == 0 else { return }
        guard own.st_uid == 0, around.st_uid != 0 else { return }
        _ = fchown(descriptor, around.st_uid, around.st_gid)
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }

    /// The path of an existing file, without symbolic links.
    static func find(_ path: String) throws(StorageError) -> String {
        guard let existing = resolve(path) else { throw StorageError.systemCall("finding \(path)", errno) }
        return existing
    }

    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// Fails if no file can be created at a path, because its directory is missing or inaccessible.
    static func checkFolder(of path: String) throws(StorageError) {
        let folder = folder(of: path)
        guard unsafe access(folder, W_OK | X_OK) == 0 else {
            throw StorageError.systemCall("writing into \(folder)", errno)
        }
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}

extension StorageError {
    /// The error for a failed system call; the action is only for the log.
    static func systemCall(_ action: String, _ code: Int32) -> StorageError {
        let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        let detail = "\(action): \(reason)"
        return switch code {
        case ENOSPC, EDQUOT: .full(logDetail: detail)
        case EROFS, EACCES, EPERM: .readOnly(logDetail: detail)
        default: .unavailable(logDetail: detail)
        }
    }
}

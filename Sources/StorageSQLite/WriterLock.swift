internal import Glibc
internal import Storage

/// The right to be a database file's one writer: an flock(2) on a file beside it, held until `deinit`.
///
/// SQLite before 3.51.3 can damage a write-ahead log that two connections reset, so a second process must not even try.
/// The lock is not on the database itself: closing any descriptor of that file would drop SQLite's own locks on it. The
/// kernel lets go when the process dies, so a lock file that is left behind means nothing. Only `removeFile` removes
/// it: whoever gets the lock of a file that is no longer there tries again with the one that is.
@safe
final class WriterLock {
    private let descriptor: Int32

    /// The file whose lock stands for a database's.
    static func path(forDatabase path: String) -> String {
        path + suffix
    }

    private static let suffix = "-writer"

    /// Takes the lock, trying for some time; `inUse` names the process that holds it.
    init(forDatabase database: String, waitingMilliseconds: Int64) throws(StorageError) {
        let path = Self.path(forDatabase: database)
        let deadline = ContinuousClock.now + .milliseconds(waitingMilliseconds)
        var locked = try Self.locked(path, until: deadline)
        while !Self.isFile(locked, at: path) {
            close(locked)
            locked = try Self.locked(path, until: deadline)
        }
        descriptor = locked
        writeHolder()
    }

    /// Opens the lock's file, making it where it is missing, and locks it.
    private static func locked(
        _ path: String, until deadline: ContinuousClock.Instant
    ) throws(StorageError) -> Int32 {
        // Root must not write where a link leads that the database's owner has put here.
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

    /// Whether an open file is the one that a path names, and wasn't removed meanwhile.
    private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
        var opened = stat()
        var named = stat()
        guard unsafe fstat(descriptor, &opened) == 0, unsafe stat(path, &named) == 0 else { return false }
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// Removes the lock's file, along with a database that is removed; this process still holds the lock.
    func removeFile(ofDatabase database: String) {
        unsafe _ = unlink(Self.path(forDatabase: database))
    }

    /// Takes the lock if its file exists and no process holds it, without changing anything; for inspecting a database.
    ///
    /// Whoever comes first to a database makes the file, so without one there is no writer.
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
        /// Nobody has it, nor will anybody as long as this lives, where there is something to lock.
        case free(WriterLock?)
        /// A process writes the database; its id.
        case held(process: String)
    }

    /// Finds out whether a process writes a database; makes no file.
    static func look(atDatabase database: String) throws(StorageError) -> Look {
        do throws(StorageError) {
            return .free(try WriterLock(lookingAt: path(forDatabase: database)))
        } catch {
            guard case .inUse(let process) = error else { throw error }
            return .held(process: process)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    private static let retryMicroseconds: UInt32 = 10_000

    /// Leaves this process's id in the file, for the message that the next one gets; the lock doesn't depend on it.
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

/// A database file's one true path, so that two names for it meet at one lock.
enum DatabaseFile {
    /// The path without symbolic links; makes an empty file, for its owner alone, when there is none.
    static func create(_ path: String) throws(StorageError) -> String {
        if let existing = resolve(path) { return existing }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)
        // EEXIST: another process made it in between.
        guard descriptor >= 0 || errno == EEXIST else {
            throw StorageError.systemCall("creating \(path)", errno)
        }
        if descriptor >= 0 {
            give(descriptor, toOwnerOf: folder(of: path))
            close(descriptor)
        }
        return try find(path)
    }

    /// Gives a file that root made to the owner of what is around it, as SQLite does with the files it adds.
    ///
    /// Otherwise a service that runs as another user couldn't open it any more. A failure shows there.
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

    /// The path without symbolic links of a file that must be there.
    static func find(_ path: String) throws(StorageError) -> String {
        guard let existing = resolve(path) else { throw StorageError.systemCall("finding \(path)", errno) }
        return existing
    }

    /// Whether there is a file.
    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// Fails where no file could be made at a path: its folder is missing, or closed to this process.
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
    /// The error of a system call that failed; the path is for the log only.
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

import Glibc
import Network
import Programs

/// The queue's file: any process of the bridge can append records to it under a lock.
///
/// The process that owns the queue rewrites the file without obsolete records (docs/design/bridge.md).
final class QueueFile {
    private let path: String
    private let lockDescriptor: Int32
    private var descriptor: Int32
    /// The position up to which the file has been read.
    private var offset: Int64 = 0
    /// The beginning of an incomplete line.
    private var rest: [UInt8] = []

    /// Opens the queue in a directory, which is created if necessary.
    init(directory: String) throws(FileError) {
        try SmallFile.createDirectory(directory)
        path = directory + "/queue.jsonl"
        lockDescriptor = open(directory + "/queue.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lockDescriptor >= 0 else { throw FileError(errno: errno) }
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let fault = FileError(errno: errno)
            close(lockDescriptor)
            throw fault
        }
        SmallFile.syncDirectory(of: path)
    }

    deinit {
        close(descriptor)
        close(lockDescriptor)
    }

    /// The file's size in bytes.
    var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Appends records; with `isDurable`, they survive a power failure once this returns.
    func append(_ records: [QueueRecord], isDurable: Bool) throws(FileError) {
        try lock()
        defer { unlock() }
        try reopenIfReplaced()
        var bytes: [UInt8] = []
        // A process killed while writing may have left an incomplete line.
        if let last = lastByte(), last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        for record in records { bytes += record.line }
        try SmallFile.write(bytes, to: descriptor)
        guard isDurable, fsync(descriptor) != 0 else { return }
        throw FileError(errno: errno)
    }

    /// Whether more has been appended since the last ``readNew()`` than the next call can read.
    var isOversized: Bool { size - offset > Bounds.queueFileBytesMax }

    /// Renames the file and starts a new one with the given records.
    ///
    /// - Returns: The path of the file that was set aside, which replaces an earlier one.
    func setAside(keeping records: [QueueRecord]) throws(FileError) -> String {
        try lock()
        defer { unlock() }
        let aside = path + ".aside"
        guard rename(path, aside) == 0 else { throw FileError(errno: errno) }
        try replaceContents(with: records)
        return aside
    }

    /// The records that were appended since the last call, by this process or another.
    func readNew() throws(FileError) -> [QueueRecord] {
        let size = self.size
        guard size > offset else { return [] }
        guard !isOversized else {
            throw FileError("it is larger than \(Bounds.queueFileBytesMax) bytes")
        }
        var records: [QueueRecord] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while offset < size {
            let count = pread(descriptor, &chunk, chunk.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(errno: errno) }
            guard count > 0 else { break }
            offset += Int64(count)
            rest += chunk[..<count]
            takeLines(into: &records)
        }
        return records
    }

    private func takeLines(into records: inout [QueueRecord]) {
        var start = rest.startIndex
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if let record = QueueRecord(line: rest[start..<end]) { records.append(record) }
            start = end + 1
        }
        rest.removeFirst(start)
        if rest.count > Bounds.queueRecordBytesMax { rest = [] }
    }

    /// Replaces the file's contents.
    ///
    /// - Parameter records: Returns the records to keep, given those that other processes have just appended.
    func rewrite(_ records: ([QueueRecord]) -> [QueueRecord]) throws(FileError) {
        try lock()
        defer { unlock() }
        try replaceContents(with: records(try readNew()))
    }

    private func replaceContents(with records: [QueueRecord]) throws(FileError) {
        try SmallFile.replace(path, with: records.flatMap(\.line))
        let new = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
        guard new >= 0 else { throw FileError(errno: errno) }
        close(descriptor)
        descriptor = new
        offset = size
        rest = []
    }

    /// Reopens the file if the process that owns the queue has rewritten it.
    private func reopenIfReplaced() throws(FileError) {
        var mine = stat()
        var current = stat()
        let isSame =
            fstat(descriptor, &mine) == 0 && stat(path, &current) == 0 && mine.st_ino == current.st_ino
            && mine.st_dev == current.st_dev
        guard !isSame else { return }
        let new = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard new >= 0 else { throw FileError(errno: errno) }
        close(descriptor)
        descriptor = new
        offset = 0
        rest = []
    }

    private func lastByte() -> UInt8? {
        let size = self.size
        var byte: UInt8 = 0
        guard size > 0, pread(descriptor, &byte, 1, off_t(size - 1)) == 1 else { return nil }
        return byte
    }

    private func lock() throws(FileError) { try SmallFile.lock(lockDescriptor) }

    private func unlock() { flock(lockDescriptor, LOCK_UN) }
}

/// The right to be the only process that posts a queue's events.
final class QueueOwnership: Sendable {
    private let descriptor: Int32

    /// Becomes the owner; `nil` if another process remains the owner throughout `patience`.
    init?(directory: String, patience: Duration = Bounds.ownershipPatience) throws(FileError) {
        try SmallFile.createDirectory(directory)
        descriptor = open(directory + "/serve.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        let end = MonotonicTime.current + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard MonotonicTime.current < end else {
                close(descriptor)
                return nil
            }
            usleep(20_000)
        }
    }

    deinit { close(descriptor) }
}

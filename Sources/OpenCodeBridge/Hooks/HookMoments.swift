import Glibc
import Network

/// The file `hooks` of the state directory: what has just rung for hooks, so that the same hook called twice rings once.
///
/// One line each: milliseconds since 1970, and a hash of what rang.
struct HookMoments: Sendable {
    private let path: String

    /// The file in a directory, which is created.
    init(directory: String) throws(SmallFile.Fault) {
        try SmallFile.createDirectory(directory)
        path = directory + "/hooks"
    }

    /// Whether the same rang within `Bounds.hookWindow`; if not, it is noted.
    ///
    /// Of calls at the same time, exactly one gets `false`.
    func isRepeated(_ moment: String, now: EpochMilliseconds) throws(SmallFile.Fault) -> Bool {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SmallFile.Fault(errno: errno) }
        defer { close(descriptor) }
        try lock(descriptor)
        let hash = Fingerprint.hex(moment, count: 40)
        let text = String(
            decoding: try SmallFile.read(descriptor, bytesMax: Bounds.hookFileBytesMax), as: UTF8.self)
        var recent = text.split(separator: "\n").compactMap(Self.entry).filter {
            // A clock that was set back must not silence anything for long.
            abs(now - $0.at) < Bounds.hookWindow.milliseconds
        }
        guard !recent.contains(where: { $0.hash == hash }) else { return true }
        recent.append((now, hash))
        let lines = recent.suffix(Bounds.hookMomentsMax).map { "\($0.at) \($0.hash)\n" }.joined()
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw SmallFile.Fault(errno: errno)
        }
        try SmallFile.write(Array(lines.utf8), to: descriptor)
        return false
    }

    private static func entry(_ line: Substring) -> (at: EpochMilliseconds, hash: String)? {
        let words = line.split(separator: " ")
        guard words.count == 2, let at = EpochMilliseconds(words[0]), at >= 0 else { return nil }
        return (at, String(words[1]))
    }

    /// Locks the file until it is closed.
    private func lock(_ descriptor: Int32) throws(SmallFile.Fault) {
        let end = MonotonicTime.current + Bounds.queueLockDeadline
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw SmallFile.Fault(errno: errno) }
            guard MonotonicTime.current < end else { throw SmallFile.Fault("another process holds its lock") }
            usleep(5_000)
        }
    }
}

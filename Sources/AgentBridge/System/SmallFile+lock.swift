import Glibc
import Network
import Programs

extension SmallFile {
    /// Locks an open file until it is closed or unlocked; other processes hold such locks only for milliseconds.
    static func lock(_ descriptor: Int32) throws(FileError) {
        let end = MonotonicTime.current + Bounds.queueLockDeadline
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw FileError(errno: errno) }
            guard MonotonicTime.current < end else { throw FileError("another process holds its lock") }
            usleep(5_000)
        }
    }
}

import Glibc
import Network
import Programs

/// Standard output, the destination of a command's results.
enum StandardOutput {
    /// Whether it still has a reader: false once the other end of a pipe is closed.
    static var isRead: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) <= 0 || output.revents & Int16(POLLERR | POLLHUP | POLLNVAL) == 0
    }

    /// The error number of the first failed write, unless the reader has gone.
    private static let lost = Lock<Int32?>(nil)

    /// Why output was lost, in the system's words; `nil` if it was written or its reader has gone.
    static var fault: FileFault? { lost.withLock { $0 }.map { FileFault(errno: $0) } }

    /// Writes a text; false if it gave up.
    ///
    /// What a terminal would obey in JSON is escaped; other texts have been made safe where they were put together.
    @discardableResult
    static func write(_ text: String) -> Bool {
        let bytes = Printable.json(Array(text.utf8))
        guard let code = FileDescriptorOutput.write(bytes, to: STDOUT_FILENO) else { return true }
        if code != EPIPE { lost.withLock { $0 = $0 ?? code } }
        return false
    }
}

/// Writes to one of the process's file descriptors.
enum FileDescriptorOutput {
    /// Writes all bytes; returns the error number if it gave up.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}

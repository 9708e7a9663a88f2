import Glibc
import Network

/// Standard error, where log lines and messages of failure go.
enum StandardError {
    /// Whether a person is watching.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes all bytes; gives up when nobody can read them any more.
    static func write(_ bytes: [UInt8]) {
        FileDescriptorOutput.write(bytes, to: STDERR_FILENO)
    }

    /// Writes one message of the program, in its name.
    static func message(_ text: String) {
        write(Array("relay: \(text)\n".utf8))
    }
}

/// Standard output, where goes what a command was asked to print.
enum StandardOutput {
    /// Whether somebody still reads: false when the other end of a pipe is closed.
    static var isRead: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) <= 0 || output.revents & Int16(POLLERR | POLLHUP | POLLNVAL) == 0
    }

    /// The system's error number of the first text that could not be written, but for a reader who has gone.
    private static let lost = Lock<Int32?>(nil)

    /// Why not all could be written, in the system's words; `nil` when it was, or when nobody wants it any more.
    static var fault: FileFault? { lost.withLock { $0 }.map { FileFault(errno: $0) } }

    /// Writes a text as it is; false when it was given up.
    @discardableResult
    static func write(_ text: String) -> Bool {
        guard let code = FileDescriptorOutput.write(Array(text.utf8), to: STDOUT_FILENO) else { return true }
        if code != EPIPE { lost.withLock { $0 = $0 ?? code } }
        return false
    }
}

private enum FileDescriptorOutput {
    /// Writes all bytes; the system's error number when it was given up.
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

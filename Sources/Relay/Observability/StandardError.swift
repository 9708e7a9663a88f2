import Glibc

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

    /// Writes a text as it is; false when nobody reads any more.
    @discardableResult
    static func write(_ text: String) -> Bool {
        FileDescriptorOutput.write(Array(text.utf8), to: STDOUT_FILENO)
    }
}

private enum FileDescriptorOutput {
    /// Writes all bytes; false when it was given up.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}

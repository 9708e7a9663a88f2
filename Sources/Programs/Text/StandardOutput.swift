import Glibc
import Synchronization

/// Standard output, the destination of a command's results.
package enum StandardOutput {
    /// Whether standard output still has a reader: false once the other end of a pipe is closed.
    package static var isRead: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) <= 0 || output.revents & Int16(POLLERR | POLLHUP | POLLNVAL) == 0
    }

    /// The error number of a failed write, unless the reader has closed the pipe.
    private static let lost = Atomic<Int32>(0)

    /// Why output was lost, in the system's words; `nil` if it was written or its reader has closed the pipe.
    package static var fault: FileError? {
        let code = lost.load(ordering: .relaxed)
        return code == 0 ? nil : FileError(errno: code)
    }

    /// Writes text; returns false if the write failed.
    ///
    /// Terminal control characters in JSON are escaped; other text was made safe when it was composed.
    @discardableResult
    package static func write(_ text: String) -> Bool {
        do throws(FileError) {
            try SmallFile.write(Printable.json(Array(text.utf8)), to: STDOUT_FILENO)
            return true
        } catch {
            if error.code != EPIPE { lost.store(error.code, ordering: .relaxed) }
            return false
        }
    }
}

/// Standard error, the destination of messages.
package enum StandardError {
    /// Whether standard error is a terminal.
    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes all bytes; gives up if there is no longer a reader.
    package static func write(_ bytes: [UInt8]) { try? SmallFile.write(bytes, to: STDERR_FILENO) }

    /// Writes a message, prefixed with the program's name.
    package static func message(_ text: String, from program: String) {
        write(Array("\(program): \(Printable.lines(text))\n".utf8))
    }
}

import Glibc

/// Why a file couldn't be used: the system's message, without any of the file's content.
package struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The message.
    package let reason: String
    /// Whether the file doesn't exist.
    package var isMissing = false
    /// The system's error number; 0 if it reported none.
    package var code: Int32 = 0

    /// Creates an error for a problem that the system didn't report.
    package init(_ reason: String, isMissing: Bool = false) {
        self.reason = reason
        self.isMissing = isMissing
    }

    /// Creates an error with the system's message for an error number.
    package init(errno code: Int32) {
        var buffer = [CChar](repeating: 0, count: 256)
        let text = strerror_r(code, &buffer, buffer.count)
        reason = text.map { String(cString: $0) } ?? "error \(code)"
        isMissing = code == ENOENT || code == ENOTDIR
        self.code = code
    }

    package var description: String { reason }
}

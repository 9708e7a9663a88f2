import Glibc

/// Reads, writes and removes files.
enum FileSystem {
    /// The largest file that ``read(_:)`` accepts, in bytes.
    private static let bytesMax = 1 << 20

    /// Creates a private temporary directory for the certificate's key.
    static func makeTemporaryDirectory() throws(ProgramFailure) -> String {
        let base = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        // mkdtemp replaces the X's.
        var template = Array((base + "/apns-simulator-" + String(repeating: "X", count: 6)).utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw failure(.cantCreate, "create a directory in", base)
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Writes a file atomically.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws(ProgramFailure) {
        let part = path + ".part-\(getpid())"
        let descriptor = unsafe open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure(.cantCreate, "write", path) }
        let isWritten = StandardOutput.write(bytes, to: descriptor) && fchmod(descriptor, mode) == 0
        guard close(descriptor) == 0, isWritten, unsafe rename(part, path) == 0 else {
            let problem = failure(.cantCreate, "write", path)
            unsafe unlink(part)
            throw problem
        }
    }

    /// Reads a file of at most 1 MiB.
    static func read(_ path: String) throws(ProgramFailure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(.noInput, "read", path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(.noInput, "read", path) }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= bytesMax else {
                throw ProgramFailure(.noInput, "\(path) is larger than \(bytesMax) bytes")
            }
        }
    }

    /// Removes a file if it exists.
    static func remove(_ path: String) { unsafe unlink(path) }

    /// Removes an empty directory if it exists.
    static func removeDirectory(_ path: String) { unsafe rmdir(path) }

    private static func failure(_ status: ExitStatus, _ action: String, _ path: String) -> ProgramFailure {
        let reason = unsafe String(cString: strerror(errno))
        return ProgramFailure(status, "cannot \(action) \(path): \(reason)")
    }
}

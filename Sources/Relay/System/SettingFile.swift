import Glibc

/// Reads the small files that `…_FILE` settings name.
enum SettingFile {
    /// The path that means standard input.
    static let standardInput = "-"

    /// The file's contents, or why it can't be read.
    static func read(_ path: String) -> Result<[UInt8], FileFault> {
        if path == standardInput {
            // The terminal would echo what is typed.
            guard isatty(STDIN_FILENO) == 0 else { return .failure(FileFault(reason: "it is a terminal")) }
            return read(STDIN_FILENO)
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(FileFault(errno: errno)) }
        defer { close(descriptor) }
        return read(descriptor)
    }

    private static func read(_ descriptor: Int32) -> Result<[UInt8], FileFault> {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return .success(bytes) }
            if count < 0 {
                if errno == EINTR { continue }
                return .failure(FileFault(errno: errno))
            }
            bytes += chunk[..<count]
            guard bytes.count <= Bounds.settingFileBytesMax else {
                return .failure(FileFault(reason: "it is larger than \(Bounds.settingFileBytesMax) bytes"))
            }
        }
    }
}

extension FileFault {
    /// The system's message for an error number.
    init(errno code: Int32) {
        var buffer = [CChar](repeating: 0, count: 256)
        let text = strerror_r(code, &buffer, buffer.count)
        self.init(
            reason: text.map { String(cString: $0) } ?? "error \(code)",
            isMissing: code == ENOENT || code == ENOTDIR)
    }
}

/// Why a file couldn't be read: the system's message, without any content.
struct FileFault: Error, Sendable, Equatable {
    let reason: String
    /// Whether the file doesn't exist.
    var isMissing = false
}

import Glibc

/// Reads and writes small files; errors have the system's messages.
enum SmallFile {
    /// Why a file couldn't be used.
    struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
        let description: String
        var isMissing = false

        init(_ description: String) { self.description = description }

        /// The system's message for an error number.
        init(errno code: Int32) {
            var buffer = [CChar](repeating: 0, count: 256)
            let text = strerror_r(code, &buffer, buffer.count)
            description = text.map { String(cString: $0) } ?? "error \(code)"
            isMissing = code == ENOENT || code == ENOTDIR
        }
    }

    /// A file's contents.
    static func read(_ path: String, bytesMax: Int) throws(Fault) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Fault(errno: errno) }
        defer { close(descriptor) }
        return try read(descriptor, bytesMax: bytesMax)
    }

    /// The rest of an open file.
    static func read(_ descriptor: Int32, bytesMax: Int) throws(Fault) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw Fault(errno: errno)
            }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else { throw Fault("it is larger than \(bytesMax) bytes") }
        }
    }

    /// Whether something exists at a path.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether users other than its owner may read or write a file; false if there is none.
    static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o066 != 0
    }

    /// Writes all bytes to an open file.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Fault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno != EINTR {
                throw Fault(errno: errno)
            }
        }
    }

    /// Replaces a file durably: readers see either the old or the new contents, even after a power failure.
    static func replace(_ path: String, with bytes: [UInt8], mode: mode_t = 0o600) throws(Fault) {
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw Fault(errno: errno) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor)
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw Fault(errno: errno) }
        syncDirectory(of: path)
    }

    /// Creates a file durably unless it exists; a process that finds it sees its complete contents.
    ///
    /// - Returns: Whether it was created.
    static func create(_ path: String, with bytes: [UInt8], mode: mode_t = 0o600) throws(Fault) -> Bool {
        // An earlier process with the same ID may have died and left the file.
        let temporary = path + ".\(getpid())"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw Fault(errno: errno) }
        defer {
            close(descriptor)
            unlink(temporary)
        }
        try write(bytes, to: descriptor)
        guard fsync(descriptor) == 0 else { throw Fault(errno: errno) }
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            throw Fault(errno: errno)
        }
        syncDirectory(of: path)
        return true
    }

    /// Makes a new or renamed file durable.
    static func syncDirectory(of path: String) {
        let directory = open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    /// The directory of a file.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The file that a path leads to through links; the path itself if there is none.
    static func target(of path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Creates a directory and its parents, readable only by this user.
    static func createDirectory(_ path: String) throws(Fault) {
        if mkdir(path, 0o700) == 0 { return }
        let code = errno
        if code == ENOENT, parent(of: path) != path {
            try createDirectory(parent(of: path))
            guard mkdir(path, 0o700) != 0 else { return }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw Fault(errno: code) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw Fault("it is not a directory") }
    }
}

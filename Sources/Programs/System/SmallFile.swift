import Glibc

/// Reads and writes small files; errors contain the system's messages.
package enum SmallFile {
    /// Reads a file's contents.
    package static func read(_ path: String, bytesMax: Int) throws(FileError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        defer { close(descriptor) }
        return try read(descriptor, bytesMax: bytesMax)
    }

    /// Reads the rest of an open file.
    package static func read(_ descriptor: Int32, bytesMax: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError(errno: errno)
            }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else { throw FileError("it is larger than \(bytesMax) bytes") }
        }
    }

    /// The path that means standard input.
    package static let standardInput = "-"

    /// Reads a file that the user named, or standard input.
    package static func readGiven(_ path: String, bytesMax: Int) throws(FileError) -> [UInt8] {
        guard path == standardInput else { return try read(path, bytesMax: bytesMax) }
        // The terminal would echo the input.
        guard isatty(STDIN_FILENO) == 0 else { throw FileError("it is a terminal") }
        return try read(STDIN_FILENO, bytesMax: bytesMax)
    }

    /// Creates a private temporary directory, whose name begins with a prefix.
    package static func createTemporaryDirectory(_ prefix: String) throws(FileError) -> String {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        // mkdtemp replaces the X's.
        var template = Array((base + "/" + prefix + String(repeating: "X", count: 6)).utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = FileError(errno: errno).reason
            throw FileError("cannot create a directory in \(base): \(reason)")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether something exists at a path.
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether users other than its owner may read or write a file; false if the file doesn't exist.
    package static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o066 != 0
    }

    /// Writes all bytes to an open file; waits while a pipe is full.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                throw FileError(errno: errno)
            }
        }
    }

    /// Replaces a file durably: readers see either the old or the new contents, even after a power failure.
    package static func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(FileError) {
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor)
        // The umask doesn't apply: the mode is the caller's decision.
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0, rename(temporary, path) == 0 else {
            throw FileError(errno: errno)
        }
        syncDirectory(of: path)
    }

    /// Creates a file durably unless it exists; a process that finds it sees its complete contents.
    ///
    /// - Returns: Whether it was created.
    package static func create(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(FileError)
        -> Bool
    {
        // An earlier process with the same ID may have died and left the file.
        let temporary = path + ".\(getpid())"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        defer {
            close(descriptor)
            unlink(temporary)
        }
        try write(bytes, to: descriptor)
        guard fsync(descriptor) == 0 else { throw FileError(errno: errno) }
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            throw FileError(errno: errno)
        }
        syncDirectory(of: path)
        return true
    }

    /// Makes a new or renamed file durable.
    package static func syncDirectory(of path: String) {
        let directory = open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    /// The directory of a file.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The file that a path leads to through symbolic links; the path itself if there are none.
    package static func target(of path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Creates a directory and its parents, readable only by this user.
    package static func createDirectory(_ path: String) throws(FileError) {
        if mkdir(path, 0o700) == 0 { return }
        let code = errno
        if code == ENOENT, parent(of: path) != path {
            try createDirectory(parent(of: path))
            guard mkdir(path, 0o700) != 0 else { return }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileError(errno: code) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw FileError("it is not a directory") }
    }
}

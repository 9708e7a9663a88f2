internal import CEvent
import Glibc

/// The file of a listening Unix socket (unix(7)).
///
/// Accessible to the process's user and group. Replaces a socket file without a listener.
struct UnixSocket {
    /// The maximum length of a path: `sun_path` minus a NUL and the suffix of the temporary name.
    static let pathBytesMax = 107 - newSuffix.utf8.count
    private static let newSuffix = ".new"

    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Creates the socket and its file; the caller owns the descriptor.
    static func listen(at path: String, backlog: Int32) throws(NetworkError) -> (
        UnixSocket, descriptor: Int32
    ) {
        try checkFree(path)
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failure(path) }
        // Created under a temporary name, so that clients never see wrong permissions or a socket without a listener.
        let new = path + newSuffix
        unsafe _ = unlink(new)
        var info = stat()
        guard unsafe withAddress(new, { unsafe relay_bind(descriptor, $0, $1) }) == 0,
            unsafe chmod(new, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) == 0, unsafe lstat(new, &info) == 0,
            Glibc.listen(descriptor, backlog) == 0, unsafe rename(new, path) == 0
        else {
            let error = failure(path)
            unsafe _ = unlink(new)
            close(descriptor)
            throw error
        }
        return (UnixSocket(path: path, device: info.st_dev, inode: info.st_ino), descriptor)
    }

    /// Throws if a program is listening on the path, or if the path exists but isn't a socket.
    static func checkFree(_ path: String) throws(NetworkError) {
        guard path.utf8.count <= pathBytesMax, !path.utf8.contains(0) else {
            throw .cannotListen(name(path), errno: ENAMETOOLONG)
        }
        var info = stat()
        guard unsafe lstat(path, &info) == 0 else {
            guard errno == ENOENT else { throw failure(path) }
            return
        }
        guard info.st_mode & S_IFMT == S_IFSOCK else { throw .cannotListen(name(path), errno: EEXIST) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        // A listener with a full queue also counts, and so does one that this user may not connect to.
        let status = unsafe withAddress(path) { unsafe relay_connect(descriptor, $0, $1) }
        guard status != 0, errno == ECONNREFUSED || errno == ENOENT else { throw .addressInUse(name(path)) }
    }

    /// Removes the file unless another program has replaced it.
    func remove() {
        var info = stat()
        guard unsafe lstat(path, &info) == 0, info.st_dev == device, info.st_ino == inode else { return }
        unsafe _ = unlink(path)
    }

    private static func name(_ path: String) -> String { "unix:\(path)" }

    private static func failure(_ path: String) -> NetworkError { .cannotListen(name(path), errno: errno) }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let size = MemoryLayout<sockaddr_un>.size
        return unsafe withUnsafeTemporaryAllocation(
            byteCount: size, alignment: MemoryLayout<sockaddr_un>.alignment
        ) { memory in
            guard let start = memory.baseAddress else { return -1 }
            unsafe _ = memset(start, 0, size)
            unsafe start.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
            let offset = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? 2
            // The path is shorter than the field, so it ends with a NUL.
            for (index, byte) in path.utf8.enumerated() {
                unsafe start.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
            }
            return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        }
    }
}

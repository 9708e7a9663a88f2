internal import CEvent
import Glibc

/// The system's message for an error number, from the thread-safe `strerror_r`.
package func errorText(_ code: Int32) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let base = buffer.baseAddress else { return "error \(code)" }
        return unsafe String(cString: strerror_r(code, base, buffer.count))
    }
}

/// Reads a file, or its first `limit` bytes if it is larger.
package func contents(ofFile path: String, limit: Int = 1 << 20) throws(NetworkError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unreadable(path: path, errno: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    let chunk = 16 * 1024
    while bytes.count < limit {
        var failure: Int32 = 0
        let old = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: min(chunk, limit - old)))
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            let count = unsafe read(
                descriptor, buffer.baseAddress.map { unsafe $0 + old }, buffer.count - old)
            failure = errno
            return count
        }
        bytes.removeLast(bytes.count - old - max(count, 0))
        if count < 0 {
            guard failure == EINTR else { throw .unreadable(path: path, errno: failure) }
        } else if count == 0 {
            break
        }
    }
    return bytes
}

/// Allows or forbids core dumps of this process and access to its memory by other processes of the same user
/// (prctl(2)).
package func allowMemoryDumps(_ isAllowed: Bool) {
    _ = relay_set_dumpable(isAllowed ? 1 : 0)
}

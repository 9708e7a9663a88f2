import CEvent
import Glibc

/// Creates a non-blocking TCP socket without Nagle's algorithm, or returns the error number.
func makeSocket(family: Int32) -> Result<Int32, SystemFailure> {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { return .failure(SystemFailure(code: errno)) }
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    return .success(descriptor)
}

/// A system call's error number.
struct SystemFailure: Error {
    let code: Int32
}

/// Sets an integer option; ignores errors.
func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    _ = unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

func localSocketAddress(_ descriptor: Int32) -> SocketAddress? {
    unsafe SocketAddress.written { address, length in unsafe relay_getsockname(descriptor, address, length) }
        .address
}

func peerSocketAddress(_ descriptor: Int32) -> SocketAddress? {
    unsafe SocketAddress.written { address, length in unsafe relay_getpeername(descriptor, address, length) }
        .address
}

/// The pending error of a socket after connecting; 0 if it is connected.
func pendingError(_ descriptor: Int32) -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
}

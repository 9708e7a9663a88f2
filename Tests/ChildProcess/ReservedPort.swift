import Glibc

/// A port that no other program gets from the kernel, and on which nothing listens until a test gives it to a program.
///
/// A program that sets SO_REUSEADDR can bind the port although this socket has it, because this socket never listens.
package final class ReservedPort: Sendable {
    /// The port's number.
    package let number: UInt16
    private let descriptor: Int32

    /// Reserves a port on all addresses.
    package init() throws {
        let reserved = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        descriptor = reserved
        var yes: Int32 = 1
        setsockopt(reserved, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Port 0 on every address.
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(reserved, .init(__sockaddr__: $0), size) == 0
                    && getsockname(reserved, .init(__sockaddr__: $0), &size) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw ChildProcess.Failure("bind", errno) }
    }

    deinit { close(descriptor) }
}

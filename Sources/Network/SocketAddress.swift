import CEvent
import Glibc

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The first 8 of the 16 bytes of an IPv6 address; IPv4 addresses are IPv4-mapped (RFC 4291 2.5.5.2).
    let high: UInt64
    let low: UInt64
    private let scope: UInt32
    /// The TCP port; 0 for any.
    package let port: UInt16

    private static let mappedPrefix: UInt64 = 0x0000_FFFF_0000_0000

    init(high: UInt64, low: UInt64, scope: UInt32, port: UInt16) {
        self.high = high
        self.low = low
        self.scope = scope
        self.port = port
    }

    /// Parses an IP literal (`127.0.0.1`, `::1`); nil for a name or anything else.
    package init?(ip host: String, port: UInt16) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if unsafe inet_pton(AF_INET, host, &v4) == 1 {
            self.init(
                high: 0, low: Self.mappedPrefix | UInt64(UInt32(bigEndian: v4.s_addr)), scope: 0, port: port)
        } else if unsafe inet_pton(AF_INET6, host, &v6) == 1 {
            self.init(v6, scope: 0, port: port)
        } else {
            return nil
        }
    }

    private init(_ address: in6_addr, scope: UInt32, port: UInt16) {
        let halves = unsafe withUnsafeBytes(of: address) { bytes in
            unsafe (
                bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            )
        }
        self.init(
            high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1), scope: scope, port: port)
    }

    /// Converts a C structure; nil if it is neither IPv4 nor IPv6.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            let v4 = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            self.init(
                high: 0, low: Self.mappedPrefix | UInt64(UInt32(bigEndian: v4.sin_addr.s_addr)), scope: 0,
                port: UInt16(bigEndian: v4.sin_port))
        case AF_INET6:
            let v6 = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
            self.init(v6.sin6_addr, scope: v6.sin6_scope_id, port: UInt16(bigEndian: v6.sin6_port))
        default:
            return nil
        }
    }

    /// Whether this is an IPv4 address, including an IPv4 client of a dual-stack socket.
    package var isIPv4: Bool { high == 0 && low >> 32 == Self.mappedPrefix >> 32 }

    /// Whether packets to this address stay on this machine.
    package var isLoopback: Bool {
        isIPv4 ? (low >> 24) & 0xFF == 127 : high == 0 && low == 1
    }

    /// The same address with another port.
    package func with(port: UInt16) -> SocketAddress {
        SocketAddress(high: high, low: low, scope: scope, port: port)
    }

    /// The address without its port: `127.0.0.1`, `::1`.
    package var host: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            var v4 = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
            var v6 = ipv6
            let text =
                isIPv4
                ? unsafe inet_ntop(AF_INET, &v4, buffer.baseAddress, socklen_t(buffer.count))
                : unsafe inet_ntop(AF_INET6, &v6, buffer.baseAddress, socklen_t(buffer.count))
            guard let text = unsafe text else { return "?" }
            return unsafe String(cString: text)
        }
    }

    /// A key that identifies a client: the IPv4 address, or the /64 network of an IPv6 address, which one client owns.
    package var clientKey: UInt64 { isIPv4 ? low : high }

    /// A key for the /48 network of an IPv6 address, the usual size of one site; nil for IPv4.
    package var siteKey: UInt64? { isIPv4 ? nil : high >> 16 }

    package var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

    private var ipv6: in6_addr {
        func halves(_ number: UInt64) -> (UInt32, UInt32) {
            (UInt32(truncatingIfNeeded: number >> 32).bigEndian, UInt32(truncatingIfNeeded: number).bigEndian)
        }
        let (first, second) = halves(high)
        let (third, fourth) = halves(low)
        return in6_addr(__in6_u: .init(__u6_addr32: (first, second, third, fourth)))
    }

    var family: Int32 { isIPv4 ? AF_INET : AF_INET6 }

    /// Calls `body` with the address as a C structure for system calls.
    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        func lend<Address>(_ address: Address) -> Result {
            unsafe withUnsafePointer(to: address) { pointer in
                unsafe body(
                    UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self),
                    socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard isIPv4 else {
            return lend(
                sockaddr_in6(
                    sin6_family: sa_family_t(AF_INET6), sin6_port: port.bigEndian, sin6_flowinfo: 0,
                    sin6_addr: ipv6, sin6_scope_id: scope))
        }
        return lend(
            sockaddr_in(
                sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
                sin_addr: in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian),
                sin_zero: (0, 0, 0, 0, 0, 0, 0, 0)))
    }

    /// The result of a system call such as `accept`, and the address that the call wrote, which is nil if the result is
    /// negative.
    static func written(
        by call: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> (status: Int32, address: SocketAddress?) {
        let size = MemoryLayout<sockaddr_storage>.size
        let alignment = MemoryLayout<sockaddr_storage>.alignment
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: alignment) { memory in
            let raw = unsafe memory.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            var length = socklen_t(size)
            let status = unsafe call(raw, &length)
            guard status >= 0, let raw = unsafe raw else { return (status, nil) }
            return (status, unsafe SocketAddress(raw))
        }
    }
}

/// A host name or IP literal with a port, to connect to.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name or an IP literal without brackets.
    package let host: String
    package let port: UInt16

    /// Creates an endpoint from its parts.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

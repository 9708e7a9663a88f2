import Glibc

/// An address of one of this machine's network interfaces.
package struct InterfaceAddress: Hashable, Sendable {
    /// The interface's name, such as `eth0`.
    package let interface: String
    /// The address, with port 0.
    package let address: SocketAddress

    /// Pairs a name with an address.
    package init(interface: String, address: SocketAddress) {
        self.interface = interface
        self.address = address
    }

    /// The addresses of all interfaces that are up, in the system's order; empty if the system doesn't report
    /// them.
    package static func all() -> [InterfaceAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return [] }
        defer { unsafe freeifaddrs(list) }
        var found: [InterfaceAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            unsafe next = entry.pointee.ifa_next
            // An interface also has an entry for its hardware address, and possibly one with no address.
            guard unsafe entry.pointee.ifa_flags & UInt32(IFF_UP) != 0,
                let raw = unsafe entry.pointee.ifa_addr, let address = unsafe SocketAddress(raw)
            else { continue }
            found.append(
                InterfaceAddress(interface: unsafe String(cString: entry.pointee.ifa_name), address: address))
        }
        return found
    }
}

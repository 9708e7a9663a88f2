extension SocketAddress {
    /// Whether the address is on the public internet, so that requests caused by untrusted users may go there.
    ///
    /// Source: IANA's registries of special-purpose IPv4 and IPv6 addresses (RFC 6890). An IPv4-mapped or NAT64 address
    /// (RFC 6052) is classified by the IPv4 address that it contains.
    package var isPublic: Bool {
        if isIPv4 { return !Self.special.contains { $0.contains(self) } }
        if Self.translated?.contains(self) == true {
            let embedded = SocketAddress(
                high: 0, low: 0x0000_FFFF_0000_0000 | low & 0xFFFF_FFFF, scope: 0, port: port)
            return embedded.isPublic
        }
        return Self.global?.contains(self) == true && !Self.special.contains { $0.contains(self) }
    }

    private static let global = AddressRange("2000::/3")
    private static let translated = AddressRange("64:ff9b::/96")
    private static let special = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        // Protocol assignments including Teredo, documentation, 6to4, documentation.
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap(AddressRange.init)
}

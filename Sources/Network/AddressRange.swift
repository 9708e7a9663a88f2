/// A range of IP addresses in CIDR notation (`10.0.0.0/8`, `2001:db8::/32`) or a single address.
///
/// IPv4 clients of a dual-stack socket count as IPv4, and an IPv4-mapped range (`::ffff:10.0.0.0/104`) is an IPv4
/// range. An IPv6 range never contains an IPv4 address, not even `::/0`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64
    /// The prefix length in the 128-bit form; for IPv4, 96 more than in CIDR notation.
    private let prefix: Int
    private let isIPv4: Bool

    private static let mappedBits = 96

    /// Parses a range; `nil` if the text is malformed or has host bits set.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = SocketAddress(ip: String(first), port: 0) else {
            return nil
        }
        // The prefix length of an IPv4-mapped address counts all 128 bits.
        let before = first.utf8.contains(UInt8(ascii: ":")) ? 0 : Self.mappedBits
        var prefix = 128
        if parts.count == 2 {
            guard let length = Self.number(parts[1]), (0...(128 - before)).contains(length) else {
                return nil
            }
            prefix = before + length
        }
        high = address.high
        low = address.low
        self.prefix = prefix
        isIPv4 = address.isIPv4 && prefix >= Self.mappedBits
        guard high & ~Self.mask(prefix) == 0, low & ~Self.mask(prefix - 64) == 0 else { return nil }
    }

    /// Whether the range contains an address; the port is ignored.
    package func contains(_ address: SocketAddress) -> Bool {
        isIPv4 == address.isIPv4 && address.high & Self.mask(prefix) == high
            && address.low & Self.mask(prefix - 64) == low
    }

    /// The range in CIDR notation, such as `10.0.0.0/8`; a single address has its full prefix length.
    package var description: String {
        "\(SocketAddress(high: high, low: low).host)/\(isIPv4 ? prefix - Self.mappedBits : prefix)"
    }

    /// A word whose first `bits` bits are set; `bits` is clamped to 0...64.
    private static func mask(_ bits: Int) -> UInt64 {
        bits <= 0 ? 0 : UInt64.max << UInt64(64 - min(bits, 64))
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}

extension SocketAddress {
    /// Creates an address from its 16 bytes, without a port.
    fileprivate init(high: UInt64, low: UInt64) {
        self.init(high: high, low: low, scope: 0, port: 0)
    }
}

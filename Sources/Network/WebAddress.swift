/// The beginning of an `http` or `https` URL: scheme, host, port and path prefix, without a trailing slash.
package struct WebAddress: Sendable, Equatable, CustomStringConvertible {
    package let text: String
    /// The host in lower case, without brackets.
    package let host: String
    /// The port, if the URL has one.
    package let port: Int?
    package let isSecure: Bool

    /// Why a text isn't a valid address.
    package enum Problem: Error, Equatable, Sendable { case notHTTP, noHost, credentials, query, port }

    /// Parses a URL; the scheme defaults to `http`.
    package init(_ given: String) throws(Problem) {
        var text = given.contains("://") ? given : "http://" + given
        while text.hasSuffix("/") { text.removeLast() }
        let parts = text.split(separator: ":", maxSplits: 1)
        let scheme = parts.first?.lowercased()
        guard scheme == "http" || scheme == "https", let range = text.firstRange(of: "://") else {
            throw .notHTTP
        }
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == 0x5C }) else { throw .noHost }
        guard !text.contains("?"), !text.contains("#") else { throw .query }
        let authority = text[range.upperBound...].prefix { $0 != "/" }
        guard !authority.contains("@") else { throw .credentials }
        let host: Substring
        if authority.hasPrefix("[") {
            host = authority.dropFirst().prefix { $0 != "]" }
        } else {
            host = authority.prefix { $0 != ":" }
        }
        guard !host.isEmpty else { throw .noHost }
        let end = authority.lastIndex(of: "]") ?? authority.startIndex
        var port: Int?
        if let colon = authority[end...].lastIndex(of: ":") {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else {
                throw .port
            }
            port = Int(number)
        }
        self.port = port
        self.text = text
        self.host = host.lowercased()
        isSecure = scheme == "https"
    }

    /// Parses a host with or without a port, or a URL.
    ///
    /// - Parameter port: The port to add to a host without one; a URL is left unchanged.
    package init(host given: String, port: Int) throws(Problem) {
        let isIPv6 = given.contains(":") && SocketAddress(ip: given, port: 0) != nil
        let address = try WebAddress(isIPv6 ? "http://[\(given)]" : given)
        guard !given.contains("://"), address.port == nil, !address.text.dropFirst(7).contains("/") else {
            self = address
            return
        }
        self = try WebAddress("\(address.text):\(port)")
    }

    /// Whether the host is this machine.
    package var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
    }

    /// Whether another machine may be able to reach the host: it isn't loopback, unspecified or link-local.
    package var isReachableFromElsewhere: Bool {
        if isLoopback { return false }
        guard let address = SocketAddress(ip: String(host.prefix { $0 != "%" }), port: 0) else { return true }
        return !address.isLoopback && !Self.unreachable.contains { $0.contains(address) }
    }

    /// RFC 6890: "this host" and link-local addresses.
    private static let unreachable = ["0.0.0.0/8", "169.254.0.0/16", "::/128", "fe80::/10"]
        .compactMap(AddressRange.init)

    package var description: String { text }

    /// Percent-encodes text for a URL's path or query (RFC 3986 section 2.3).
    package static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.append(Character(Unicode.Scalar(byte)))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }
}

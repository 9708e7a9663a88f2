internal import Cryptography
package import Network

/// The URL of a push resource (RFC 8030, section 5), to which messages for one subscription are sent.
///
/// Anyone who knows it can reach the device, so descriptions show only the host and the beginning of the URL's hash.
/// The accepted syntax is narrower than a URL's, so that no other parser can find a different host in it.
package struct PushEndpoint: Sendable {
    /// The longest endpoint, in bytes.
    package static let bytesMax = 2_048
    /// The number of hash characters in a description.
    package static let shownHashCount = 8
    /// The default port of an endpoint.
    package static let usualPort: UInt16 = 443

    /// The URL, unchanged.
    package let url: String
    /// The host in lower case; an IPv6 address without brackets.
    package let host: String
    /// The port.
    package let port: UInt16

    private static let scheme = "https://"

    /// Parses an endpoint; doesn't check whether its host is allowed.
    package init(_ url: String) throws(SubscriptionRefusal) {
        guard url.utf8.count <= Self.bytesMax else { throw .endpointTooLong }
        guard url.hasPrefix(Self.scheme) else { throw .notHTTPS }
        guard url.utf8.allSatisfy(Self.isAllowed) else { throw .endpointFormat }
        guard !url.utf8.contains(UInt8(ascii: "#")) else { throw .fragment }
        let rest = url.dropFirst(Self.scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { throw .endpointFormat }
        let authority = rest[..<slash]
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .userInfo }
        let (host, port) = try Self.split(authority)
        self.url = url
        self.host = host
        self.port = port
    }

    /// The scheme and host, with the port unless it is 443 (RFC 6454, section 6.1).
    package var origin: String { Self.scheme + authority }

    /// The host, with the port unless it is 443.
    package var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == Self.usualPort ? name : "\(name):\(port)"
    }

    /// The path and query, unchanged.
    package var path: String {
        let rest = url.dropFirst(Self.scheme.count)
        return String(rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...])
    }

    /// The identity of the subscription: the endpoint's SHA-256, in 64 lower-case hexadecimal digits.
    package var identity: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * SHA256.bytes)
        for byte in SHA256.digest(Array(url.utf8)) {
            for digit in [byte >> 4, byte & 15] {
                text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The address if the host is an IP address.
    package var literalAddress: SocketAddress? { SocketAddress(ip: host, port: port) }

    /// Excludes white space, control and non-ASCII characters, and characters that URL parsers repair.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: 0x21...0x7E ~= byte
        }
    }

    private static func split(_ authority: Substring) throws(SubscriptionRefusal) -> (String, UInt16) {
        guard authority.hasPrefix("[") else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let host = HostName.lowercased(String(parts[0]))
            guard let host else { throw .host }
            return (host, parts.count == 2 ? try number(parts[1]) : usualPort)
        }
        guard let end = authority.firstIndex(of: "]"),
            let address = SocketAddress(
                ip: String(authority[authority.index(after: authority.startIndex)..<end]), port: 0)
        else { throw .host }
        let rest = authority[authority.index(after: end)...]
        guard rest.isEmpty || rest.hasPrefix(":") else { throw .host }
        return (address.host, rest.isEmpty ? usualPort : try number(rest.dropFirst()))
    }

    private static func number(_ text: Substring) throws(SubscriptionRefusal) -> UInt16 {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let number = UInt16(text), number > 0
        else { throw .port }
        return number
    }
}

extension PushEndpoint: Hashable {
    package static func == (left: PushEndpoint, right: PushEndpoint) -> Bool { left.url == right.url }
    package func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

extension PushEndpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The host and the first characters of ``identity``: `web.push.apple.com#1a2b3c4d`.
    package var description: String { "\(authority)#\(identity.prefix(Self.shownHashCount))" }
    /// The same as the description.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

import HTTPServer
import Network

/// The proxies trusted to report the client's address.
struct TrustedProxies: Sendable, Equatable {
    private let ranges: [AddressRange]

    /// Trusts proxies in these ranges; without ranges, no proxy is trusted.
    init(_ ranges: [AddressRange] = []) {
        self.ranges = ranges
    }

    /// Whether an address belongs to a trusted proxy.
    func contains(_ address: SocketAddress) -> Bool {
        ranges.contains { $0.contains(address) }
    }

    /// The client of a request: its peer, or the address that a trusted peer reports.
    func client(of request: Request) -> SocketAddress? {
        guard let peer = request.remoteAddress, contains(peer) else { return request.remoteAddress }
        return client(
            of: peer, forwarded: request.headers.values(of: "Forwarded"),
            xForwardedFor: request.headers.values(of: "X-Forwarded-For"))
    }

    /// The client behind a peer, from the values of both headers in order.
    ///
    /// Each proxy appends its peer's address, so the headers are read from the right as long as the address is a
    /// trusted proxy's. A proxy writes one header and passes the client's other header through, so if both are present
    /// and disagree, neither is trusted.
    func client(of peer: SocketAddress, forwarded: [String], xForwardedFor: [String]) -> SocketAddress {
        guard contains(peer) else { return peer }
        let first = walk(from: peer, ForwardedAddresses.forwarded(forwarded))
        let second = walk(from: peer, ForwardedAddresses.xForwardedFor(xForwardedFor))
        if forwarded.isEmpty { return second }
        if xForwardedFor.isEmpty { return first }
        return first.clientKey == second.clientKey ? first : peer
    }

    private func walk(from peer: SocketAddress, _ named: [SocketAddress?]) -> SocketAddress {
        var client = peer
        for address in named.reversed() {
            // An entry without an address hides the peer; the address of the proxy that wrote it is the last known one.
            guard contains(client), let address else { return client }
            client = address
        }
        return client
    }
}

/// Parses the last `Bounds.forwardedAddressesMax` addresses from proxy headers, left to right.
///
/// Entries without an address are `nil`.
enum ForwardedAddresses {
    /// The entries of `X-Forwarded-For`: addresses, optionally with a port, separated by commas.
    static func xForwardedFor(_ values: [String]) -> [SocketAddress?] {
        var found: [SocketAddress?] = []
        for value in values.reversed() {
            var rest = value[...]
            // Reads from the right, because clients control the length of the left part.
            while found.count < Bounds.forwardedAddressesMax {
                let comma = rest.lastIndex(of: ",")
                found.append(address(trimmed(comma.map { rest[rest.index(after: $0)...] } ?? rest)))
                guard let comma else { break }
                rest = rest[..<comma]
            }
        }
        return found.reversed()
    }

    /// The `for` parameter of each element of `Forwarded` (RFC 7239, section 4).
    ///
    /// A value with an unclosed quotation mark can't be split into elements and counts as a single entry without an
    /// address.
    static func forwarded(_ values: [String]) -> [SocketAddress?] {
        values.suffix(Bounds.forwardedAddressesMax).flatMap { value -> [SocketAddress?] in
            guard let elements = elements(value) else { return [nil] }
            return elements.suffix(Bounds.forwardedAddressesMax).map { pairs in
                let mine = pairs.filter { $0.name == "for" }
                return mine.count == 1 ? address(mine[0].value[...]) : nil
            }
        }.suffix(Bounds.forwardedAddressesMax)
    }

    /// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
    private static func address(_ text: Substring) -> SocketAddress? {
        var host = text
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard host.contains(":"), rest.isEmpty || rest.hasPrefix(":") else { return nil }
        } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
            host = text[..<colon]
        }
        return SocketAddress(ip: String(host), port: 0)
    }

    private struct Pair {
        var name: String
        var value: String
    }

    /// Splits at commas and semicolons outside quoted strings.
    private static func elements(_ text: String) -> [[Pair]]? {
        var elements: [[Pair]] = [[]]
        var name: String?
        var token = ""
        var isQuoted = false
        var isEscaped = false
        func finish() {
            if let name { elements[elements.count - 1].append(Pair(name: name, value: token)) }
            name = nil
            token = ""
        }
        for character in text {
            switch character {
            case _ where isEscaped:
                token.append(character)
                isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case _ where isQuoted: token.append(character)
            case " ", "\t": continue
            case "=" where name == nil:
                name = token.lowercased()
                token = ""
            case ";": finish()
            case ",":
                finish()
                elements.append([])
            default: token.append(character)
            }
        }
        finish()
        return isQuoted ? nil : elements
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        guard let end = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return start[...end]
    }
}

import Network

/// The addresses at which phones reach the OpenCode server, for the pairing.
enum ServerHosts {
    /// The server's URLs, the preferred one first; at least one.
    ///
    /// - Parameters:
    ///   - server: The address at which the bridge reaches the server.
    ///   - advertised: The configured addresses, which replace those found.
    ///   - reported: The addresses that the server itself reports.
    ///   - interfaces: This machine's addresses, on which a local server may listen.
    static func urls(
        of server: WebAddress, advertised: [String], reported: [WebAddress] = [],
        interfaces: [InterfaceAddress]
    ) -> [String] {
        let port = server.port ?? (server.isSecure ? 443 : 80)
        guard advertised.isEmpty else {
            return advertised.compactMap { try? WebAddress(host: $0, port: port) }.map(\.text)
        }
        var found = ordered(reported, interfaces)
        if !isLocal(server) {
            found = [server.text] + found.filter { $0 != server.text }
        } else if found.isEmpty {
            let scheme = server.isSecure ? "https" : "http"
            found = reachable(interfaces).map { "\(scheme)://\($0.with(port: UInt16(clamping: port)))" }
        }
        return found.isEmpty ? [server.text] : Array(found.prefix(Bounds.serverHostsMax))
    }

    /// Whether the server is running on this machine.
    static func isLocal(_ server: WebAddress) -> Bool {
        server.isLoopback || ["0.0.0.0", "::"].contains(server.host)
    }

    /// The addresses that the server reports and that other machines may reach: the tunnel's first, because it works
    /// everywhere, then Tailscale's.
    private static func ordered(_ reported: [WebAddress], _ interfaces: [InterfaceAddress]) -> [String] {
        let hidden = Set(interfaces.map(\.address)).subtracting(reachable(interfaces))
        var ranks: [[String]] = [[], [], []]
        for named in reported where named.isReachableFromElsewhere {
            let address = SocketAddress(ip: named.host, port: 0)
            if let address, hidden.contains(address) { continue }
            let isTailscale = address.map { address in tailscale.contains { $0.contains(address) } } ?? false
            ranks[named.isSecure ? 0 : isTailscale ? 1 : 2].append(named.text)
        }
        return ranks.joined().reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Whether addresses are given and all have their own ports, so that the server's port doesn't matter.
    static func havePorts(_ advertised: [String]) -> Bool {
        !advertised.isEmpty
            && advertised.allSatisfy { host in
                (try? WebAddress(host: host, port: 1))?.port == (try? WebAddress(host: host, port: 2))?.port
            }
    }

    /// The addresses that other machines may reach: Tailscale's first, because they work everywhere.
    static func reachable(_ interfaces: [InterfaceAddress]) -> [SocketAddress] {
        let candidates = interfaces.filter { candidate in
            !candidate.address.isLoopback && !linkLocal.contains { $0.contains(candidate.address) }
                && !isVirtual(candidate.interface)
        }
        let withIPv4 = Set(candidates.filter(\.address.isIPv4).map(\.interface))
        var found: [SocketAddress] = []
        for isWanted in [isTailscale, { !isTailscale($0) }] {
            for candidate in candidates where isWanted(candidate) && !found.contains(candidate.address) {
                // Many networks change IPv6 addresses daily, but Tailscale's don't change.
                guard
                    candidate.address.isIPv4 || isTailscale(candidate)
                        || !withIPv4.contains(candidate.interface)
                else { continue }
                found.append(candidate.address)
            }
        }
        return found
    }

    private static let linkLocal = ["169.254.0.0/16", "fe80::/10"].compactMap(AddressRange.init)

    /// Tailscale's own ranges (tailscale.com/kb/1015/100.x-addresses and kb/1033/ip-and-dns-addresses).
    private static let tailscale = ["100.64.0.0/10", "fd7a:115c:a1e0::/48"].compactMap(AddressRange.init)

    private static func isTailscale(_ candidate: InterfaceAddress) -> Bool {
        candidate.interface.hasPrefix("tailscale") || tailscale.contains { $0.contains(candidate.address) }
    }

    private static let virtualPrefixes = [
        "docker", "veth", "virbr", "vnet", "vmnet", "vboxnet", "cni", "podman", "lxcbr", "lxdbr", "incusbr",
        "flannel", "cali", "cilium", "kube",
    ]

    /// Whether an interface belongs to a network of containers or virtual machines inside this machine.
    private static func isVirtual(_ interface: String) -> Bool {
        if virtualPrefixes.contains(where: interface.hasPrefix) { return true }
        // Docker names its bridges `br-` plus twelve hexadecimal digits; other bridges lead to the LAN.
        return interface.hasPrefix("br-") && interface.utf8.count == 15
            && interface.dropFirst(3).allSatisfy(\.isHexDigit)
    }
}

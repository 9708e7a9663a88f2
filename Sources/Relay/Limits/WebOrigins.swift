import Network

/// The origins whose web pages may use the relay: call `/mcp`, and read the responses of every public route.
///
/// Clients other than browsers send no `Origin`. With DNS rebinding, a page can reach a relay on the visitor's machine
/// under the page's own name, so that `Origin` equals `Host`; only the name itself reveals this.
struct WebOrigins: Sendable, Equatable {
    /// Origins in `RELAY_WEB_ORIGINS`, in lower case.
    var listed: Set<String> = []

    /// Whether a request with this `Origin` is accepted: the origin is absent, listed or on this machine.
    func allow(_ origin: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if listed.contains(origin) { return true }
        guard let scheme = origin.firstRange(of: "://") else { return false }
        let host = origin[scheme.upperBound...]
        let name: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[...end]
        } else {
            name = host.prefix { $0 != ":" }
        }
        let port = host[name.endIndex...]
        let isPort = port.isEmpty || port.hasPrefix(":") && port.dropFirst().allSatisfy(\.isNumber)
        return isPort && ["localhost", "127.0.0.1", "[::1]"].contains(name)
    }
}

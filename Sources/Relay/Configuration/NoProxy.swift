import Network
import Programs
import Storage

extension Settings {
    // MARK: The proxy to APNs

    static let httpsProxy = Setting(
        "HTTPS_PROXY", .apns, optional: .connectProxy, unset: "direct connections", secret: true,
        "The HTTP proxy for connections to APNs; it must allow CONNECT. https_proxy also works. Connections "
            + "to this machine bypass it.")
    static let noProxy = Setting(
        "NO_PROXY", .apns, optional: .noProxy, unset: "everything goes through HTTPS_PROXY",
        "Hosts that bypass HTTPS_PROXY. A domain includes its subdomains. no_proxy also works."
    )
}

/// Hosts that bypass the proxy.
struct NoProxy: Sendable, Equatable {
    private struct Pattern: Equatable {
        /// The name in lower case, without a leading dot; `*` for every host.
        let name: String
        let range: AddressRange?
        let port: UInt16?
    }

    private let patterns: [Pattern]
    private let text: String

    /// Covers only this machine.
    init() {
        patterns = []
        text = ""
    }

    /// Parses a list such as `localhost,.example.com,10.0.0.0/8,db.example.org:5432`.
    init(_ text: String) {
        self.text = text
        patterns = text.split { $0 == "," || $0 == " " }.map { part in
            var name = part.lowercased()
            var port: UInt16?
            let colons = name.utf8.count { $0 == UInt8(ascii: ":") }
            if let colon = name.lastIndex(of: ":"),
                colons == 1 || name.hasPrefix("[") && !name.hasSuffix("]"),
                let number = UInt16(name[name.index(after: colon)...])
            {
                port = number
                name = String(name[..<colon])
            }
            if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
            if name.hasPrefix("*.") { name.removeFirst() }
            if name.hasPrefix(".") { name.removeFirst() }
            return Pattern(name: name, range: AddressRange(name), port: port)
        }
    }

    /// Whether a host bypasses the proxy because it is listed or is this machine.
    func covers(host: String, port: UInt16) -> Bool {
        let address = SocketAddress(ip: host, port: port)
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        if address?.isLoopback == true || name == "localhost" || name.hasSuffix(".localhost") { return true }
        return patterns.contains { pattern in
            guard pattern.port == nil || pattern.port == port else { return false }
            if pattern.name == "*" { return true }
            if let address { return pattern.range?.contains(address) == true }
            return name == pattern.name || name.hasSuffix("." + pattern.name)
        }
    }

    /// The list as written.
    var description: String { text }
}

extension SettingType where Value == NoProxy {
    /// Hosts in the usual NO_PROXY format.
    static let noProxy = SettingType(
        accepts:
            "domains, IP addresses and ranges, each with or without a port, separated by commas; * for all",
        parse: { text in
            text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
                ? .success(NoProxy(text)) : .failure(.notAccepted)
        },
        render: \.description)
}

extension SettingType where Value == ConnectProxy {
    /// The URL of an HTTP proxy.
    static let connectProxy = SettingType(
        accepts: "a URL http://HOST:PORT or http://USER:PASSWORD@HOST:PORT",
        parse: { text in ConnectProxy.parse(text) }, render: { _ in "" })
}

extension ConnectProxy {
    /// Parses a proxy URL; the default scheme is `http`, the default port 80.
    fileprivate static func parse(_ text: String) -> Result<ConnectProxy, SettingError> {
        var rest = text[...]
        if let colon = rest.firstIndex(of: ":"), rest[colon...].hasPrefix("://") {
            let scheme = rest[..<colon].lowercased()
            guard scheme == "http" else {
                return .failure(
                    .because("only http:// proxies are supported; a proxy over TLS or SOCKS is not"))
            }
            rest = rest[colon...].dropFirst(3)
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        var user: String?
        var password: String?
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEscapes.decode(parts[0]), isPlain(name), !name.contains(":"),
                let word = PercentEscapes.decode(parts.count == 2 ? parts[1] : ""), isPlain(word)
            else {
                return .failure(
                    .because("its user or password has an invalid percent escape or a control character"))
            }
            (user, password) = (name, word)
            rest = rest[rest.index(after: at)...]
        }
        // After the scheme, server and proxy URLs have the same format.
        guard let origin = APNsOrigin(url: "https://" + rest) else { return .failure(.notAccepted) }
        let hasPort = rest.hasPrefix("[") ? !rest.hasSuffix("]") : rest.contains(":")
        return .success(
            ConnectProxy(
                endpoint: Endpoint(host: origin.host, port: hasPort ? origin.port : 80), user: user,
                password: password))
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// The proxy variables, which are also read in lower case.
enum ProxyVariables {
    /// The variables, with `https_proxy` and `no_proxy` used where the upper-case ones aren't set.
    static func inUpperCase(_ variables: [String: String]) -> [String: String] {
        var variables = variables
        for row in [Settings.httpsProxy.row, Settings.noProxy.row] where (variables[row.name] ?? "").isEmpty {
            let isGivenAsFile = row.isSecret && !(variables[row.fileName] ?? "").isEmpty
            if let value = variables[row.name.lowercased()], !isGivenAsFile { variables[row.name] = value }
        }
        return variables
    }
}

import Programs

/// A server that implements the APNs protocol: a host and a port, reached over TLS.
struct APNsOrigin: Sendable, Hashable, CustomStringConvertible {
    /// A DNS name or an IP address, without brackets.
    let host: String
    let port: UInt16

    /// Apple's server for apps from the App Store and TestFlight.
    static let production = APNsOrigin(host: "api.push.apple.com", port: 443)
    /// Apple's server for development builds.
    static let sandbox = APNsOrigin(host: "api.sandbox.push.apple.com", port: 443)

    /// Whether the server is Apple's.
    var isApple: Bool {
        let host = host.lowercased()
        return host == "push.apple.com" || host.hasSuffix(".push.apple.com")
    }

    /// The origin as a URL, without the default port.
    var description: String {
        let bracketed = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "https://\(bracketed)" + (port == 443 ? "" : ":\(port)")
    }

    /// Parses a URL such as `https://host`, `https://host:8443/` or `https://[::1]:8443`; `nil` if it is invalid.
    init?(url: String) {
        guard url.hasPrefix("https://") else { return nil }
        var authority = url.dropFirst("https://".count)
        if authority.hasSuffix("/") { authority.removeLast() }
        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            portText = rest.isEmpty ? nil : rest.dropFirst()
            authority = authority[authority.index(after: authority.startIndex)..<end]
            guard authority.utf8.allSatisfy(Self.isAddressByte) else { return nil }
        } else if let colon = authority.firstIndex(of: ":") {
            portText = authority[authority.index(after: colon)...]
            authority = authority[..<colon]
        }
        guard !authority.isEmpty, authority.utf8.count <= 253, authority.utf8.allSatisfy(Self.isHostByte)
        else {
            return nil
        }
        guard let portText else {
            self.init(host: String(authority), port: 443)
            return
        }
        guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(portText), port > 0
        else {
            return nil
        }
        self.init(host: String(authority), port: port)
    }

    private init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x46, 0x61...0x66, UInt8(ascii: "."): true
        default: false
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension SettingType where Value == APNsOrigin {
    /// The URL of a server that implements the APNs protocol.
    static let apnsOrigin = SettingType(
        accepts: "a URL of the form https://HOST or https://HOST:PORT, without a path",
        parse: { text in APNsOrigin(url: text).map(Result.success) ?? .failure(.notAccepted) },
        render: \.description)
}

import Network

/// Where a listener that may be left out listens.
struct ListenAddress: Sendable, Equatable {
    /// `nil`: nowhere.
    let address: SocketAddress?
    /// Whether nobody asked for this address, so that the program may go without it.
    var isDefault = false

    /// Nowhere.
    static let off = ListenAddress(address: nil)

    /// A default: a port of 127.0.0.1.
    static func defaultLoopback(port: UInt16) -> ListenAddress {
        ListenAddress(address: SocketAddress(ip: "127.0.0.1", port: port), isDefault: true)
    }
}

extension SettingType where Value == ListenAddress {
    /// An IP address and a port, or the word off.
    static let listenAddress = SettingType(
        accepts: "an IP address and a port such as 127.0.0.1:8788 or [::1]:8788, or off",
        parse: { text in
            guard text != "off" else { return .success(.off) }
            guard let colon = text.lastIndex(of: ":") else { return .failure(.notAccepted) }
            let portText = text[text.index(after: colon)...]
            var host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            if isBracketed { host = host.dropFirst().dropLast() }
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(portText),
                isBracketed == host.contains(":"), let address = SocketAddress(ip: String(host), port: port)
            else { return .failure(.notAccepted) }
            return .success(ListenAddress(address: address))
        },
        render: { $0.address?.description ?? "off" })
}

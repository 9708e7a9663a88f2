import Network
import Programs

/// The address of an optional listener.
struct ListenAddress: Sendable, Equatable {
    /// The IP address and port; `nil` if the listener is off or on a Unix socket.
    let address: SocketAddress?
    /// The path of a Unix socket.
    var unixPath: String?
    /// Whether the address is the default, in which case the program may run without the listener.
    var isDefault = false

    var isOff: Bool { address == nil && unixPath == nil }

    /// The address in the setting's format: `127.0.0.1:8788`, `unix:/run/relay/admin.sock`, `off`.
    var text: String { address?.description ?? unixPath.map { Self.unixPrefix + $0 } ?? "off" }

    fileprivate static let unixPrefix = "unix:"

    static let off = ListenAddress(address: nil)

    /// A default address: a port on 127.0.0.1.
    static func defaultLoopback(port: UInt16) -> ListenAddress {
        ListenAddress(address: SocketAddress(ip: "127.0.0.1", port: port), isDefault: true)
    }
}

extension SettingType where Value == ListenAddress {
    /// An IP address and port, a Unix socket's path, or `off`.
    static let listenAddress = SettingType(
        accepts:
            "an IP address and a port such as 127.0.0.1:8788 or [::1]:8788, unix: followed by an absolute path, or off",
        parse: { text in
            guard text != "off" else { return .success(.off) }
            if text.hasPrefix(ListenAddress.unixPrefix) {
                let path = String(text.dropFirst(ListenAddress.unixPrefix.count))
                guard path.hasPrefix("/"), !path.hasSuffix("/") else { return .failure(.notAccepted) }
                guard path.utf8.count <= Bounds.unixPathBytesMax else {
                    return .failure(.because("its path is longer than \(Bounds.unixPathBytesMax) bytes"))
                }
                return .success(ListenAddress(address: nil, unixPath: path))
            }
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
        render: \.text)
}

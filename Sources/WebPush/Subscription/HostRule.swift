internal import Network

/// Which push services a relay may send to.
///
/// Endpoints come from anyone who registers a device. Without a rule, they could make the relay send requests to any
/// host that it can reach.
package struct HostRule: Hashable, Sendable {
    /// What the rule allows a request to do.
    package enum Permission: Hashable, Sendable {
        /// Connect to public addresses.
        case publicAddresses
        /// Connect to any address: the operator configured the host and port.
        case anyAddress
    }

    private var names: Set<String> = []
    /// The allowed suffixes, each with its leading dot.
    private var suffixes: Set<String> = []
    private var addresses: Set<Address> = []
    private var allowsAnyName = false

    private struct Address: Hashable {
        let host: String
        let port: UInt16
    }

    /// The push services of Google, Mozilla, Apple and Microsoft.
    ///
    /// Google's services also serve Chromium without Google's keys, Edge on Android, Opera and Samsung.
    package static let knownServices = [
        "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com", "web.push.apple.com",
        "*.notify.windows.com",
    ]

    /// The rule that allows the known services.
    package static let known = HostRule()

    private init() {
        for name in Self.knownServices {
            if let entry = Entry(name) { insert(entry) }
        }
    }

    /// Allows the known services and additional hosts.
    ///
    /// - Parameter more: Entries of the form `name` or `*.suffix` (port 443 at public addresses), `host:port` (any
    ///   address), or `any` (any name, port 443 at public addresses).
    /// - Throws: ``HostRuleError`` with the first entry that isn't one of these.
    package init(more: some Sequence<String>) throws(HostRuleError) {
        self.init()
        for text in more {
            guard let entry = Entry(text) else { throw HostRuleError(entry: text) }
            insert(entry)
        }
    }

    /// What requests to an endpoint may do; `nil` if it isn't allowed at all.
    package func permission(for endpoint: PushEndpoint) -> Permission? {
        if addresses.contains(Address(host: endpoint.host, port: endpoint.port)) { return .anyAddress }
        guard endpoint.port == PushEndpoint.usualPort else { return nil }
        if names.contains(endpoint.host) || hasSuffix(endpoint.host) { return .publicAddresses }
        guard allowsAnyName else { return nil }
        if let address = endpoint.literalAddress { return address.isPublic ? .publicAddresses : nil }
        return .publicAddresses
    }

    private func hasSuffix(_ host: String) -> Bool {
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[dot...]
            if suffixes.contains(String(rest)) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    private mutating func insert(_ entry: Entry) {
        switch entry {
        case .any: allowsAnyName = true
        case .name(let name): names.insert(name)
        case .suffix(let suffix): suffixes.insert(suffix)
        case .address(let host, let port): addresses.insert(Address(host: host, port: port))
        }
    }

    private enum Entry {
        case any
        case name(String)
        case suffix(String)
        case address(String, UInt16)

        init?(_ text: String) {
            if text == "any" {
                self = .any
            } else if text.hasPrefix("*.") {
                guard let name = HostName.lowercased(String(text.dropFirst(2))),
                    SocketAddress(ip: name, port: 0) == nil
                else { return nil }
                self = .suffix("." + name)
            } else if let endpoint = try? PushEndpoint("https://\(text)/"),
                !text.utf8.contains(UInt8(ascii: "/"))
            {
                let hasPort = text.hasSuffix(":\(endpoint.port)")
                self = hasPort ? .address(endpoint.host, endpoint.port) : .name(endpoint.host)
            } else {
                return nil
            }
        }
    }
}

/// An invalid entry in a list of hosts.
package struct HostRuleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The entry.
    package let entry: String

    /// A message to follow the name of the setting.
    package var description: String {
        "has '\(entry)', which is neither a host name, *.SUFFIX, HOST:PORT nor any"
    }
}

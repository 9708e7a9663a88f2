internal import Network

/// Whom a push service may contact about a relay: the `sub` claim (RFC 8292, section 2.1).
package struct VAPIDSubject: Hashable, Sendable, CustomStringConvertible {
    /// A `mailto:` or `https:` URL.
    package let text: String

    private static let countMax = 255
    /// Domains at which no mail server or web page can be reached.
    private static let unreachable = ["localhost", "invalid", "local"]

    /// Validates a subject by Apple's rules: Apple refuses pushes with an invalid one (403 `BadJwtToken`).
    package init(_ text: String) throws(VAPIDSubjectError) {
        guard text.utf8.count <= Self.countMax, text.utf8.allSatisfy(Self.isAllowed) else {
            throw .characters
        }
        let host: Substring
        if text.hasPrefix("mailto:") {
            let parts = text.dropFirst("mailto:".count).split(
                separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { throw .mailAddress }
            host = parts[1]
        } else if text.hasPrefix("https://") {
            host = text.dropFirst("https://".count).prefix { !"/?#:".contains($0) }
        } else {
            throw .scheme
        }
        guard let name = HostName.lowercased(String(host)), name.contains("."),
            SocketAddress(ip: name, port: 0) == nil,
            !Self.unreachable.contains(where: { name.hasSuffix("." + $0) })
        else { throw .domain }
        self.text = text
    }

    /// The URL.
    package var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">")
            && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

/// Why text can't be used as a subject.
package enum VAPIDSubjectError: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case scheme
    case characters
    case mailAddress
    case domain

    /// A message to follow the name of the setting.
    package var description: String {
        switch self {
        case .scheme: "must begin with mailto: or https://"
        case .characters: "must not contain spaces, quotes or angle brackets, or exceed 255 characters"
        case .mailAddress: "must have exactly one email address after mailto:"
        case .domain:
            "must have a publicly reachable domain; Apple refuses localhost and IP addresses"
        }
    }
}

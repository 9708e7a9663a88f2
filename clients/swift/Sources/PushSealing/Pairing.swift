/// The contents of a pairing link: the relay, the secret shared with the sender, and the server's addresses.
///
/// OpenCode's app reads the same link. With a ``key``, notifications can be sealed. Descriptions and mirrors don't
/// reveal the secrets.
///
/// The sender shows the link as a QR code; the phone scans it:
///
/// ```swift
/// let secret = PairingSecret()
/// let pairing = try Pairing(
///     relayURL: "https://relay.example.org", hosts: ["http://192.0.2.10:4096"], key: secret)
/// let link = pairing.link()
///
/// let scanned = try Pairing(parsing: link)
/// ```
public struct Pairing: Sendable, Equatable {
    /// The scheme of OpenCode's app.
    public static let schemeDefault = "mobilevoice"
    /// The maximum size of a link or JSON, in bytes.
    public static let bytesMax = 16_384

    /// The relay's URL without a slash at the end; the scheme is `http` or `https`.
    public let relayURL: String
    /// The secret that every request to the relay carries.
    public let relaySecret: String
    /// The addresses of the server, at least one.
    public let hosts: [String]
    /// The server's ID in pushes; see ``SealedMessage/serverID``.
    public let serverID: String?
    /// The pairing secret; `nil` if the sender can't seal.
    public let key: PairingSecret?
    /// The one-time code, valid for five minutes, with which a phone logs in to OpenCode; `nil` if the link has none.
    ///
    /// It isn't in ``json``, which apps store.
    public package(set) var code: String?

    /// Makes a pairing for a new or existing secret.
    ///
    /// - Throws: ``PairingFailure``.
    public init(
        relayURL: String, hosts: [String], serverID: String? = nil, key: PairingSecret = PairingSecret()
    ) throws(PairingFailure) {
        try self.init(
            relayURL: relayURL, relaySecret: key.relaySecret, hosts: hosts, serverID: serverID, key: key)
    }

    /// Makes a pairing; without a key, it can't be used for sealing.
    ///
    /// - Parameter relaySecret: Must belong to the key, if there is one.
    package init(
        relayURL: String, relaySecret: String, hosts: [String], serverID: String?, key: PairingSecret?
    ) throws(PairingFailure) {
        guard let url = Self.normalized(relayURL) else { throw .invalid("relayURL") }
        guard !relaySecret.isEmpty else { throw .missing("relaySecret") }
        guard !hosts.isEmpty else { throw .missing("hosts") }
        self.relayURL = url
        self.relaySecret = relaySecret
        self.hosts = hosts
        self.serverID = serverID
        self.key = key
    }

    /// Parses a link or the JSON in it, with or without `key`.
    ///
    /// The link is any URL with the JSON in its query or fragment as `pair` or `payload`. A link without `relayURL` is
    /// refused, because guessing which relay gets the secret would be unsafe. So is a link with a damaged or misspelt
    /// `key`, which would otherwise become a pairing that sends text unencrypted.
    ///
    /// - Throws: ``PairingFailure``.
    public init(parsing text: String) throws(PairingFailure) {
        guard text.utf8.count <= Self.bytesMax else { throw .notAPairing }
        let text = String(text.drop(while: \.isWhitespace))
        guard let json = JSONValue(parsing: PairingLink.payload(of: text) ?? text), json.isObject else {
            throw .notAPairing
        }
        if let version = json["v"], version != .integer(1) { throw .unsupportedVersion }
        if let name = PairingMembers.misspelt(in: json) { throw .misspelt(name) }
        guard let relaySecret = try json.member("relaySecret") else { throw .missing("relaySecret") }
        guard let hosts = json["hosts"]?.array?.compactMap(\.string) else { throw .missing("hosts") }
        guard let relayURL = try json.member("relayURL"), !relayURL.isEmpty else {
            throw .missing("relayURL")
        }
        var key: PairingSecret?
        if let text = try json.member("key") {
            guard let secret = PairingSecret(base64URL: text) else { throw .invalid("key") }
            guard secret.relaySecret == relaySecret else { throw .secretMismatch }
            key = secret
        }
        try self.init(
            relayURL: relayURL, relaySecret: relaySecret, hosts: hosts, serverID: try json.member("serverID"),
            key: key)
        code = json["code"]?.string.flatMap { Self.isCode($0) ? $0 : nil }
    }

    /// Identifies the pairing in an app's storage: 16 hexadecimal digits that reveal nothing about its secrets.
    public var id: String {
        let code = SystemCiphers.authenticationCode(
            of: Array("pairing id \(relayURL)".utf8), key: Array(relaySecret.utf8))
        return Hexadecimal.text(Array(code.prefix(8)))
    }

    /// The URLs at which the ``code`` opens OpenCode, one for each of the ``hosts``; empty without a code.
    ///
    /// The first request uses up the code. A browser gets OpenCode's page; other clients, which don't accept
    /// `text/html`, get `{"token":"…"}`, a password for OpenCode's API.
    public var connectURLs: [String] {
        guard let code else { return [] }
        return hosts.compactMap { host in Self.normalized(host).map { "\($0)/auth/connect/\(code)" } }
    }

    /// Whether the text can be a one-time code: at most 128 letters, digits, `-` and `_`.
    package static func isCode(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetter($0 | 0x20) || "0123456789-_".utf8.contains($0) }
    }

    /// The pairing as compact JSON, without its ``code``.
    public var json: String { json(code: nil) }

    private func json(code: String?) -> String {
        var members = [JSONValue.Member("v", .integer(1))]
        members.add("serverID", serverID)
        members.add("relayURL", relayURL)
        members.add("relaySecret", relaySecret)
        members.append(JSONValue.Member("hosts", .array(hosts.map { .string($0) })))
        members.add("key", key?.base64URL)
        members.add("code", code)
        return JSONValue.object(members).text
    }

    /// The link that opens the relay's web page, which reads the pairing from the fragment, so that the relay doesn't
    /// get it.
    package var pageLink: String { PairingLink.pageLink(to: json(code: code), relayURL: relayURL) }

    /// The link for the QR code.
    public func link(scheme: String = schemeDefault) -> String {
        PairingLink.link(to: json(code: code), scheme: scheme)
    }

    /// Whether the relay's URL has more than a scheme, a host and a port; OpenCode's app drops the rest.
    package var relayURLHasPath: Bool { relayURL.split(separator: "/").count > 2 }

    /// Whether the text can be a link's scheme: lower-case letters, digits, `+`, `-` and `.`, beginning with a letter.
    package static func isScheme(_ text: String) -> Bool {
        text.utf8.first.map(isLetter) == true
            && text.utf8.allSatisfy { isLetter($0) || "0123456789+-.".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    // OpenCode's app treats a URL without a scheme as an http URL.
    private static func normalized(_ text: String) -> String? {
        var url = text.contains("://") ? text : "http://" + text
        while url.hasSuffix("/") { url.removeLast() }
        let parts = url.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()), parts[1].hasPrefix("//")
        else { return nil }
        let host = parts[1].dropFirst(2)
        let isPlain = url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, let first = host.first, first != "/", !host.contains(where: { "@?#\\".contains($0) })
        else { return nil }
        return parts[0].lowercased() + ":" + parts[1]
    }
}

extension Pairing: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The relay's URL, without secrets.
    public var description: String { "<pairing with \(relayURL)>" }
    /// The relay's URL, without secrets.
    public var debugDescription: String { description }
    /// A mirror without children, so that it doesn't reveal the secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Why the text isn't a pairing, or why a pairing can't be made.
public enum PairingFailure: Error, Sendable, Equatable {
    /// Neither a pairing's JSON nor a link that contains it.
    case notAPairing
    /// A version other than 1.
    case unsupportedVersion
    /// A member is missing; carries its name.
    case missing(String)
    /// A member isn't valid; carries its name.
    case invalid(String)
    /// A member's name is probably a misspelling of this one.
    case misspelt(String)
    /// `relaySecret` doesn't belong to `key`: somebody changed the link.
    case secretMismatch
}

extension PairingFailure: CustomStringConvertible {
    /// An explanation that quotes no part of the text.
    public var description: String {
        switch self {
        case .notAPairing: "it is neither a pairing link nor its JSON"
        case .unsupportedVersion: "its version is not supported"
        case .missing(let name): "it has no \(name)"
        case .invalid(let name): "its \(name) is not valid"
        case .misspelt(let name): "it has a member that looks like \(name), but is not exactly it"
        case .secretMismatch: "its relaySecret does not belong to its key"
        }
    }
}

extension JSONValue {
    // A member that must be a string if it is present.
    fileprivate func member(_ name: String) throws(PairingFailure) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .invalid(name) }
        return text
    }
}

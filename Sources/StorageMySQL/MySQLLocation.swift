internal import Spelling
package import Storage

/// The location of a MySQL or MariaDB database, parsed from a `mysql://` URL.
///
/// `mysql://user:password@host1:3306,host2:3306/database?ssl-mode=verify-identity&ssl-ca=ca.pem`
package struct MySQLLocation: Equatable, Sendable {
    /// One server: a name, an IPv4 address or an IPv6 address, and a port.
    package struct Host: Hashable, Sendable {
        /// The name or address, without brackets.
        package let name: String
        /// The TCP port.
        package let port: UInt16
    }

    /// The TLS mode; the raw value is the mode's name in the URL and in MySQL's own clients.
    package enum TLSMode: String, Sendable, CaseIterable {
        /// No TLS.
        case disabled
        /// TLS if the server offers it, without verifying the server's identity.
        case preferred
        /// TLS, without verifying the server's identity.
        case required
        /// TLS with a certificate issued by one of the authorities in `ssl-ca`.
        case verifyCA = "verify-ca"
        /// Like `verifyCA`, but the certificate must also be valid for the host's name.
        case verifyIdentity = "verify-identity"
    }

    /// The servers, in the order in which they are tried; empty when `socket` is given.
    package let hosts: [Host]
    /// The path of the server's socket on this machine, instead of hosts.
    package let socket: String?
    /// The account's name.
    package let user: String
    /// The account's password; nil for an account without one.
    package let password: Secret?
    /// The database's name.
    package let database: String
    /// The TLS mode.
    package let tlsMode: TLSMode
    /// The path of the authorities' PEM certificates; nil to use the system's.
    package let authorityFile: String?
    /// The paths of the client's own certificate and key, in PEM.
    package let certificateFile: String?, keyFile: String?

    /// The location without the user's name and password, for use in messages.
    package var description: String {
        let places = hosts.map { host in
            (host.name.contains(":") ? "[\(host.name)]" : host.name) + ":\(host.port)"
        }
        return (socket ?? places.joined(separator: ",")) + "/" + database
    }

    /// Reads a `DATABASE_URL` whose scheme is `mysql` or `mariadb`; every part may contain percent escapes.
    package init(url: String) throws(DatabaseURLError) {
        var rest = try Self.afterScheme(url)
        let query = rest.firstIndex(of: "?").map { rest[$0...].dropFirst() } ?? ""
        rest = rest.prefix { $0 != "?" }
        let authority = rest.prefix { $0 != "/" }
        database = try Self.databaseName(rest.dropFirst(authority.count))
        let options = try MySQLURLOptions(query)
        let place: Substring
        (user, password, place) = try Self.account(authority)
        socket = options.socket
        hosts = try socket == nil ? Self.hosts(place) : []
        if socket != nil, !place.isEmpty, place != "localhost" {
            throw DatabaseURLError("A MySQL URL has hosts or a socket, not both.")
        }
        tlsMode = try options.checkedMode(isSocket: socket != nil)
        authorityFile = options.authorityFile
        certificateFile = options.certificateFile
        keyFile = options.keyFile
    }

    private static let form = "mysql://user:password@host:3306/database"

    private static func afterScheme(_ url: String) throws(DatabaseURLError) -> Substring {
        for scheme in ["mysql://", "mariadb://"] where url.lowercased().hasPrefix(scheme) {
            // An unescaped '#' in a password would truncate the URL.
            guard !url.contains("#") else {
                throw DatabaseURLError("A MySQL URL has no fragment; # is written %23.")
            }
            return url.dropFirst(scheme.count)
        }
        throw DatabaseURLError("A MySQL database is written \(form).")
    }

    private static func databaseName(_ path: Substring) throws(DatabaseURLError) -> String {
        let name = path.dropFirst()
        guard !name.isEmpty else { throw DatabaseURLError("The MySQL URL names no database: \(form).") }
        guard !name.contains("/") else {
            throw DatabaseURLError("The MySQL URL's database has a slash in its name.")
        }
        return try decode(name, "database")
    }

    private static func account(
        _ authority: Substring
    ) throws(DatabaseURLError) -> (String, Secret?, Substring) {
        // The last @, because a password may contain an unescaped @.
        guard let at = authority.lastIndex(of: "@") else {
            throw DatabaseURLError("The MySQL URL names no user: \(form).")
        }
        let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let user = try decode(parts[0], "user")
        guard !user.isEmpty else { throw DatabaseURLError("The MySQL URL names no user: \(form).") }
        var password: Secret?
        if parts.count == 2, !parts[1].isEmpty { password = Secret(try decode(parts[1], "password")) }
        return (user, password, authority[at...].dropFirst())
    }

    private static func hosts(_ list: Substring) throws(DatabaseURLError) -> [Host] {
        var hosts: [Host] = []
        for entry in list.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try host(entry))
        }
        return hosts
    }

    private static func host(_ entry: Substring) throws(DatabaseURLError) -> Host {
        var name = entry.prefix { $0 != ":" }
        var rest = entry.dropFirst(name.count)
        if entry.hasPrefix("[") {
            guard let end = entry.firstIndex(of: "]") else {
                throw DatabaseURLError("The MySQL URL has an IPv6 address without its ].")
            }
            name = entry[..<end].dropFirst()
            rest = entry[end...].dropFirst()
        }
        let host = try decode(name, "host")
        guard !host.isEmpty else { throw DatabaseURLError("The MySQL URL has an empty host.") }
        guard !rest.isEmpty else { return Host(name: host, port: 3306) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw DatabaseURLError("The MySQL URL's port of \(host) is no number from 1 to 65535.")
        }
        return Host(name: host, port: port)
    }

    /// Decodes an escaped part; errors call it `part` and don't repeat its text, which may be the password.
    private static func decode(_ text: Substring, _ part: String) throws(DatabaseURLError) -> String {
        guard let decoded = PercentEscapes.decode(text) else {
            throw DatabaseURLError("The MySQL URL's \(part) has an invalid percent escape.")
        }
        return decoded
    }
}

/// The options in a MySQL URL's query.
private struct MySQLURLOptions {
    var socket: String?
    var mode: MySQLLocation.TLSMode?
    var authorityFile: String?
    var certificateFile: String?
    var keyFile: String?

    private static let keys = ["socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode"]

    init(_ query: Substring) throws(DatabaseURLError) {
        var seen: Set<String> = []
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(parts[0])
            guard Self.keys.contains(key) else { throw Self.unknown(key) }
            guard seen.insert(key).inserted else {
                throw DatabaseURLError("The MySQL URL has \(key) twice.")
            }
            guard parts.count == 2, let value = PercentEscapes.decode(parts[1]), !value.isEmpty else {
                throw DatabaseURLError(
                    "The MySQL URL's \(key) needs a value with valid percent escapes.")
            }
            try set(key, value)
        }
    }

    private mutating func set(_ key: String, _ value: String) throws(DatabaseURLError) {
        switch key {
        case "socket": socket = value
        case "ssl-ca": authorityFile = value
        case "ssl-cert": certificateFile = value
        case "ssl-key": keyFile = value
        default:
            // MySQL's own tools use the form VERIFY_IDENTITY.
            let spelled = value.lowercased().replacing("_", with: "-")
            guard let mode = MySQLLocation.TLSMode(rawValue: spelled) else {
                let modes = MySQLLocation.TLSMode.allCases.map(\.rawValue).joined(separator: ", ")
                throw DatabaseURLError("The MySQL URL's ssl-mode must be one of \(modes).")
            }
            self.mode = mode
        }
    }

    /// The TLS mode; throws if it conflicts with the other options.
    func checkedMode(isSocket: Bool) throws(DatabaseURLError) -> MySQLLocation.TLSMode {
        guard (certificateFile == nil) == (keyFile == nil) else {
            throw DatabaseURLError("The MySQL URL has one of ssl-cert and ssl-key; both are needed, or none.")
        }
        // As in MySQL's clients, setting an authority implies verification.
        let mode = mode ?? (authorityFile == nil ? .preferred : .verifyIdentity)
        switch mode {
        case .disabled where authorityFile != nil || certificateFile != nil,
            .preferred where authorityFile != nil, .required where authorityFile != nil:
            throw DatabaseURLError(
                "The MySQL URL names certificates that ssl-mode=\(mode.rawValue) would not look at; "
                    + "use verify-identity or verify-ca.")
        case .verifyCA where authorityFile == nil:
            throw DatabaseURLError("The MySQL URL's ssl-mode=verify-ca needs ssl-ca.")
        case .verifyIdentity where isSocket:
            throw DatabaseURLError(
                "The MySQL URL's socket has no host name to verify; use ssl-mode=verify-ca.")
        default:
            return mode
        }
    }

    private static func unknown(_ key: String) -> DatabaseURLError {
        let shown = key.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        let near = EditDistance.nearest(to: key, among: keys).map { " Did you mean \($0)?" }
        let list = " There are \(keys.joined(separator: ", "))."
        return DatabaseURLError("The MySQL URL's option \"\(shown.prefix(40))\" is unknown.\(near ?? list)")
    }
}

internal import CPostgres
internal import Spelling
package import Storage

/// The location of a Postgres database: a validated libpq URI without the relay's own keys.
///
/// It may contain anything that libpq supports (PostgreSQL's manual, 34.1.1.2 and 34.1.2): several hosts, `sslmode`,
/// `target_session_attrs`. The relay's own key is `prepared_statements`, `on` (the default) or `off`, for poolers that
/// use a different connection for each transaction.
package struct PostgresLocation: Sendable, CustomStringConvertible {
    /// libpq's own parameters by name; the values may contain a password.
    let parameters: Secret
    /// Whether statements are prepared once per connection.
    package let preparesStatements: Bool
    /// The hosts and database, without the user, password or options: `db.example.org:5432/relay`.
    package let description: String

    /// The relay's own key.
    private static let preparedStatementsKey = "prepared_statements"

    /// Reads a `DATABASE_URL` whose scheme is `postgres` or `postgresql`.
    ///
    /// Its errors never repeat a part of the URL that could be a password.
    package init(url: String) throws(DatabaseURLError) {
        let parts = try Parts(url)
        var prepares = true
        var kept: [Substring] = []
        for pair in parts.query {
            let name = pair.prefix { $0 != "=" }
            let value = pair.dropFirst(name.count + 1)
            guard name == Self.preparedStatementsKey else {
                try PostgresKeys.check(name, value)
                kept.append(pair)
                continue
            }
            switch value {
            case "on": prepares = true
            case "off": prepares = false
            default: throw DatabaseURLError("\(Self.preparedStatementsKey) must be on or off.")
            }
        }
        let names = kept.map { $0.prefix { $0 != "=" } }
        for (one, other) in [("sslcert", "sslkey"), ("sslkey", "sslcert")]
        where names.contains(one[...]) && !names.contains(other[...]) {
            throw DatabaseURLError(
                "The Postgres URL has \(one) without \(other); a client's certificate needs both.")
        }
        let query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
        let uri = "postgresql://" + parts.authority + parts.path + query
        let options = try PostgresKeys.options(of: uri)
        for port in (options["port"] ?? "").split(separator: ",") where UInt16(port) == nil {
            throw DatabaseURLError("The Postgres URL has a port that is no number from 1 to 65535.")
        }
        preparesStatements = prepares
        parameters = Secret(uri)
        description = Self.describe(options)
    }

    private static func describe(_ options: [String: String]) -> String {
        let hosts = (options["host"] ?? options["hostaddr"] ?? "").split(
            separator: ",", omittingEmptySubsequences: false)
        let ports = (options["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let places = hosts.enumerated().map { index, host in
            let port = ports.count == hosts.count ? ports[index] : ports.first ?? ""
            let name = host.contains(":") ? "[\(host)]" : String(host)
            return port.isEmpty ? name : "\(name):\(port)"
        }
        return places.joined(separator: ",") + (options["dbname"].map { "/" + $0 } ?? "")
    }
}

/// A URL split where libpq splits it; a URL that libpq would split differently than its author intended is refused.
private struct Parts {
    /// User, password, hosts and ports.
    let authority: Substring
    /// The path with its leading slash; empty if there is none.
    let path: Substring
    /// The query's `key=value` pairs.
    let query: [Substring]

    init(_ url: String) throws(DatabaseURLError) {
        guard let mark = url.firstRange(of: "://"),
            ["postgres", "postgresql"].contains(url[..<mark.lowerBound].lowercased())
        else {
            throw DatabaseURLError(
                "A Postgres database is written postgres://user:password@host:5432/database.")
        }
        guard !url.utf8.contains(0) else { throw DatabaseURLError("The Postgres URL has a NUL in it.") }
        let rest = url[mark.upperBound...]
        let beforeQuery = rest[..<(rest.firstIndex(of: "?") ?? rest.endIndex)]
        let authority = beforeQuery[..<(beforeQuery.firstIndex(of: "/") ?? beforeQuery.endIndex)]
        // Credentials end at the first @, which must come before any slash or question mark. Any later @ must be
        // escaped, or libpq treats the text before it as a host or a key.
        let misplaced = rest.count { $0 == "@" } > (authority.contains("@") ? 1 : 0)
        guard !misplaced, !rest.contains("#") else {
            throw DatabaseURLError(
                "The Postgres URL has a /, ?, # or @ where it must be percent-encoded (%2F, %3F, %23, %40).")
        }
        self.authority = authority
        path = beforeQuery[authority.endIndex...]
        let query = rest[beforeQuery.endIndex...].dropFirst()
        self.query = query.isEmpty ? [] : query.split(separator: "&", omittingEmptySubsequences: false)
    }
}

/// libpq's parameters.
enum PostgresKeys {
    /// Refuses query keys that libpq doesn't know, and values that it would refuse only when connecting.
    static func check(_ name: Substring, _ value: Substring) throws(DatabaseURLError) {
        // libpq accepts `ssl=true` for compatibility with JDBC.
        guard known.contains(String(name)) || name == "ssl" else {
            // Text that doesn't look like a key may be part of a password.
            guard name.utf8.allSatisfy({ 0x61...0x7A ~= $0 || $0 == 0x5F }), name.utf8.count <= 40 else {
                throw DatabaseURLError("The Postgres URL has an unknown key.")
            }
            let near = EditDistance.nearest(to: String(name), among: known.sorted())
            let hint = near.map { "; did you mean \($0)?" } ?? "."
            throw DatabaseURLError("The Postgres URL has an unknown key \"\(name)\"\(hint)")
        }
        guard let allowed = choices[String(name)], !allowed.contains(String(value)) else { return }
        throw DatabaseURLError("\(name) must be one of \(allowed.joined(separator: ", ")).")
    }

    /// The parameters that libpq parses from a URI.
    static func options(of uri: String) throws(DatabaseURLError) -> [String: String] {
        // libpq's message may repeat the URI, so it isn't shown.
        var message: UnsafeMutablePointer<CChar>?
        let parsed = unsafe PQconninfoParse(uri, &message)
        unsafe PQfreemem(message)
        guard let parsed = unsafe parsed else {
            throw DatabaseURLError(
                "The Postgres URL can't be read; it is written postgres://user:password@host:5432/database?key=value."
            )
        }
        defer { unsafe PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var option = unsafe parsed
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe options[String(cString: keyword)] = String(cString: value)
            }
            unsafe option += 1
        }
        return options
    }

    private static let choices = [
        "sslmode": ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
        "target_session_attrs": [
            "any", "read-write", "read-only", "primary", "standby", "prefer-standby",
        ],
        "ssl": ["true"],
        "gssencmode": ["disable", "prefer", "require"],
        "channel_binding": ["disable", "prefer", "require"],
    ]

    private static let known: Set<String> = {
        var names: Set<String> = ["prepared_statements"]
        guard let defaults = unsafe PQconndefaults() else { return names }
        defer { unsafe PQconninfoFree(defaults) }
        var option = unsafe defaults
        while let keyword = unsafe option.pointee.keyword {
            unsafe names.insert(String(cString: keyword))
            unsafe option += 1
        }
        return names
    }()
}

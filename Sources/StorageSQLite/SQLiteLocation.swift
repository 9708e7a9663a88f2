package import Storage

/// The location of a SQLite database: the path in `sqlite:relay.db` or `sqlite:///var/lib/relay/relay.db`.
package struct SQLiteLocation: Hashable, Sendable {
    /// The file's path, relative to the working directory unless it begins with a slash.
    package let path: String

    /// The database at a path.
    package init(path: String) {
        self.path = path
    }

    /// Reads a `DATABASE_URL` whose scheme is `sqlite`; percent escapes are decoded (RFC 3986, 2.1).
    package init(url: String) throws(DatabaseURLError) {
        let scheme = "sqlite:"
        guard url.lowercased().hasPrefix(scheme) else {
            throw DatabaseURLError(
                "A SQLite database is written sqlite:relay.db or sqlite:///path/to/relay.db.")
        }
        var rest = url.dropFirst(scheme.count)
        if let mark = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            let key = rest[mark...].dropFirst().prefix { $0 != "=" && $0 != "&" }
            throw DatabaseURLError("A SQLite database has no options; \"\(key)\" is unknown.")
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            guard rest.hasPrefix("/") else {
                throw DatabaseURLError("sqlite:// takes an absolute path: sqlite:///path/to/relay.db.")
            }
        }
        guard let path = PercentEscapes.decode(rest) else {
            throw DatabaseURLError("The path of the SQLite database has an invalid percent escape.")
        }
        guard !path.utf8.contains(0) else {
            throw DatabaseURLError("The path of the SQLite database contains a NUL.")
        }
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw DatabaseURLError("The SQLite database has no file name: sqlite:relay.db.")
        }
        guard path != ":memory:" else {
            throw DatabaseURLError(
                "The SQLite database must be a file: each connection to :memory: has its own.")
        }
        self.path = path
    }
}

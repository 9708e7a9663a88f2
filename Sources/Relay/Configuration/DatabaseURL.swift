import Programs
import Storage

/// The database's location.
///
/// The URL is secret, because it may contain a password.
struct DatabaseURL: Sendable, Equatable {
    /// The engine that the scheme selects.
    let engine: DatabaseEngine
    let url: Secret

    /// The full URL as text, for the driver.
    var text: String { String(decoding: url.bytes, as: UTF8.self) }

    /// The URL of a SQLite database file.
    static func sqlite(path: String) -> DatabaseURL {
        DatabaseURL(engine: .sqlite, url: Secret("sqlite:" + path))
    }

    /// Parses a URL: the scheme here, the rest in the driver.
    static func parse(_ text: String) -> Result<DatabaseURL, SettingError> {
        let known = DatabaseEngine.allCases.flatMap(\.schemes).map { $0 + ":" }.joined(separator: ", ")
        guard let colon = text.firstIndex(of: ":") else {
            return .failure(.because("it has no scheme; it must start with one of \(known)"))
        }
        let scheme = text[..<colon].lowercased()
        guard let engine = DatabaseEngine.allCases.first(where: { $0.schemes.contains(scheme) }) else {
            return .failure(.because("its scheme is unknown; it must start with one of \(known)"))
        }
        let database = DatabaseURL(engine: engine, url: Secret(text))
        if let problem = OpenStorage.problem(with: database) {
            let sentence = problem.description
            return .failure(.because(String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...])))
        }
        return .success(database)
    }
}

extension SettingType where Value == DatabaseURL {
    /// A database URL.
    static let database = SettingType(
        accepts: "a URL such as sqlite:relay.db, postgres://user:password@host/database or "
            + "mysql://user:password@host/database",
        parse: { text in DatabaseURL.parse(text) },
        render: \.text)
}

import Storage

/// What the commands run with that look into the database for a person.
struct InspectionConfiguration: Sendable {
    var database: DatabaseURL
    /// Of a database server; a file has none.
    var options: ServerOptions
    var hasher: SecretHasher
    /// `nil` when none was given.
    var secret: Secret?
    /// Where a relay that runs can be asked; `off` for commands that ask none.
    var admin: ListenAddress
    /// What such a relay wants as its bearer token.
    var adminToken: Secret?

    /// Reads the settings of a command; see ``ServeConfiguration``.
    init(_ sources: SettingSources, user: SettingUser) throws(ConfigurationProblems) {
        var reader = SettingReader(sources)
        database = reader.read(Settings.databaseURL)
        options = ServerOptions()
        options.connectionsMax = Bounds.commandConnectionsMax
        options.callTimeout = reader.read(Settings.databaseTimeout)
        hasher = SecretHasher(&reader)
        secret = reader.read(Settings.secret)
        admin = user == .revoke ? reader.read(Settings.adminListen) : .off
        adminToken = user == .revoke ? reader.read(Settings.adminToken) : nil
        reader.noteUnknownNames()
        guard reader.problems.isEmpty else { throw ConfigurationProblems(reader.problems, user: user) }
    }
}

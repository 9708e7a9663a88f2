import Glibc
import Programs
import Storage

/// The configuration of commands that read the database.
struct InspectionConfiguration: Sendable {
    var database: DatabaseURL
    /// Options for a database server; not used for a file.
    var options: ServerOptions
    var hasher: SecretHasher
    /// The secret; `nil` if none was given.
    var secret: Secret?
    /// The running relay's admin listener; `off` for commands that don't use it.
    var admin: ListenAddress
    /// The admin listener's bearer token.
    var adminToken: Secret?
    /// A sentence about what may be wrong if the database can't be opened.
    var advice: String?

    /// Reads the settings of a command; see ``ServeConfiguration``.
    init(_ sources: SettingSources, command: CommandSyntax) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        database = reader.read(Settings.databaseURL)
        options = ServerOptions()
        options.connectionsMax = Bounds.commandConnectionsMax
        options.callTimeout = reader.read(Settings.databaseTimeout)
        let isAboutSecret = command.settings.contains(Settings.secret.row)
        hasher = isAboutSecret ? SecretHasher(&reader) : SecretHasher()
        secret = isAboutSecret ? reader.read(Settings.secret) : nil
        let changes = command.settings.contains(Settings.adminListen.row)
        admin = changes ? reader.read(Settings.adminListen) : .off
        adminToken = changes ? reader.read(Settings.adminToken) : nil
        if !reader.isGiven(Settings.databaseURL.row) {
            advice = "DATABASE_URL is not set"
            if let file = sources.file, file.fault?.isMissing == true {
                advice? += " and there is no \(file.path)"
            }
            advice? += ": name the relay's settings with --env-file, or set DATABASE_URL"
        } else if sources.file?.isDefault == true, sources.file?.fault == nil, geteuid() != 0 {
            advice = "Run the command with sudo if the database belongs to the service"
        }
        reader.noteUnknownNames()
        guard reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay \(command.name)")
        }
    }
}

/// Paths used by the Debian package and docs/operate/install.md.
enum InstalledHost {
    /// The settings that systemd passes to relay.service.
    static let settingsFile = "/etc/relay/relay.env"
    /// The unit's working directory: relative paths in the settings start here.
    static let workingDirectory = "/var/lib/relay"
}

/// A file with settings given neither by flags nor by the environment.
struct SettingsFile: Sendable, Equatable {
    /// Its path.
    let path: String
    /// The variables in it.
    var values: [String: String] = [:]
    /// Why it can't be read; `nil` if it was read.
    var fault: FileFault?
    /// Whether it is the installed host's default file.
    var isDefault = false
    /// The base of its relative paths; `nil` for this process's working directory.
    var directory: String?

    /// Reads the settings file of a command.
    ///
    /// - Parameters:
    ///   - given: The path in `--env-file` or `RELAY_ENV_FILE`; without it, commands read the installed host's
    ///     file, and `relay serve` reads none, because systemd passes it the variables.
    static func load(
        given: String?, for user: Command, reading: (String) -> Result<[UInt8], FileFault>
    ) -> SettingsFile? {
        let isDefault = given == nil
        guard !isDefault || user != .serve else { return nil }
        let path = given ?? InstalledHost.settingsFile
        var file = SettingsFile(path: path, isDefault: isDefault)
        switch reading(path) {
        case .failure(let fault):
            file.fault = fault
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                file.fault = FileFault(reason: "it is not UTF-8")
                return file
            }
            guard !bytes.contains(0) else {
                // The system would truncate the path there and open another file.
                file.fault = FileFault(reason: "it contains a NUL byte")
                return file
            }
            file.values = ProxyVariables.inUpperCase(EnvironmentFile.parse(text))
            if path == InstalledHost.settingsFile { file.resolve(from: InstalledHost.workingDirectory) }
        }
        return file
    }

    /// Makes relative paths absolute as for the service, including the default database.
    private mutating func resolve(from directory: String) {
        self.directory = directory
        for row in Settings.table {
            let names = (row.isPath ? [row.name] : []) + (row.isSecret ? [row.fileName] : [])
            for name in names {
                guard let path = values[name], !path.isEmpty, !path.hasPrefix("/"), path != "-" else {
                    continue
                }
                values[name] = directory + "/" + path
            }
        }
        let database = Settings.databaseURL.row
        let isGiven = [database.name, database.fileName].contains { !(values[$0] ?? "").isEmpty }
        if !isGiven { values[database.name] = database.defaultText }
    }

    /// A setting's text, with a SQLite database's relative path made absolute.
    func resolved(_ text: String, _ row: SettingRow) -> String {
        let scheme = "sqlite:"
        guard let directory, row.name == Settings.databaseURL.row.name,
            text.lowercased().hasPrefix(scheme), !text.dropFirst(scheme.count).hasPrefix("/")
        else { return text }
        return scheme + directory + "/" + text.dropFirst(scheme.count)
    }

    /// The problem to report if its settings are needed.
    var problem: String? {
        guard let fault else { return nil }
        let head = "the settings file \(Quoted.value(path)) can't be read: \(fault.reason)"
        return isDefault
            ? head
                + "; run the command with sudo or as the relay's user, or name another file with --env-file"
            : head
    }
}

import Programs

/// Paths used by the Debian package and docs/operate/install.md.
enum InstalledHost {
    /// The settings that systemd passes to relay.service.
    static let settingsFile = "/etc/relay/relay.env"
    /// The unit's working directory: relative paths in the settings start here.
    static let workingDirectory = "/var/lib/relay"
}

extension SettingsFile {
    /// Reads the settings file for a command.
    ///
    /// - Parameters:
    ///   - given: The path in `--env-file` or `RELAY_ENV_FILE`; without it, commands read the installed host's
    ///     file, and `relay serve` reads none, because systemd passes it the variables.
    static func load(
        given: String?, for command: String, reading: (String) -> Result<[UInt8], FileError>
    ) -> SettingsFile? {
        guard given != nil || command != "serve" else { return nil }
        let path = given ?? InstalledHost.settingsFile
        var file = SettingsFile(path: path, isDefault: given == nil, reading: reading)
        file.advice =
            "; run the command with sudo or as the relay's user, or name another file with --env-file"
        let served = Set(Settings.served.map(\.name))
        file.provides = { served.contains($0.name) }
        guard file.fault == nil else { return file }
        file.values = ProxyVariables.inUpperCase(file.values)
        if path == InstalledHost.settingsFile { file.makeAbsolute(from: InstalledHost.workingDirectory) }
        return file
    }

    /// Makes relative paths absolute, including the default database's, as they are for the service.
    private mutating func makeAbsolute(from directory: String) {
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
        resolve = { text, row in
            let scheme = "sqlite:"
            guard row == database, text.lowercased().hasPrefix(scheme),
                !text.dropFirst(scheme.count).hasPrefix("/")
            else { return text }
            return scheme + directory + "/" + text.dropFirst(scheme.count)
        }
    }
}

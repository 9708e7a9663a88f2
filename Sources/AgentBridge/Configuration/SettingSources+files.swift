import Programs

extension SettingSources {
    /// The bridge's settings: flags take precedence over variables, and variables over the file.
    ///
    /// - Parameters:
    ///   - prefersFile: Whether the file takes precedence over variables. Hooks need this, because Codex calls them
    ///     with the environment of its first process.
    ///   - read: Reads a file.
    static func bridge(
        flags: [String: String], _ environment: [String: String], prefersFile: Bool = false,
        read: @escaping @Sendable (String) -> Result<[UInt8], FileError> = readFile
    ) -> SettingSources {
        var sources = SettingSources(flags: flags, environment: environment, readFile: read)
        sources.prefersFile = prefersFile
        let given = sources.value(of: Settings.config.row.name)
        guard let path = given ?? standardFile(environment) else { return sources }
        let file = SettingsFile(path: path, isDefault: false, reading: read)
        if given != nil || file.fault?.isMissing != true { sources.file = file }
        return sources
    }

    /// The default path of the configuration file.
    static func standardFile(_ environment: [String: String]) -> String? {
        if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
            return StateDirectory.own(in: path) + "/config"
        }
        return environment["HOME"].map { StateDirectory.own(in: $0 + "/.config") + "/config" }
    }

    /// Reads a small file, or standard input if its path is `-`.
    private static func readFile(_ path: String) -> Result<[UInt8], FileError> {
        do throws(FileError) {
            return .success(try SmallFile.readGiven(path, bytesMax: Bounds.settingFileBytesMax))
        } catch {
            return .failure(error)
        }
    }
}

extension SettingReader {
    /// A reader for the bridge's settings.
    init(_ sources: SettingSources) {
        self.init(sources, table: Settings.table, prefixes: [Settings.prefix])
    }
}

extension ConfigurationError {
    /// Problems with settings or with the files that settings refer to.
    init(_ problems: [String]) { self.init(problems, command: "agent-bridge") }
}

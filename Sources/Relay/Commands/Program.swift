import Programs

/// The program's entry point, called by `main.swift`.
enum Program {
    /// Runs the command line's command and returns the exit status.
    static func run(arguments: [String], environment: [String: String]) -> ExitStatus {
        let table = RelayCommand.table
        // `relay --port 1` also means `relay serve`.
        let name = arguments.first.flatMap { $0.hasPrefix("-") ? nil : $0 } ?? table.defaultCommand.name
        StandardError.use(.of(name, logFormat: environment[Settings.logFormat.row.name]))
        return table.run(arguments, complain: StandardError.message) { name, flags, options in
            guard let command = RelayCommand.all.first(where: { $0.syntax.name == name }) else {
                return .software
            }
            let call = CommandCall(
                command: command.syntax, sources: sources(name, flags, environment), options: options,
                style: OutputStyle.standardOutput(environment))
            StandardError.use(.of(name, logFormat: call.sources.value(of: Settings.logFormat.row.name)))
            do throws(ConfigurationError) {
                return try command.run(call)
            } catch {
                StandardError.messages(error.problems, summary: error.description)
                return .configuration
            }
        }
    }

    private static func sources(
        _ command: String, _ flags: [String: String], _ environment: [String: String]
    ) -> SettingSources {
        var sources = SettingSources(
            flags: flags, environment: ProxyVariables.inUpperCase(environment), readFile: SettingFile.read)
        sources.file = SettingsFile.load(
            given: sources.value(of: Settings.envFile.row.name), for: command, reading: SettingFile.read)
        return sources
    }
}

import Programs

/// A command of the bridge: its row in the program's table, and the function that runs it.
struct BridgeCommand: Sendable {
    /// The row from which the parser, help, manual page and completions are generated.
    let syntax: CommandSyntax
    let run: @Sendable (CommandCall) throws(ConfigurationError) -> ExitStatus

    /// Creates a command that by default reads all settings except the pairing.
    init(
        _ name: String, _ summary: String, about: String = "", usages: [String] = [],
        arguments: [CommandOption] = [], options: [CommandOption] = [],
        settings: [SettingRow] = Settings.table.filter { $0 != Settings.pairing.row },
        run: @escaping @Sendable (CommandCall) throws(ConfigurationError) -> ExitStatus
    ) {
        syntax = CommandSyntax(
            name, summary, about: about, usages: usages, arguments: arguments, options: options,
            settings: settings)
        self.run = run
    }

    /// All commands, in the order of `--help`; the first one is the default.
    static let all: [BridgeCommand] = [.serve, .pair, .check, .test, .outcomes, .hook, .seal, .open]

    /// The program's table.
    static let table: CommandTable = {
        var table = CommandTable(
            program: "agent-bridge",
            summary: "rings phones for OpenCode and other agents through a relay", commands: all.map(\.syntax)
        )
        table.settings = Settings.table
        table.settingsIntroduction = """
            Each setting is a flag, an environment variable and a line NAME=value of the configuration file.
            Flags take precedence over variables, and variables over the file; for hooks, the file takes
            precedence over variables.
            """
        table.notes = [
            "The server's password comes from OPENCODE_PASSWORD, or from OPENCODE_SERVER_USERNAME and "
                + "OPENCODE_SERVER_PASSWORD."
        ]
        table.exitStatuses =
            "0 success, 1 a check failed or no phone rang, 64 usage error, 65 a sealed text that can't be opened, "
            + "69 the relay or the server is unavailable, 74 a file or the output can't be written, 78 invalid "
            + "configuration. A hook always exits with 0."
        table.files = [
            ("~/.config/agent-bridge/config", "The configuration file."),
            ("~/.local/state/agent-bridge", "The secret and the queue."),
        ]
        table.seeAlso = [".BR relay (1).", ".PP", "/usr/share/doc/apn\\-relay/guide/opencode.md"]
        table.describesDefault = true
        return table
    }()
}

/// An invocation of a command.
struct CommandCall: Sendable {
    let name: String
    /// The values of setting flags, by setting name.
    let flags: [String: String]
    let options: CommandOptions
    let environment: [String: String]
    let console = Console()

    /// The checked settings.
    ///
    /// - Parameter needsState: Whether the command uses the state directory.
    func configuration(needsState: Bool = true) throws(ConfigurationError) -> Configuration {
        try Configuration(
            .bridge(flags: flags, environment, prefersFile: name == BridgeCommand.hook.syntax.name),
            needsState: needsState)
    }
}

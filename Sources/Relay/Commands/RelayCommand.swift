import Programs
import Storage

/// A command of the relay: a row of the command table, and the function that runs it.
struct RelayCommand: Sendable {
    /// The row, from which the parser, help, manual page and completions are generated.
    let syntax: CommandSyntax
    let run: @Sendable (CommandCall) throws(ConfigurationError) -> ExitStatus

    /// Creates a command, which also reads `RELAY_ENV_FILE`.
    init(
        _ name: String, _ summary: String, about: String, usages: [String] = [],
        arguments: [CommandOption] = [], options: [CommandOption] = [], settings: [SettingRow] = [],
        furtherSettings: [SettingRow] = [],
        run: @escaping @Sendable (CommandCall) throws(ConfigurationError) -> ExitStatus
    ) {
        syntax = CommandSyntax(
            name, summary, about: about, usages: usages, arguments: arguments, options: options,
            settings: settings + [Settings.envFile.row], furtherSettings: furtherSettings)
        self.run = run
    }

    /// All commands, in the order of `--help`; the first one is the default.
    static let all: [RelayCommand] = [
        .serve, .migrate, .copy, .backup, .restore, .devices, .deliveries, .stats, .tenants, .queue,
        .schedules, .tokens, .revoke, .block,
        .unblock, .check, .send, .health,
    ]

    /// The program's table.
    static let table: CommandTable = {
        var table = CommandTable(
            program: "relay", summary: "accepts events over HTTP and pushes them to devices through APNs",
            commands: all.map(\.syntax))
        table.settings = Settings.table
        table.settingsIntroduction = """
            Every environment variable has a flag of the same name, which takes precedence. An empty variable
            counts as unset. A secret can also come from a file: NAME_FILE or --name-file. A secret passed as
            a flag is visible in the process list. Settings that neither provides come from --env-file; every
            command except serve reads \(InstalledHost.settingsFile) by default, if it exists.
            """
        table.notes = [
            "Settings come from environment variables and from flags of the same name, which take precedence: "
                + "PORT is --port. relay serve --help lists them. Commands also read "
                + "\(InstalledHost.settingsFile), or the file named by --env-file."
        ]
        table.exitStatuses =
            "0 success, 1 unhealthy, failed check or nothing sent, 64 usage error, 65 conflicting data in the "
            + "target of a copy, no such secret or no backup, 66 unreadable backup, 69 database, port or relay "
            + "unavailable, 70 internal error, 73 a file exists, 74 cannot write the output, 78 invalid "
            + "configuration, 130 interrupted (serve: by a second SIGTERM or SIGINT)."
        table.files = [
            (
                InstalledHost.settingsFile,
                "The settings of the installed relay. systemd passes them to relay.service; commands read them "
                    + "from here."
            ), (InstalledHost.workingDirectory, "The installed relay's database directory."),
        ]
        table.seeAlso = [
            ".BR agent\\-bridge (1),", ".BR systemctl (1),", ".BR systemd.exec (5).", ".PP",
            "/usr/share/doc/apn\\-relay",
        ]
        table.moved = [
            "pair": "agent-bridge pair --standalone", "seal": "agent-bridge seal",
            "open": "agent-bridge open",
        ]
        return table
    }()
}

/// A command as it was called.
struct CommandCall: Sendable {
    let command: CommandSyntax
    let sources: SettingSources
    let options: CommandOptions
    let style: OutputStyle

    /// The configuration of a command that reads the database; the process becomes the database's owner.
    func inspection() throws(ConfigurationError) -> InspectionConfiguration {
        let configuration = try InspectionConfiguration(sources, command: command)
        try DatabaseOwner.become([configuration.database], for: command.name)
        return configuration
    }
}

// Options that several commands have.
extension CommandOption {
    static let json = CommandOption("--json", "Print JSON; times are ISO 8601 in UTC.")
    static let limit = CommandOption(
        "--limit", .number(1...Bounds.rowsShownMax),
        "Show up to N rows, 1 to \(Bounds.rowsShownMax). Default: \(Bounds.rowsShownDefault).")
    static let after = CommandOption(
        "--after", .text("CURSOR"),
        "Show the page after this cursor, which the last line of the previous page contains.")
    static let secretHash = CommandOption(
        "--secret-hash",
        .text(
            "PREFIX",
            "\(SecretHashPrefix.countMin) to \(Digest256.hexCount) hexadecimal digits of a secret's hash, as shown in "
                + "log lines"
        ) { SecretHashPrefix($0) != nil },
        "At least the first \(SecretHashPrefix.countMin) digits of the secret's hash, as shown in log lines.")
}

// Settings that several commands read.
extension [SettingRow] {
    /// The settings for reading the database.
    static let inspection = [Settings.databaseURL.row, Settings.databaseTimeout.row]
    /// The settings for finding one secret's rows.
    static let ofSecret = [Settings.secretPepper.row, Settings.secretPepperOther.row, Settings.secret.row]
    /// The settings for making the running relay change the database.
    static let change = [Settings.adminListen.row, Settings.adminToken.row]
    /// The settings for finding the relay on this machine.
    static let address = [
        Settings.port.row, Settings.host.row, Settings.tlsCertFile.row, Settings.tlsKeyFile.row,
    ]
}

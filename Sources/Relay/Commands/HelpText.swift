/// What `--help` prints; pure functions of the table of settings.
enum HelpText {
    /// Help about the program, or about one command with its settings.
    static func text(about user: SettingUser?) -> String {
        switch user {
        case nil: program
        case .serve: command(.serve, serve)
        case .migrate: command(.migrate, migrate)
        case .copy: command(.copy, copy)
        case .devices: command(.devices, devices)
        case .deliveries: command(.deliveries, deliveries)
        case .stats: command(.stats, stats)
        case .revoke: command(.revoke, revoke)
        case .check: command(.check, check)
        case .send: command(.send, send)
        case .health: command(.health, health)
        }
    }

    /// What a wrong command line is answered with, after its problem.
    static func hint(_ user: SettingUser?) -> String {
        user.map { "See relay \($0.rawValue) --help." } ?? "See relay --help."
    }

    private static let program = """
        relay \(Version.current): takes events over HTTP and pushes them to devices through APNs.

        Usage: relay [serve] [--SETTING VALUE]...
               relay migrate [--dry-run] [--SETTING VALUE]...
               relay copy --from URL --to URL [--merge]
               relay devices [--json] [--SETTING VALUE]...
               relay deliveries [--limit N] [--follow] [--json] [--SETTING VALUE]...
               relay stats [--days N] [--json] [--SETTING VALUE]...
               relay revoke [--yes] [--json] [--SETTING VALUE]...
               relay check [--json] [--devices] [--send] [--SETTING VALUE]...
               relay send [--url URL] [--title TEXT] [--body TEXT] [--event-type TYPE] [--json]
               relay health [--SETTING VALUE]...
               relay COMMAND --help
               relay --version

        serve     Serve the HTTP API until SIGTERM or SIGINT. The default command.
        migrate   Bring the database's tables up to date and exit. serve does it too when it starts.
        copy      Copy everything from one database to another, of the same engine or not.
        devices   Show a secret's devices, and how the last push to each ended.
        deliveries
                  Show a secret's delivery log: how each push to its devices ended.
        stats     Count events and pushes by day, and what is there now.
        revoke    Remove a secret's devices, the pushes that wait for them and its receipts.
        check     Find out why nothing arrives: settings, key, clock, APNs, database, certificate.
        send      Send a notification through a relay that runs.
        health    Ask the relay on this machine for GET /health: exit status 0 when it serves, 1 when not.

        Settings come from environment variables and, before them, from flags of the same name:
        PORT is --port. relay serve --help lists them.

        Exit statuses: 0 success, 1 unhealthy, a check failed or nothing was sent, 64 wrong usage,
        65 data in the way of a copy, 69 database, port or relay unavailable, 70 a defect,
        74 output that can't be written, 78 wrong configuration,
        130 interrupted (serve: by a second SIGTERM or SIGINT).

        """

    private static let serve = """
        Usage: relay serve [--SETTING VALUE]...

        Serves the HTTP API until SIGTERM or SIGINT; SIGHUP reads the TLS certificate
        and the apps file again.
        """

    private static let migrate = """
        Usage: relay migrate [--dry-run] [--SETTING VALUE]...

        Brings the database's tables up to date and exits. No row is lost; a second run changes nothing.
        With --dry-run it prints the SQL that it would run, and changes nothing.
        """

    private static let copy = """
        Usage: relay copy --from URL --to URL [--merge]

        Copies all registrations, deliveries, receipts and waiting pushes from one database to
        another, then reads both again and compares them. The source is only read, and its relay may
        run. To move, stop that relay and run the same command again: it copies what has changed and
        deletes what the source deleted. An interrupted copy continues in the same way, and so does
        one that ends with differences. A target that has rows of its own is refused without --merge.

        Exit statuses: 0 both are equal, 65 the target has other data or differs from the source,
        69 a database is unavailable, 130 interrupted.
        """

    private static let devices = """
        Usage: relay devices [--json] [--SETTING VALUE]...

        Shows the devices of a secret and how the last push to each ended, also beside a relay that runs.
        Of a token only the end is shown. With --json it prints what POST /v1/device/list answers.
        """

    private static let deliveries = """
        Usage: relay deliveries [--limit N] [--follow] [--json] [--SETTING VALUE]...

        Shows how the pushes to a secret's devices ended, newest first, also beside a relay that runs.
        Rows are kept for RELAY_LOG_RETENTION. A push that waits comes here when it has ended.
        With --follow and --json each delivery is a JSON object on a line of its own.
        """

    private static let stats = """
        Usage: relay stats [--days N] [--json] [--SETTING VALUE]...

        Counts events and pushes by day in UTC and by how they ended, and what is there now: of the
        whole database, or of the one secret that RELAY_SECRET or --secret-file gives. It reads
        the days' part of the delivery log, some thousand rows at a time, also beside a relay that runs.
        """

    private static let revoke = """
        Usage: relay revoke [--yes] [--json] [--SETTING VALUE]...

        Removes a secret's devices, the pushes that wait for them and its receipts, after it has shown
        how many there are and asked. The delivery log stays. Beside a relay that runs on a SQLite file
        that relay is asked to do it, at its RELAY_ADMIN_LISTEN. A second run finds nothing to do.

        Whoever knows the secret can register a device again, but only its own: give the phone and the
        OpenCode server a new one.
        """

    private static let check = """
        Usage: relay check [--json] [--devices] [--send] [--SETTING VALUE]...

        Finds out why nothing arrives, and changes nothing. It has the settings of relay serve (see there)
        and is best run as the user that the relay runs as. It looks at settings, keys, clock, the way to
        APNs, whether APNs takes keys and bundle IDs (by a push to a device token that can't exist),
        database, disk, certificate, open files and the relay that runs here; with a secret also at its
        devices and how the last push to each ended. It ends within a minute.

        Exit status 0 when nothing failed, warnings included; 1 when something did; 130 when it was
        interrupted. docs/DIAGNOSIS.md tells what to do.
        """

    private static let send = """
        Usage: relay send [--url URL] [--title TEXT] [--body TEXT] [--event-type TYPE] [--json]

        Sends a notification, or an event, to a secret's devices through a relay that runs, and shows what
        became of each push. Exit status 0 when something was sent, 1 when nothing was, 69 when the relay
        can't be had.
        """

    private static let health = """
        Usage: relay health [--SETTING VALUE]...

        Asks the relay on this machine for GET /health. Exit status 0 when it serves, 1 when not. It has
        the settings of the relay that it asks: for a container's health check its environment.
        """

    private static func command(_ user: SettingUser, _ head: String) -> String {
        var text = head
        text +=
            "\n\nAn environment variable and a flag have the same name; the flag goes before. An empty variable\n"
        text +=
            "counts as not set. A secret can also come from a file: NAME_FILE, --name-file. A secret that is\n"
        text += "given as a flag shows in the list of processes.\n"
        let options = CommandOption.allCases.filter { $0.users.contains(user) }
        if !options.isEmpty { text += "\nOptions\n" }
        for option in options { text += "  \(option.usage)\n      \(option.summary)\n" }
        for group in SettingGroup.allCases {
            let rows = Settings.rows(of: group, for: user)
            guard !rows.isEmpty else { continue }
            text += "\n\(group.rawValue)\n"
            for row in rows { text += entry(row) }
        }
        return text
    }

    private static func entry(_ row: SettingRow) -> String {
        var text = row.flagRefusal == nil ? "  \(row.name), \(row.flag)\n" : "  \(row.name)\n"
        if row.isSecret { text += "  \(row.fileName), \(row.fileFlag)\n" }
        let accepts = row.accepts.prefix(1).uppercased() + row.accepts.dropFirst()
        let unset = row.defaultText == "required" ? "Required." : "Default: \(row.defaultText)."
        for paragraph in [row.summary, "\(accepts). \(unset)"] {
            for line in wrap(paragraph, width: 90) { text += "      \(line)\n" }
        }
        return text
    }

    /// Breaks a text into lines at blanks.
    static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

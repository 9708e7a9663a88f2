import Programs
import Storage

/// The text that `--help` prints: pure functions of the settings table.
enum HelpText {
    /// Help for the program, or for one command and its settings.
    static func text(about user: Command?) -> String {
        user.map { command($0, head(of: $0)) } ?? program
    }

    /// A command's usage and description.
    static func head(of user: Command) -> String {
        switch user {
        case .serve: serve
        case .migrate: migrate
        case .copy: copy
        case .devices: devices
        case .deliveries: deliveries
        case .stats: stats
        case .tenants: tenants
        case .queue: queue
        case .schedules: schedules
        case .revoke: revoke
        case .block: block
        case .unblock: unblock
        case .check: check
        case .send: send
        case .pair: pair
        case .seal: seal
        case .open: open
        case .health: health
        }
    }

    /// Rules that apply to every setting.
    static let settingsIntroduction = """
        Every environment variable has a flag of the same name, which takes precedence. An empty variable
        counts as unset. A secret can also come from a file: NAME_FILE or --name-file. A secret passed as
        a flag is visible in the process list. Settings that neither provides come from --env-file; every
        command except serve reads /etc/relay/relay.env by default, if it exists.
        """

    /// Points to the help; follows the message about an invalid command line.
    static func hint(_ user: Command?) -> String {
        user.map { "See relay \($0.rawValue) --help." } ?? "See relay --help."
    }

    private static let program = """
        relay \(Version.current): takes events over HTTP and pushes them to devices through APNs.

        Usage: relay [serve] [--SETTING VALUE]...
               relay migrate [--dry-run] [--SETTING VALUE]...
               relay copy --from URL --to URL
               relay devices [--json] [--SETTING VALUE]...
               relay deliveries [--limit N] [--follow] [--json] [--SETTING VALUE]...
               relay stats [--days N] [--json] [--SETTING VALUE]...
               relay tenants [--sort devices|waiting|last-used] [--limit N] [--after CURSOR] [--json]
               relay queue [--secret-hash PREFIX] [--limit N] [--after CURSOR] [--json]
               relay schedules [--secret-hash PREFIX] [--cancel SCHEDULE] [--json]
               relay revoke [--secret-hash PREFIX] [--yes] [--json] [--SETTING VALUE]...
               relay block HASH [--note TEXT] [--json]
               relay block --list [--json]
               relay unblock HASH [--json]
               relay check [--json] [--devices] [--send] [--SETTING VALUE]...
               relay send [--url URL] [--title TEXT] [--body TEXT] [--event-type TYPE] [--json]
               relay pair --relay-url URL [--host URL]... [--name NAME] [--png PATH] [--json]
               relay seal [--title TEXT] [--body TEXT] [--event-type TYPE] [--kind KIND]
               relay open [SEALED] [--event-type TYPE] [--kind KIND] [--json]
               relay health [--SETTING VALUE]...
               relay completion bash|zsh|fish
               relay man
               relay COMMAND --help
               relay --version

        serve     Serve the HTTP API until SIGTERM or SIGINT. The default command.
        migrate   Upgrade the database schema and exit. serve also does this at startup.
        copy      Copy all data from one database to another; the engines may differ.
        devices   List a secret's devices and the result of the last push to each.
        deliveries
                  Show a secret's delivery log: the result of each push to its devices.
        stats     Show events and pushes by day, and current totals.
        tenants   List the secrets in the database: devices, queued pushes, last use.
        queue     List the pushes waiting for a retry.
        schedules List schedules, or cancel one.
        revoke    Remove everything a secret has: devices, queued pushes, history, schedules.
        block     Refuse a secret's events and registrations on every relay that uses the database.
        unblock   Serve a blocked secret again.
        check     Find out why pushes don't arrive: settings, key, clock, APNs, database, certificate.
        send      Send a notification through a running relay.
        pair      Create a pairing secret and show it as a QR code.
        seal      Encrypt a notification for the phones of a pairing.
        open      Decrypt a sealed notification.
        health    Request GET /health from the relay on this machine; exit 0 if it serves, 1 if not.
        completion
                  Print a shell completion script.
        man       Print the manual page: relay man | man -l -

        Settings come from environment variables and from flags of the same name, which take precedence:
        PORT is --port. relay serve --help lists them. Commands also read /etc/relay/relay.env, or the
        file named by --env-file.

        Exit statuses: 0 success, 1 unhealthy, failed check or nothing sent, 64 usage error,
        65 conflicting data in the target of a copy, no such secret or a sealed text that can't be
        opened, 69 database, port or relay unavailable, 70 internal error, 74 cannot write the output,
        78 invalid configuration, 130 interrupted (serve: by a second SIGTERM or SIGINT).

        """

    private static let serve = """
        Usage: relay serve [--SETTING VALUE]...

        Serves the HTTP API until SIGTERM or SIGINT. SIGHUP reloads the TLS certificate and the apps file.
        """

    private static let migrate = """
        Usage: relay migrate [--dry-run [--shards vitess|citus]] [--SETTING VALUE]...

        Upgrades the database schema and exits. It deletes no rows, and a second run changes nothing.
        With --dry-run it prints the SQL that it would run, and changes nothing. With --shards it prints
        all SQL for a new database that Vitess or Citus shards by secret, without reading the database.
        """

    private static let copy = """
        Usage: relay copy --from URL --to URL

        Copies all data to an empty database, then reads and compares both. Stop the relays of both
        databases first. The source is only read. Run the same command again after an interruption or a
        reported difference. A target that has rows of its own is refused.

        Exit statuses: 0 both are equal, 65 the target has other data or differs from the source,
        69 a database is unavailable, 130 interrupted.
        """

    private static let devices = """
        Usage: relay devices [--json] [--SETTING VALUE]...

        Lists a secret's devices and the result of the last push to each, and shows when an agent last
        used the secret (POST /mcp). It works alongside a running relay. Device tokens are masked. With
        --json it prints the response of POST /v1/device/list.
        """

    private static let deliveries = """
        Usage: relay deliveries [--limit N] [--follow] [--json] [--SETTING VALUE]...

        Shows the result of each push to a secret's devices, newest first. It works alongside a running
        relay. RELAY_LOG selects the results that are logged; they are kept for RELAY_LOG_RETENTION. A
        queued push appears once it is sent or has failed. With --follow and --json, each row is a JSON
        object on its own line.
        """

    private static let stats = """
        Usage: relay stats [--days N] [--json] [--SETTING VALUE]...

        Counts events and pushes by UTC day and by result, and shows current totals: for the whole
        database, or for the secret in RELAY_SECRET or --secret-file. It reads the delivery log of those
        days a few thousand rows at a time, and works alongside a running relay. With RELAY_LOG at failures
        or off, most sent pushes are missing from it.
        """

    private static let tenants = """
        Usage: relay tenants [--sort devices|waiting|last-used] [--limit N] [--after CURSOR] [--json]

        Lists the secrets that have devices or queued pushes, by hash prefix, with the number of each and
        the time of last use: the last registration or completed push. It reads all of them through an
        index, a thousand at a time, and works alongside a running relay. With --json hashes are complete.
        """

    private static let queue = """
        Usage: relay queue [--secret-hash PREFIX] [--limit N] [--after CURSOR] [--json]

        Lists the pushes waiting for a retry, next due first: secret, age, attempts, due time and expiry.
        It works alongside a running relay. The database doesn't store the cause of a retry; the relay's log
        and metrics show it.
        """

    private static let schedules = """
        Usage: relay schedules [--secret-hash PREFIX] [--limit N] [--after CURSOR] [--json]
               relay schedules [--secret-hash PREFIX] --cancel SCHEDULE [--json]

        Lists schedules, without their texts, for all secrets or for the one in RELAY_SECRET, --secret-file
        or --secret-hash. With --cancel it removes the secret's schedule with this ID or name, and asks for
        the secret if none is given. If a running relay uses the SQLite file, the command sends the
        cancellation to its RELAY_ADMIN_LISTEN.
        """

    private static let block = """
        Usage: relay block HASH [--note TEXT] [--json]
               relay block --list [--json]

        Makes every relay that uses the database refuse a secret's events and registrations with
        403 blocked, within a few seconds. HASH is the secret's hash or at least its first 8 digits, as
        shown in log lines; it must match one secret. Queued pushes fail with the reason Blocked when they
        become due. Devices stay registered; relay revoke removes them. If a running relay uses the SQLite
        file, the command sends the request to its RELAY_ADMIN_LISTEN. At most
        \(StorageLimits.blockedSecretsMax) secrets can be blocked.

        Exit statuses: 0 blocked, even if it already was, 64 usage error, 65 no secret or more than one
        matches the hash, or too many are blocked, 69 the database or the relay is unavailable.
        """

    private static let unblock = """
        Usage: relay unblock HASH [--json]

        Makes the relays serve a blocked secret again. HASH is the secret's hash or at least its first 8
        digits, as shown by relay block --list.

        Exit statuses: 0 no longer blocked, 64 usage error, 65 no blocked secret or more than one matches,
        69 the database or the relay is unavailable.
        """

    private static let revoke = """
        Usage: relay revoke [--secret-hash PREFIX] [--yes] [--json] [--SETTING VALUE]...

        Removes everything a secret has: devices, queued pushes, receipts, history, schedules and replies.
        It first shows what it will remove and asks for confirmation. The delivery log and a block stay. If
        a running relay uses the SQLite file, the command sends the request to its RELAY_ADMIN_LISTEN. A
        second run finds nothing to remove. With --secret-hash it removes the rows of the one hash that
        begins with these digits.

        Anyone who knows the secret can still register a device of their own: give the phone and the
        OpenCode server a new secret.
        """

    private static let check = """
        Usage: relay check [--json] [--devices] [--send] [--SETTING VALUE]...

        Finds out why pushes don't arrive, and changes nothing. It takes the settings of relay serve (see
        its --help); run it as the relay's user. It checks the settings, keys, clock, connection to APNs,
        database, disk, certificate, open files and the running relay. It also checks whether APNs accepts
        the keys and bundle IDs, with a push to a device token that can't exist. Given a secret, it also
        checks its devices and the last push to each. It finishes within a minute.

        Exit status 0 if nothing failed (warnings are allowed), 1 if something did, 130 if interrupted.
        docs/operate/diagnose.md lists the faults; the output says how to fix them.
        """

    private static let send = """
        Usage: relay send [--url URL] [--title TEXT] [--body TEXT] [--event-type TYPE] [--json]

        Sends a notification or an event to a secret's devices through a running relay, and shows the
        result of each push. Exit status 0 if something was sent, 1 if nothing was, 69 if the relay is
        unavailable.
        """

    private static let health = """
        Usage: relay health [--SETTING VALUE]...

        Requests GET /health from the relay on this machine. Exit status 0 if it serves, 1 if not. It reads
        the settings of that relay: in a container health check, the container's environment.
        """

    private static func command(_ user: Command, _ head: String) -> String {
        var text = head + "\n\n" + settingsIntroduction + "\n"
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

    /// Wraps text at spaces.
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

import Programs

@testable import Relay

/// docs/reference/configuration.md, generated from the table of settings.
enum ConfigurationDocument {
    /// The complete document.
    static var text: String {
        let chapters = RelayCommand.table.groups(of: Settings.table).map { group, rows in
            "## \(group.title)\n\n" + Documents.table(head, rows.map(cells))
        }
        return introduction + "\n" + chapters.joined(separator: "\n") + "\n" + appsFile
    }

    private static let head = ["setting", "default", "accepts", "meaning"]

    private static func cells(_ row: SettingRow) -> [String] {
        var names = "`\(row.name)`"
        if row.isSecret { names += ", `…_FILE`" }
        return [names, code(row.defaultText), accepts(row), row.summary]
    }

    /// What a setting accepts, without words that the column's heading or the introduction makes superfluous.
    private static func accepts(_ row: SettingRow) -> String {
        if row.group == .copy, row.accepts == Settings.databaseURL.row.accepts {
            return "as `DATABASE_URL`"
        }
        let prefixes = ["a whole number from ", "a duration from ", "one of "]
        let prefix = prefixes.first { row.accepts.hasPrefix($0) } ?? ""
        return String(row.accepts.dropFirst(prefix.count))
    }

    /// Formats values as code, but not sentences.
    private static func code(_ text: String) -> String {
        text.contains(" ") || text == "required" ? text : "`\(text)`"
    }

    private static let introduction = """
        # Configuration

        <!-- Made from the table of settings in the code: UPDATE_DOCS=1 swift test --filter DocumentTests -->

        `relay serve` reads its settings from environment variables and from flags with the same names: `PORT` becomes `--port`,
        `APNS_TEAM_ID` becomes `--apns-team-id`. Flags take precedence. Other commands read some of these settings;
        `relay COMMAND --help` lists them.

        **Required**: either `APNS_APPS_FILE` alone, or `APNS_TEAM_ID`, `APNS_KEY_ID` and `APNS_PRIVATE_KEY`
        (or `APNS_PRIVATE_KEY_FILE`).

        - An **empty variable** counts as unset. An empty flag is an error.
        - **Durations** are a whole number and a unit: `500ms`, `10s`, `5m`, `24h`, `30d`.
        - **Secrets**, marked `…_FILE`, can come from a file: set `NAME_FILE` to its path, or to `-` for standard input. The relay drops
          one line break at the end of the text, which must be UTF-8. Setting both forms is an error. Process lists show flags, so don't
          pass secrets as flags.
        - **Unknown variables** that begin with `RELAY_` or `APNS_` are errors, except those that Kubernetes and Docker add for a service
          called `relay` or `apns-…` (`RELAY_SERVICE_HOST`, `RELAY_PORT=tcp://…`).
        - The relay reports **all errors** in one message, before it opens the database or a port.

        Exit statuses of `relay serve`: 0 stopped by SIGTERM or SIGINT; 64 invalid command line; 69 the database or the port is
        unavailable; 70 the shutdown took too long and was aborted; 78 invalid configuration; 130 stopped by a second signal before
        the shutdown was complete.

        """

    private static let appsFile = """
        ## The apps file

        `APNS_APPS_FILE` names a JSON file with several apps, each with its own key:

            {"defaultBundleID": "com.example.app",
             "apps": [
               {"bundleIDs": ["com.example.app", "com.example.app.beta"],
                "teamID": "ABCDE12345", "keyID": "KEY1234567", "privateKeyFile": "AuthKey_KEY1234567.p8",
                "environments": ["production"], "sound": "ping.caf", "ttl": "1h"}]}

        - **Required**: `bundleIDs`, each in one app only; `teamID`, `keyID`, and either `privateKey` or `privateKeyFile`, whose path is
          relative to the apps file.
        - **Optional**: `environments`, by default both; `sound` and `ttl`, as for `APNS_SOUND` and `APNS_TTL`; `defaultBundleID`, one of
          the bundle IDs; without it, registrations must name theirs.
        - With an apps file, don't set `APNS_TEAM_ID`, `APNS_KEY_ID`, `APNS_PRIVATE_KEY`, `APNS_DEFAULT_BUNDLE_ID`, `APNS_BUNDLE_IDS`,
          `APNS_SOUND` or `APNS_TTL`.
        - Registrations for other bundle IDs get `unknown_bundle`; registrations for environments that the app doesn't list get
          `invalid_field`.
        - Apps with the same team and key share up to `APNS_CONNECTIONS_MAX` connections to each APNs server.
        - SIGHUP reloads the file and the keys. If the file has an error, the relay logs it and keeps its current apps. Devices of a
          removed app stay registered; their pushes fail with `UnknownBundle` until the app is added again.

        """
}

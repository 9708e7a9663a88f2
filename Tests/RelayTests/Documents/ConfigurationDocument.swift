@testable import Relay

/// docs/CONFIGURATION.md, made from the table of settings.
enum ConfigurationDocument {
    /// The whole document.
    static var text: String {
        let chapters = SettingGroup.allCases.map { group in
            let rows = Settings.table.filter { $0.group == group }
            return "## \(group.rawValue)\n\(otherUsers(rows))\n" + Documents.table(head, rows.map(cells))
        }
        return introduction + "\n" + chapters.joined(separator: "\n") + "\n" + appsFile
    }

    /// The commands beside `relay serve` that read settings of a chapter, and which.
    private static func otherUsers(_ rows: [SettingRow]) -> String {
        if rows.allSatisfy({ $0.users == [.copy] }) {
            let flags = rows.map { "`\($0.flag)`" }.joined(separator: ", ")
            return "\nRead by `relay copy` alone, whose flags are \(flags).\n"
        }
        if rows.allSatisfy({ !$0.users.contains(.serve) }) {
            let commands = SettingUser.allCases.filter { user in rows.contains { $0.users.contains(user) } }
            let list = commands.map { "`relay \($0.rawValue)`" }.joined(separator: ", ")
            return
                "\nNot read by `relay serve`, but by \(list). [COMMANDS.md](COMMANDS.md) shows what they print.\n"
        }
        let lines = SettingUser.allCases.filter { $0 != .serve }.compactMap { user -> String? in
            let names = rows.filter { $0.users.contains(user) }.map { "`\($0.name)`" }
            return names.isEmpty
                ? nil : "Also read by `relay \(user.rawValue)`: \(names.joined(separator: ", ")).\n"
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    private static let head = ["setting", "default", "accepts", "meaning"]

    private static func cells(_ row: SettingRow) -> [String] {
        var names = "`\(row.name)`"
        if row.isSecret { names += ", `\(row.fileName)`" }
        return [names, code(row.defaultText), row.accepts, row.summary]
    }

    /// Values are code, sentences aren't.
    private static func code(_ text: String) -> String {
        text.contains(" ") || text == "required" ? text : "`\(text)`"
    }

    private static let introduction = """
        # Configuration

        <!-- Made from the table of settings in the code: UPDATE_DOCS=1 swift test --filter DocumentTests -->

        `relay serve` reads its settings from environment variables and, before them, from flags of the same name: `PORT` is
        `--port`, `APNS_TEAM_ID` is `--apns-team-id`. `relay serve --help` prints this page's tables.

        - An **empty variable** counts as not set; a flag with an empty value is refused.
        - A **secret** can stand in a file: `APNS_PRIVATE_KEY_FILE` names it, one line break at its end is dropped. It is text in
          UTF-8 (`openssl rand -base64 32` makes a key that is). Setting both forms is a problem, and `-` as its path is standard input. A secret that is given as a flag shows in the list of
          processes.
        - **Durations** are a whole number and a unit: `500ms`, `10s`, `5m`, `24h`, `30d`.
        - A variable whose name begins with `RELAY_` or `APNS_` and is no setting is a **problem**, with the name that was meant where one
          is near. What Kubernetes and Docker add for a service called `relay` or `apns-…` (`RELAY_SERVICE_HOST`,
          `RELAY_PORT=tcp://…`) is left alone.
        - **All problems** come in one message before anything is opened; the exit status is then 78. It is 64 for a command line that
          makes no sense, 69 when the database or the port can't be had.
        - Settings that belong together are set together: the certificate and its key; APNs' team, key identifier and key.

        The least that a relay needs is `APNS_TEAM_ID`, `APNS_KEY_ID` and `APNS_PRIVATE_KEY` or `APNS_PRIVATE_KEY_FILE`, or `APNS_APPS_FILE`
        instead of them. `./dev run` tries one without, against a simulator.

        """

    private static let appsFile = """
        ## The apps file

        `APNS_APPS_FILE` names a JSON file with several apps, each with its own key:

            {"defaultBundleID": "com.example.app",
             "apps": [
               {"bundleIDs": ["com.example.app", "com.example.app.beta"],
                "teamID": "ABCDE12345", "keyID": "KEY1234567", "privateKeyFile": "AuthKey_KEY1234567.p8"},
               {"bundleIDs": ["org.example.other"],
                "teamID": "ZYXWV98765", "keyID": "KEY7654321", "privateKeyFile": "/etc/relay/other.p8",
                "environments": ["production"], "sound": "ping.caf", "ttl": "1h"}]}

        | member | must be | when absent |
        |---|---|---|
        | `defaultBundleID` | one of the apps' bundle identifiers: the app of registrations that name none | a registration must name it |
        | `bundleIDs` | a list of bundle identifiers, each in one app only | a problem |
        | `teamID`, `keyID` | 10 characters of A-Z and 0-9 | a problem |
        | `privateKey` or `privateKeyFile` | the key's text, or the path of its file, from the apps file's folder on | a problem |
        | `environments` | a list of "production", "sandbox" or both | both |
        | `sound`, `ttl` | as `APNS_SOUND` and `APNS_TTL` | as these |

        - The settings that describe one app (`APNS_TEAM_ID`, `APNS_KEY_ID`, `APNS_PRIVATE_KEY`, `APNS_DEFAULT_BUNDLE_ID`, `APNS_BUNDLE_IDS`,
          `APNS_SOUND`, `APNS_TTL`) must not be set beside it.
        - A registration for another bundle is refused as `unknown_bundle`, one for an environment that its app isn't in as `invalid_field`.
        - Apps with the same team and key share their connections to APNs; each team and key has its own `APNS_CONNECTIONS_MAX`.
        - SIGHUP reads the file and the keys again. A file with a problem is not taken: the problems are logged, and the relay goes on with what
          it had. Devices of an app that is gone keep their registration; their pushes fail with `UnknownBundle` until it is back.

        """
}

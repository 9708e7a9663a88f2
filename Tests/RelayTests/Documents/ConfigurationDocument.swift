@testable import Relay

/// docs/reference/configuration.md, made from the table of settings.
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
            return "\nOnly for `relay copy`, with the flags \(flags).\n"
        }
        // Settings that the same commands read share a line.
        var lines: [(names: [String], users: [Command])] = []
        for row in rows where row.users != [.serve] {
            let name = "`\(row.name)`"
            if let index = lines.firstIndex(where: { $0.users == row.users }) {
                lines[index].names.append(name)
            } else {
                lines.append(([name], row.users))
            }
        }
        let items = lines.map { "- \($0.names.joined(separator: ", ")): \(readers($0.users))\n" }
        return items.isEmpty ? "" : "\n" + items.joined()
    }

    private static func readers(_ users: [Command]) -> String {
        if users == Command.allCases { return "read by every command" }
        let commands = users.filter { $0 != .serve }.map { "`relay \($0.rawValue)`" }
        return (users.contains(.serve) ? "also " : "") + "read by " + commands.joined(separator: ", ")
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

        `relay serve` reads its settings from flags and environment variables with the same names: `--port` is `PORT`,
        `--apns-team-id` is `APNS_TEAM_ID`. Flags take precedence. `relay serve --help` lists them too. `relay check` reads the
        same settings; the lists above the tables name other commands that read some.

        **Required**: `APNS_TEAM_ID`, `APNS_KEY_ID` and `APNS_PRIVATE_KEY` or `APNS_PRIVATE_KEY_FILE`; or `APNS_APPS_FILE` instead of
        them. `./dev run` runs a relay without any, against a simulator.

        - An **empty variable** counts as unset. An empty flag is refused.
        - A **secret** can come from a file: set `APNS_PRIVATE_KEY_FILE` to its path, or to `-` for standard input. One line break at
          its end is dropped. The text must be UTF-8, like keys from `openssl rand -base64 32`. Setting both forms is a problem. Avoid
          secrets in flags, which process lists show.
        - **Durations** are a whole number and a unit: `500ms`, `10s`, `5m`, `24h`, `30d`.
        - **Unknown variables** whose names begin with `RELAY_` or `APNS_` are a problem; the message suggests a similar name. Variables
          that Kubernetes and Docker add for a service called `relay` or `apns-…` (`RELAY_SERVICE_HOST`, `RELAY_PORT=tcp://…`) are ignored.
        - **Pairs** must be complete: the certificate and its key; team, key ID and key.
        - **All problems** are reported in one message before the relay opens anything.

        | exit status of `relay serve` | meaning |
        |---|---|
        | 0 | stopped by SIGTERM or SIGINT |
        | 64 | wrong command line |
        | 69 | the database or the port is unavailable |
        | 70 | the shutdown took too long and was cut off |
        | 78 | wrong configuration |
        | 130 | stopped by a second signal before the shutdown was complete |

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

        | member | value | if absent |
        |---|---|---|
        | `defaultBundleID` | one of the apps' bundle IDs, for registrations that name none | registrations must name one |
        | `bundleIDs` | a list of bundle IDs, each in one app only | a problem |
        | `teamID`, `keyID` | 10 characters of A-Z and 0-9 | a problem |
        | `privateKey` or `privateKeyFile` | the key's text, or its file's path, relative to the apps file | a problem |
        | `environments` | a list of "production", "sandbox" or both | both |
        | `sound`, `ttl` | as `APNS_SOUND` and `APNS_TTL` | their defaults |

        - Don't combine it with the settings of a single app: `APNS_TEAM_ID`, `APNS_KEY_ID`, `APNS_PRIVATE_KEY`, `APNS_DEFAULT_BUNDLE_ID`,
          `APNS_BUNDLE_IDS`, `APNS_SOUND`, `APNS_TTL`.
        - Registrations for other bundles are refused as `unknown_bundle`, and for environments that the app doesn't list as
          `invalid_field`.
        - Apps with the same team and key share connections to APNs. Each team and key has its own `APNS_CONNECTIONS_MAX`.
        - SIGHUP reloads the file and the keys. If the file has a problem, the relay logs it and keeps its current apps. Devices of a
          removed app stay registered; their pushes fail with `UnknownBundle` until the app is back.

        """
}

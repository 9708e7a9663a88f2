import Programs

@testable import Relay

/// deploy/relay.env, generated from the table of settings, for a machine's administrator to edit.
enum EnvironmentDocument {
    /// The complete file.
    static var text: String {
        let chapters = RelayCommand.table.groups(of: Settings.served).map { group, rows in
            "\n### \(group.title)\n\n" + rows.map(entry).joined(separator: "\n")
        }
        return introduction + chapters.joined()
    }

    /// The lines that are not comments; an empty value counts as not set.
    static let given = [
        "APNS_TEAM_ID": "", "APNS_KEY_ID": "", "APNS_DEFAULT_BUNDLE_ID": "",
        "APNS_PRIVATE_KEY_FILE": "/etc/relay/apns-key.p8",
    ]

    /// The settings in a file with comment signs removed: name and value, which may be empty.
    static func settings(in text: String) -> [(name: String, value: String)] {
        text.split(separator: "\n").compactMap { line in
            let line = line.hasPrefix("#") ? line.dropFirst() : line
            guard let sign = line.firstIndex(of: "="), line[..<sign].allSatisfy({ isPartOfName($0) })
            else { return nil }
            return (String(line[..<sign]), String(line[line.index(after: sign)...]))
        }
    }

    private static func isPartOfName(_ character: Character) -> Bool {
        ("A"..."Z").contains(character) || character == "_"
    }

    private static func entry(_ row: SettingRow) -> String {
        let accepts = row.accepts.prefix(1).uppercased() + row.accepts.dropFirst()
        let unset = row.defaultText == "required" ? "Required." : "Default: \(row.defaultText)."
        var lines = TerminalText.wrapped("\(row.summary) \(accepts). \(unset)", width: 100).map { "# " + $0 }
        lines.append(line(row.name, isValue(row.defaultText) ? row.defaultText : ""))
        if row.isSecret { lines.append(line(row.fileName, "")) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ name: String, _ defaultValue: String) -> String {
        if let value = given[name] { return "\(name)=\(value)" }
        return "#\(name)=\(defaultValue)"
    }

    /// Whether a default is a value rather than a description.
    private static func isValue(_ text: String) -> Bool {
        !text.contains(" ") && text != "required"
    }

    private static let introduction = """
        # Settings of relay.service, read by systemd. See docs/reference/configuration.md.
        # Made from the table of settings in the code: UPDATE_DOCS=1 swift test --filter DocumentTests
        #
        # Lines that begin with "#" and a name show defaults. Fill in the others. For several apps, comment them out and set
        # APNS_APPS_FILE. A secret can come from a file named by NAME_FILE (owner root, group relay, mode 640). Put values with
        # a backslash, a quote or a trailing space into single quotes: APNS_PRIVATE_KEY='-----BEGIN PRIVATE KEY-----\\nMIGT…'.
        # After a change: systemctl restart relay

        """
}

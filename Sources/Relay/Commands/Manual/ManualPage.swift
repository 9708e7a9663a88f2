import Programs

/// The manual page relay(1), in man(7) macros.
enum ManualPage {
    /// The whole page.
    static var text: String {
        var page = [
            ".\\\" Made by: relay man", ".TH RELAY 1 \"\" \"relay \(Version.current)\" \"APN relay\"",
            // Flags must not be hyphenated.
            ".nh", ".SH NAME",
            "relay \\- push relay: takes events over HTTP and pushes them to devices through APNs",
            ".SH SYNOPSIS",
        ]
        page += verbatim(usage)
        page += [".SH DESCRIPTION"] + paragraphs(about).dropFirst()
        page.append(".SH COMMANDS")
        for syntax in CommandSyntax.all { page += chapter(syntax) }
        page += [".SS relay completion"] + verbatim("relay completion \(shells)")
        page += [".PP", escaped("Prints a completion script for the shell.")]
        page += [".SS relay man"] + verbatim("relay man") + [".PP", escaped("Prints this page.")]
        page += [".SH SETTINGS"] + paragraphs(HelpText.settingsIntroduction).dropFirst()
        for group in SettingGroup.allCases {
            let rows = Settings.table.filter { $0.group == group }
            page.append(".SS \(escaped(group.rawValue))")
            for row in rows { page += entry(row) }
        }
        page += [".SH EXIT STATUS"] + paragraphs(exitStatuses).dropFirst() + files + seeAlso
        return page.joined(separator: "\n") + "\n"
    }

    private static var shells: String { CompletionShell.allCases.map(\.rawValue).joined(separator: "|") }

    /// Paragraphs of the program's help: usage, commands, settings, exit statuses.
    private static var programHelp: [Substring] { HelpText.text(about: nil).split(separator: "\n\n") }

    private static var about: String {
        let text = programHelp.first ?? ""
        return "The relay" + text.drop { $0 != ":" }.dropFirst()
    }

    private static var usage: String {
        let text = programHelp.first { $0.hasPrefix("Usage: ") } ?? ""
        return text.dropFirst("Usage: ".count).split(separator: "\n").map { line in
            line.drop { $0 == " " }
        }.joined(separator: "\n")
    }

    private static var exitStatuses: String {
        String(programHelp.first { $0.hasPrefix("Exit statuses: ") } ?? "")
    }

    private static func chapter(_ syntax: CommandSyntax) -> [String] {
        let parts = HelpText.head(of: syntax.command).split(separator: "\n\n", maxSplits: 1)
        var lines = [".SS relay \(syntax.command.rawValue)"]
        lines += verbatim(String(parts.first?.dropFirst("Usage: ".count) ?? ""))
        lines += paragraphs(String(parts.dropFirst().first ?? ""))
        for option in CommandOption.allCases where option.users.contains(syntax.command) {
            lines += [".TP", ".B \(escaped(option.usage))", escaped(option.summary)]
        }
        let settings = Settings.table.filter { $0.flagUsers.contains(syntax.command) }.map(\.flag)
        if !settings.isEmpty {
            lines += [".PP", escaped("Settings (see SETTINGS): " + settings.joined(separator: ", ") + ".")]
        }
        return lines
    }

    private static func entry(_ row: SettingRow) -> [String] {
        var names = row.flagRefusal == nil ? [row.name, row.flag] : [row.name]
        if row.isSecret { names += [row.fileName, row.fileFlag] }
        let accepts = row.accepts.prefix(1).uppercased() + row.accepts.dropFirst()
        let unset = row.defaultText == "required" ? "Required." : "Default: \(row.defaultText)."
        return [
            ".TP", ".B \(escaped(names.joined(separator: ", ")))", escaped(row.summary),
            escaped("\(accepts). \(unset)"),
        ]
    }

    private static var files: [String] {
        [
            ".SH FILES", ".TP", ".I \(InstalledHost.settingsFile)",
            "The settings of the installed relay. systemd passes them to relay.service; commands read them from here.",
            ".TP", ".I \(InstalledHost.workingDirectory)", "The installed relay's database directory.",
        ].map { $0.hasPrefix(".") ? $0 : escaped($0) }
    }

    private static var seeAlso: [String] {
        [".SH SEE ALSO", ".BR systemctl (1),", ".BR systemd.exec (5).", ".PP", "/usr/share/doc/apn\\-relay"]
    }

    // MARK: roff

    /// Filled paragraphs, separated by blank lines in the text.
    private static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n\n").flatMap { part in
            [".PP", escaped(part.split(separator: "\n").joined(separator: " "))]
        }
    }

    /// Lines without filling.
    private static func verbatim(_ text: String) -> [String] {
        [".nf"] + text.split(separator: "\n").map { escaped(String($0)) } + [".fi"]
    }

    /// Escapes a line of text, so that nothing is a request and hyphens can be copied.
    private static func escaped(_ text: String) -> String {
        let line = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "\\(ga")
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}

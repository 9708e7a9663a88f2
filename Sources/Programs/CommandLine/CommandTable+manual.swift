extension CommandTable {
    /// The manual page for section 1, in man(7) macros.
    package var manualPage: String {
        let name = Roff.escaped(program)
        var page = [
            ".\\\" Made by: \(program) man",
            ".TH \(Roff.escaped(program.uppercased())) 1 \"\" \"\(name) \(Version.current)\" \"APN relay\"",
            // Flags must not be hyphenated.
            ".nh", ".SH NAME", "\(name) \\- \(Roff.escaped(summary))", ".SH SYNOPSIS",
        ]
        page += Roff.verbatim([
            "\(program) [\(defaultCommand.name)] [OPTION]...", "\(program) COMMAND [OPTION]...",
            "\(program) --version",
        ])
        page += [".SH DESCRIPTION"] + notes.flatMap(Roff.paragraphs).dropFirst() + [".SH COMMANDS"]
        for command in commands + Self.common { page += chapter(command) }
        if !settings.isEmpty {
            page += [".SH SETTINGS"] + Roff.paragraphs(settingsIntroduction).dropFirst()
            for (group, rows) in groups(of: settings) {
                page.append(".SS \(Roff.escaped(group.title))")
                for row in rows { page += Roff.entry(row.allNames, [row.summary, row.rule]) }
            }
        }
        page += [".SH EXIT STATUS", Roff.escaped(exitStatuses)]
        if !files.isEmpty { page.append(".SH FILES") }
        for (path, summary) in files { page += [".TP", ".I \(Roff.escaped(path))", Roff.escaped(summary)] }
        page += [".SH SEE ALSO"] + seeAlso
        return page.joined(separator: "\n") + "\n"
    }

    private func chapter(_ command: CommandSyntax) -> [String] {
        let usages = command.usages.flatMap { usage in
            Self.wrappedUsage("\(program) \(command.name) \(usage)", width: 90)
        }
        var lines = [".SS \(Roff.escaped("\(program) \(command.name)"))"] + Roff.verbatim(usages)
        lines += Roff.paragraphs(command.about)
        for option in command.options { lines += Roff.entry(option.usage, [option.summary]) }
        let flags = (command.settings + command.furtherSettings).filter { $0.flagRefusal == nil }.map(\.flag)
        if !flags.isEmpty {
            lines += Roff.paragraphs("Settings (see SETTINGS): " + flags.joined(separator: ", ") + ".")
        }
        return lines
    }
}

extension SettingRow {
    /// The setting's variables and flags.
    fileprivate var allNames: String {
        ([name] + (isSecret ? [fileName] : []) + options.map(\.name)).joined(separator: ", ")
    }
}

/// Lines in man(7) macros.
private enum Roff {
    /// An entry with its description.
    static func entry(_ head: String, _ texts: [String]) -> [String] {
        [".TP", ".B \(escaped(head))"] + texts.map(escaped)
    }

    /// Filled paragraphs, separated by blank lines in the text.
    static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n\n").flatMap { part in
            part.hasPrefix("  ") || part.contains("\n  ")
                ? verbatim(part.split(separator: "\n").map(String.init))
                : [".PP", escaped(part.split(separator: "\n").joined(separator: " "))]
        }
    }

    /// Lines without filling.
    static func verbatim(_ lines: [String]) -> [String] { [".nf"] + lines.map(escaped) + [".fi"] }

    /// Escapes a line of text, so that nothing in it is interpreted as a request and hyphens can be copied.
    static func escaped(_ text: String) -> String {
        let line = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "\\(ga")
            .replacing("~", with: "\\(ti")
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}

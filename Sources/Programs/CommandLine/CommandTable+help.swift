extension CommandTable {
    /// The text that `--help` prints about the program or one command.
    package func help(_ name: String? = nil) -> String {
        guard let command = name.flatMap({ name in (commands + Self.common).first { $0.name == name } })
        else {
            return programHelp
        }
        var text = usage(of: command) + "\n" + command.about + "\n"
        if !command.settings.isEmpty { text += "\n" + settingsIntroduction + "\n" }
        return text + details(command)
    }

    private var programHelp: String {
        let words = (commands + Self.common).map(\.name)
        let width = (words.map(\.count).max() ?? 0) + 2
        var text = "\(program) \(Version.current): \(summary).\n\n"
        text += usage([
            "[\(defaultCommand.name)] [OPTION]...", "COMMAND [OPTION]...", "COMMAND --help", "--version",
        ])
        text += "\nCommands\n"
        for command in commands + Self.common {
            let isDefault = command.name == defaultCommand.name
            let summary = command.summary + (isDefault ? " The default command." : "")
            let lines = TerminalText.wrapped(summary, width: 96 - width)
            let blanks = String(repeating: " ", count: width - command.name.count)
            text += "  " + command.name + blanks
            text += lines.joined(separator: "\n  " + String(repeating: " ", count: width)) + "\n"
        }
        if describesDefault { text += details(defaultCommand) }
        let exits = exitStatuses.isEmpty ? [] : ["Exit statuses: " + exitStatuses]
        for note in notes + exits {
            // A list keeps its line breaks.
            let lines = note.contains("\n") ? [note] : TerminalText.wrapped(note, width: 98)
            text += "\n" + lines.joined(separator: "\n") + "\n"
        }
        return text
    }

    /// Options and settings of a command.
    private func details(_ command: CommandSyntax) -> String {
        var text = ""
        if !command.options.isEmpty { text += "\nOptions\n" }
        for option in command.options { text += Self.entry([option.usage], [option.summary]) }
        for (group, rows) in groups(of: command.settings) {
            text += "\n\(group.title)\n"
            for row in rows { text += Self.entry(row.names, [row.summary, row.rule]) }
        }
        return text
    }

    private static func entry(_ names: [String], _ paragraphs: [String]) -> String {
        names.map { "  \($0)\n" }.joined()
            + paragraphs.flatMap { TerminalText.wrapped($0, width: 90) }.map { "      \($0)\n" }.joined()
    }

    // MARK: Usage

    private func usage(of command: CommandSyntax) -> String {
        usage(command.usages.map { $0.isEmpty ? command.name : command.name + " " + $0 })
    }

    private func usage(_ forms: [String]) -> String {
        let head = "Usage: "
        let indent = String(repeating: " ", count: head.count)
        let lines = forms.map { form in
            Self.wrappedUsage("\(program) \(form)", width: 100 - head.count).joined(
                separator: "\n    " + indent)
        }
        return head + lines.joined(separator: "\n" + indent) + "\n"
    }

    /// Wraps a usage between its parts, such as `[--limit N]`.
    static func wrappedUsage(_ text: String, width: Int) -> [String] {
        TerminalText.wrapped(text.replacing(" [", with: "\n["), width: width, at: "\n")
    }
}

extension SettingRow {
    /// The setting's variable and flags, and for a secret also their file forms, one line each.
    fileprivate var names: [String] {
        let flags = flagRefusal == nil ? [flag] : []
        let first = ([name] + flags + [negativeFlag].compactMap(\.self)).joined(separator: ", ")
        return isSecret ? [first, "\(fileName), \(fileFlag)"] : [first]
    }

    /// What the setting accepts, and its default.
    var rule: String {
        let unset = defaultText == "required" ? "Required." : "Default: \(defaultText)."
        return "\(accepts.prefix(1).uppercased() + accepts.dropFirst()). \(unset)"
    }
}

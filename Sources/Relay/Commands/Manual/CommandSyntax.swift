/// A command's syntax, from the tables that also generate `--help` and parse arguments.
struct CommandSyntax {
    /// One flag or option.
    struct Flag {
        /// Including its dashes: `--port`.
        let name: String
        /// Its description, one or two sentences.
        let summary: String
        let value: Value
    }

    /// The kind of value that a flag takes.
    enum Value: Equatable {
        case none
        /// A file path.
        case file
        /// One of these words.
        case words([String])
        /// Another value, with its name.
        case other(String)
    }

    let command: Command

    /// The command's description, one sentence.
    var summary: String {
        let paragraphs = HelpText.head(of: command).split(separator: "\n\n", maxSplits: 2)
        let text = (paragraphs.dropFirst().first ?? "").split(separator: "\n").joined(separator: " ")
        guard let end = text.firstRange(of: ". ") else { return text }
        return String(text[..<end.lowerBound]) + "."
    }

    /// Its options, then its settings' flags.
    var flags: [Flag] {
        let options = CommandOption.allCases.filter { $0.users.contains(command) }.map { option in
            Flag(name: option.rawValue, summary: option.summary, value: Self.value(of: option))
        }
        let settings = Settings.table.filter { $0.flagUsers.contains(command) }.flatMap(Self.flags(of:))
        return options + settings + [Flag(name: "--help", summary: "Print help.", value: .none)]
    }

    private static func value(of option: CommandOption) -> Value {
        switch option.value {
        case .none: .none
        case .word(let words): .words(words)
        case .text("PATH"): .file
        case .number, .text, .hash, .url, .scheme, .kind:
            .other(String(option.usage.dropFirst(option.rawValue.count + 1)))
        }
    }

    private static func flags(of row: SettingRow) -> [Flag] {
        var flags: [Flag] = []
        if row.flagRefusal == nil {
            flags.append(Flag(name: row.flag, summary: row.summary, value: value(of: row)))
        }
        if row.isSecret {
            flags.append(Flag(name: row.fileFlag, summary: "A file with \(row.name).", value: .file))
        }
        return flags
    }

    private static func value(of row: SettingRow) -> Value {
        if row.isPath { return .file }
        let prefix = "one of "
        guard row.accepts.hasPrefix(prefix) else { return .other("VALUE") }
        return .words(row.accepts.dropFirst(prefix.count).split(separator: ", ").map(String.init))
    }

    /// All commands, in the order of `--help`.
    static var all: [CommandSyntax] { Command.allCases.map(CommandSyntax.init(command:)) }

    /// Words used like commands, with their descriptions.
    static let others: [(name: String, summary: String)] = [
        ("help", "Print help for the program or a command."),
        ("completion", "Print a shell completion script."),
        ("man", "Print the manual page."),
    ]
}

/// A program's commands and settings.
package struct CommandTable: Sendable {
    /// The program's name.
    package let program: String
    /// What the program does, in a clause: "accepts events over HTTP".
    package let summary: String
    /// The program's commands; the first one is the default.
    package let commands: [CommandSyntax]
    /// All settings, in the documentation's order.
    package var settings: [SettingRow] = []
    /// Rules that apply to every setting, with lines of at most 100 characters.
    package var settingsIntroduction = ""
    /// Paragraphs at the end of the program's help.
    package var notes: [String] = []
    /// A sentence about the exit statuses.
    package var exitStatuses = ""
    /// Files that the program uses, with their descriptions.
    package var files: [(path: String, summary: String)] = []
    /// Lines for the manual page's section SEE ALSO, in man(7) macros.
    package var seeAlso: [String] = []
    /// Whether the program's help also describes the default command, for programs with few other commands.
    package var describesDefault = false
    /// Whether the last value of a repeated option wins, so that scripts can override their defaults.
    package var lastValueCounts = false
    /// Former commands, with the command lines that replace them.
    package var moved: [String: String] = [:]

    /// Creates a table without settings; the other properties are set afterwards.
    package init(program: String, summary: String, commands: [CommandSyntax]) {
        self.program = program
        self.summary = summary
        self.commands = commands
    }

    /// The default command.
    package var defaultCommand: CommandSyntax { commands[0] }

    /// The command with this name; `nil` if there is none.
    package func command(_ name: String) -> CommandSyntax? { commands.first { $0.name == name } }

    /// Groups settings by section, in the table's order.
    package func groups(of rows: [SettingRow]) -> [(group: SettingGroup, rows: [SettingRow])] {
        var groups: [SettingGroup] = []
        for row in settings where !groups.contains(row.group) { groups.append(row.group) }
        return groups.compactMap { group in
            let found = settings.filter { $0.group == group && rows.contains($0) }
            return found.isEmpty ? nil : (group, found)
        }
    }

    /// A reference to the help, to add to a message about a command line.
    package func hint(_ command: String? = nil) -> String {
        "See \(program)" + (command.map { " " + $0 } ?? "") + " --help."
    }

    /// The commands that every program has, which print text generated from the table.
    package static let common: [CommandSyntax] = [
        CommandSyntax(
            "completion", "Print a shell completion script.",
            arguments: [CommandOption("SHELL", .word(CompletionShell.allCases.map(\.rawValue)), "The shell.")]
        ),
        CommandSyntax("man", "Print the manual page, for man -l -."),
        CommandSyntax(
            "help", "Print help for the program or a command.",
            arguments: [CommandOption("COMMAND", .text("COMMAND"), "The command.")]),
        CommandSyntax("version", "Print the version."),
    ]
}

/// A command: a row in a program's table, from which the parser, help, manual page and completions are generated.
package struct CommandSyntax: Sendable {
    /// The command's name on the command line.
    package let name: String
    /// What the command does, in one sentence for lists.
    package let summary: String
    /// The command's description: paragraphs with lines of at most 100 characters, separated by blank lines.
    package let about: String
    /// The usages without the program's and the command's names; empty to generate one from the options.
    private let givenUsages: [String]
    /// The words without dashes, in order; trailing ones may be omitted.
    package let arguments: [CommandOption]
    /// The command's own options.
    package let options: [CommandOption]
    /// The settings that the command reads, which also have flags.
    package let settings: [SettingRow]
    /// Settings that another command describes and whose flags this one also accepts.
    package let furtherSettings: [SettingRow]

    /// Creates a command.
    package init(
        _ name: String, _ summary: String, about: String = "", usages: [String] = [],
        arguments: [CommandOption] = [], options: [CommandOption] = [], settings: [SettingRow] = [],
        furtherSettings: [SettingRow] = []
    ) {
        self.name = name
        self.summary = summary
        self.about = about.isEmpty ? summary : about
        self.givenUsages = usages
        self.arguments = arguments
        self.options = options
        self.settings = settings
        self.furtherSettings = furtherSettings
    }

    /// The forms of the command's usage, without the program's and the command's names.
    package var usages: [String] {
        guard givenUsages.isEmpty else { return givenUsages }
        let parts =
            arguments.map { "[\($0.name)]" }
            + options.map { "[\($0.usage)]" + ($0.isRepeatable ? "..." : "") }
            + (settings.isEmpty ? [] : ["[--SETTING VALUE]..."])
        return [parts.joined(separator: " ")]
    }

    /// The command's options and the flags of its settings.
    package var flags: [CommandOption] {
        options + (settings + furtherSettings).flatMap(\.options) + [Self.help]
    }

    private static let help = CommandOption("--help", "Print help.")
}

/// A command: the row of a program's table from which parser, help, manual page and completion are made.
package struct CommandSyntax: Sendable {
    /// Its word on the command line.
    package let name: String
    /// What it does, in one sentence for lists.
    package let summary: String
    /// Its description: paragraphs with lines of at most 100 characters, separated by blank lines.
    package let about: String
    /// Its usage after the program's name and its own, a line per form; empty to make one from the options.
    private let givenUsages: [String]
    /// The words without dashes, in this order; the last ones may be missing.
    package let arguments: [CommandOption]
    /// The options of this command line.
    package let options: [CommandOption]
    /// The settings that it reads, which have flags, too.
    package let settings: [SettingRow]
    /// Settings that another command describes, whose flags this one accepts, too.
    package let furtherSettings: [SettingRow]

    /// A command.
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

    /// The forms of its usage after the program's name and its own.
    package var usages: [String] {
        guard givenUsages.isEmpty else { return givenUsages }
        let parts =
            arguments.map { "[\($0.name)]" }
            + options.map { "[\($0.usage)]" + ($0.isRepeatable ? "..." : "") }
            + (settings.isEmpty ? [] : ["[--SETTING VALUE]..."])
        return [parts.joined(separator: " ")]
    }

    /// Its options and the flags of its settings.
    package var flags: [CommandOption] {
        options + (settings + furtherSettings).flatMap(\.options) + [Self.help]
    }

    private static let help = CommandOption("--help", "Print help.")
}

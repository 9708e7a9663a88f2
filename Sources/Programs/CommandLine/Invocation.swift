import Spelling

/// A parsed command line.
package enum Invocation: Equatable, Sendable {
    /// Run a command with the flags for its settings, by setting name, and its options.
    case run(String, flags: [String: String] = [:], options: CommandOptions = CommandOptions())
    /// Print help for the program or for one command.
    case help(String?)
    /// Print the version.
    case version
    /// Print a completion script.
    case completion(CompletionShell)
    /// Print the manual page.
    case manual
}

extension CommandTable {
    /// Parses the arguments after the program's name.
    ///
    /// Flags are `--name value` or `--name=value`. The values of settings are validated with the configuration, so that
    /// all problems appear in one message.
    package func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        var rest = arguments[...]
        var command: CommandSyntax?
        if let first = rest.first, !first.hasPrefix("-") {
            rest.removeFirst()
            command = try self.named(first)
        }
        var line = CommandLineParser(self, command ?? defaultCommand)
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .help(command.flatMap { self.command($0.name)?.name })
            case "--version" where command == nil, "-V" where command == nil: return .version
            default: line.take(argument, &rest)
            }
        }
        guard line.problems.isEmpty else { throw UsageError(line.problems) }
        guard let command, self.command(command.name) == nil else {
            return .run((command ?? defaultCommand).name, flags: line.flags, options: line.options)
        }
        return try printing(command, line.options)
    }

    /// The invocation for a common command.
    private func printing(_ command: CommandSyntax, _ options: CommandOptions) throws(UsageError)
        -> Invocation
    {
        let word = options.all.first?.text
        switch command.name {
        case "man": return .manual
        case "version": return .version
        case "completion":
            if let shell = word.flatMap(CompletionShell.init(rawValue:)) { return .completion(shell) }
            let shells = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(program) completion needs one of \(shells)")
        default: return .help(try word.map { word throws(UsageError) in try named(word).name })
        }
    }

    private func named(_ name: String) throws(UsageError) -> CommandSyntax {
        if let command = (commands + Self.common).first(where: { $0.name == name }) { return command }
        if let place = moved[name] { throw UsageError("\(program) \(name) moved to \(place)") }
        let names = commands.map(\.name)
        let near = EditDistance.nearest(to: name, among: names + Self.common.map(\.name)).map {
            "; did you mean \($0)?"
        }
        let list =
            "; the commands are " + names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        throw UsageError("unknown command \(Quoted.value(name))" + (near ?? list))
    }
}

/// Reads the arguments of a command and collects all problems.
private struct CommandLineParser {
    private(set) var flags: [String: String] = [:]
    private(set) var options = CommandOptions()
    private(set) var problems: [String] = []
    private let table: CommandTable
    private let command: CommandSyntax
    private var argumentsLeft: ArraySlice<CommandOption>
    /// Whether to skip the next word as the value of a rejected flag.
    private var skipsValue = false

    init(_ table: CommandTable, _ command: CommandSyntax) {
        self.table = table
        self.command = command
        argumentsLeft = command.arguments[...]
    }

    /// Parses one argument and takes its value, if any, from the rest.
    mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) {
        let isValue = skipsValue && !argument.hasPrefix("-")
        skipsValue = false
        guard !isValue else { return }
        do throws(UsageError) {
            if argument.hasPrefix("--") {
                try takeFlag(argument, &rest)
            } else if argument.hasPrefix("-"), argument != "-" {
                skipsValue = true
                throw UsageError("unknown flag \(Quoted.value(argument))")
            } else if let option = argumentsLeft.popFirst(), !options.has(option) {
                try options.add(option, argument)
            } else {
                throw UsageError("\(Quoted.value(argument)) is an unexpected argument")
            }
        } catch {
            problems += error.problems
        }
    }

    private mutating func takeFlag(
        _ argument: String, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let flag = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : nil
        if let option = command.options.first(where: { $0.name == flag }) {
            return try options.add(
                option, value ?? (option.takesValue ? rest.popFirst() : nil),
                replaces: table.lastValueCounts)
        }
        let isOf = { (row: SettingRow) in
            row.flag == flag || row.negativeFlag == flag || row.isSecret && row.fileFlag == flag
        }
        guard let row = (command.settings + command.furtherSettings).first(where: isOf) else {
            skipsValue = value == nil
            if table.settings.contains(where: { isOf($0) && $0.flagRefusal == nil }) {
                throw UsageError("\(table.program) \(command.name) has no flag \(flag)")
            }
            let names = command.flags.map(\.name).filter { $0 != "--help" }
            let near = EditDistance.nearest(to: flag, among: names.sorted()).map { "; did you mean \($0)?" }
            throw UsageError("unknown flag \(Quoted.name(flag))\(near ?? "")")
        }
        try takeSetting(row, flag, value, &rest)
    }

    private mutating func takeSetting(
        _ row: SettingRow, _ flag: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let isFile = row.isSecret && flag == row.fileFlag
        if let refusal = row.flagRefusal, !isFile {
            skipsValue = given == nil
            throw UsageError(refusal)
        }
        var value = given
        if flag == row.negativeFlag {
            guard given == nil else { throw UsageError("\(flag) takes no value") }
            value = "off"
        } else if value == nil, let implied = row.impliedValue {
            value = implied
        } else if value == nil, let next = rest.first, !next.hasPrefix("--") {
            value = next
            rest.removeFirst()
        }
        guard let value, !value.isEmpty else { throw UsageError("\(flag) needs a value") }
        let name = isFile ? row.fileName : row.name
        if let earlier = flags[name] {
            guard row.isList else { throw UsageError("\(row.flag) is given twice") }
            flags[name] = earlier + "," + value
        } else {
            flags[name] = value
        }
    }
}

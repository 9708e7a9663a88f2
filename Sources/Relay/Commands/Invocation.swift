import Spelling
import Storage

/// A parsed command line.
enum Invocation: Equatable, Sendable {
    /// Run a command with its flags, by setting name, and its options.
    case run(Command, flags: [String: String], options: CommandOptions = CommandOptions())
    /// Print help for the program or for one command.
    case help(Command?)
    /// Print the version.
    case version
    /// Print a completion script.
    case completion(CompletionShell)
    /// Print the manual page.
    case manual
}

extension Invocation {
    /// Parses the arguments after the program's name.
    ///
    /// Flags are `--name value` or `--name=value`, named after their environment variables. Values are
    /// validated with the configuration, so that all problems appear in one message.
    static func parse(_ arguments: [String]) throws(UsageProblem) -> Invocation {
        var rest = arguments[...]
        var command: Command?
        if let first = rest.first, !first.hasPrefix("-") {
            rest.removeFirst()
            if let text = try text(first, rest) { return text }
            if first == "help" { return .help(try rest.first.map(Self.command)) }
            command = try Self.command(first)
        }
        var flags = Flags(user: command ?? .serve)
        var options = CommandOptions()
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .help(command)
            case "--version" where command == nil, "-V" where command == nil: return .version
            case _ where argument.hasPrefix("--"):
                let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let value = parts.count == 2 ? String(parts[1]) : nil
                if let option = CommandOption(flag: String(parts[0]), user: command ?? .serve) {
                    try options.add(option, value ?? (option.takesValue ? rest.popFirst() : nil))
                } else {
                    try flags.take(String(parts[0]), value, &rest)
                }
            case _ where argument.hasPrefix("-"):
                throw UsageProblem(description: "unknown flag \(Quoted.value(argument))")
            default:
                guard let option = CommandOption.unnamed(of: command ?? .serve), !options.has(option) else {
                    throw UsageProblem(description: "\(Quoted.value(argument)) is an unexpected argument")
                }
                try options.add(option, argument)
            }
        }
        return .run(command ?? .serve, flags: flags.values, options: options)
    }

    /// Commands that print a text generated from the tables of commands and settings.
    private static func text(_ name: String, _ rest: ArraySlice<String>) throws(UsageProblem) -> Invocation? {
        switch (name, rest.first, rest.count) {
        case ("completion", let word?, 1):
            if let shell = CompletionShell(rawValue: word) { return .completion(shell) }
        case ("man", nil, _): return .manual
        case ("man", "--help", 1), ("completion", "--help", 1): return .help(nil)
        case ("man", let word?, _):
            throw UsageProblem(description: "\(Quoted.value(word)) is an unexpected argument")
        case ("completion", _, _): break
        default: return nil
        }
        let shells = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageProblem(description: "relay completion needs one of \(shells)")
    }

    private static func command(_ name: String) throws(UsageProblem) -> Command {
        if let command = Command(rawValue: name) { return command }
        let names = Command.allCases.map(\.rawValue)
        let all = names + CommandSyntax.others.map(\.name)
        let near = EditDistance.nearest(to: name, among: all).map { "; did you mean \($0)?" }
        let list =
            "; the commands are " + names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        throw UsageProblem(description: "unknown command \(Quoted.value(name))" + (near ?? list))
    }
}

/// The flags read so far.
private struct Flags {
    private(set) var values: [String: String] = [:]
    private let user: Command
    /// Setting names by flag, for this and other commands.
    private let known: [String: (name: String, users: [Command])]
    /// The message for flags that would expose a secret.
    private let refused: [String: String]

    init(user: Command) {
        self.user = user
        var known: [String: (name: String, users: [Command])] = [:]
        var refused: [String: String] = [:]
        for row in Settings.table {
            if row.isSecret { known[row.fileFlag] = (row.fileName, row.flagUsers) }
            if let refusal = row.flagRefusal {
                refused[row.flag] = refusal
            } else {
                known[row.flag] = (row.name, row.flagUsers)
            }
        }
        self.known = known
        self.refused = refused
    }

    /// Takes one flag and its value, which is inline or the next argument.
    mutating func take(
        _ flag: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageProblem) {
        if let refusal = refused[flag] { throw UsageProblem(description: refusal) }
        guard let setting = known[flag] else {
            let options = CommandOption.allCases.filter { $0.users.contains(user) }.map(\.rawValue)
            let near = EditDistance.nearest(to: flag, among: (known.keys + options).sorted())
            let hint = near.map { "; did you mean \($0)?" } ?? ""
            throw UsageProblem(description: "unknown flag \(Quoted.name(flag))\(hint)")
        }
        guard setting.users.contains(user) else {
            throw UsageProblem(description: "relay \(user.rawValue) has no flag \(flag)")
        }
        var value = given
        if value == nil, let next = rest.first, !next.hasPrefix("--") {
            value = next
            rest.removeFirst()
        }
        guard let value, !value.isEmpty else { throw UsageProblem(description: "\(flag) needs a value") }
        guard values.updateValue(value, forKey: setting.name) == nil else {
            throw UsageProblem(description: "\(flag) is given twice")
        }
    }
}

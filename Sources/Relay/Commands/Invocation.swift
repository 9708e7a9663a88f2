import Storage

/// What the command line asks for.
enum Invocation: Equatable, Sendable {
    /// Run a command with what its flags say, by setting name, and with its options.
    case run(SettingUser, flags: [String: String], options: CommandOptions = CommandOptions())
    /// Print help: about the program, or about one command.
    case help(SettingUser?)
    /// Print the version.
    case version
}

/// A command line that makes no sense, as one sentence.
struct UsageProblem: Error, Equatable, CustomStringConvertible {
    let description: String
}

extension Invocation {
    /// Reads the arguments after the program's name.
    ///
    /// Flags are `--name value` or `--name=value`; each has the name of its environment variable. Whether a value
    /// is any good is the configuration's business, so that all problems come in one message.
    static func parse(_ arguments: [String]) throws(UsageProblem) -> Invocation {
        var rest = arguments[...]
        var command: SettingUser?
        if let first = rest.first, !first.hasPrefix("-") {
            rest.removeFirst()
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
                throw UsageProblem(description: "there is no flag \(Quoted.value(argument))")
            default:
                throw UsageProblem(description: "\(Quoted.value(argument)) is one argument too many")
            }
        }
        return .run(command ?? .serve, flags: flags.values, options: options)
    }

    private static func command(_ name: String) throws(UsageProblem) -> SettingUser {
        if let command = SettingUser(rawValue: name) { return command }
        let names = SettingUser.allCases.map(\.rawValue)
        let near = EditDistance.nearest(to: name, among: names).map { "; did you mean \($0)?" }
        let list = "; there are " + names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        throw UsageProblem(description: "there is no command \(Quoted.value(name))" + (near ?? list))
    }
}

/// The flags read so far.
private struct Flags {
    private(set) var values: [String: String] = [:]
    private let user: SettingUser
    /// Setting names by flag, for the command and for others.
    private let known: [String: (name: String, users: [SettingUser])]
    /// What to say to a flag that shows what nobody may see.
    private let refused: [String: String]

    init(user: SettingUser) {
        self.user = user
        var known: [String: (name: String, users: [SettingUser])] = [:]
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

    /// Takes one flag and its value: the one given with it, or the next of the arguments.
    mutating func take(
        _ flag: String, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageProblem) {
        if let refusal = refused[flag] { throw UsageProblem(description: refusal) }
        guard let setting = known[flag] else {
            let options = CommandOption.allCases.filter { $0.users.contains(user) }.map(\.rawValue)
            let near = EditDistance.nearest(to: flag, among: (known.keys + options).sorted())
            let hint = near.map { "; did you mean \($0)?" } ?? ""
            throw UsageProblem(description: "there is no flag \(Quoted.name(flag))\(hint)")
        }
        guard setting.users.contains(user) else {
            throw UsageProblem(description: "relay \(user.rawValue) has no flag \(flag)")
        }
        var value = given
        if value == nil, let next = rest.first, !next.hasPrefix("--") {
            value = next
            rest.removeFirst()
        }
        // The one flag that says enough by being there.
        if value == nil, flag == Settings.copyMerge.row.flag { value = Switch.yes.rawValue }
        guard let value, !value.isEmpty else { throw UsageProblem(description: "\(flag) needs a value") }
        guard values.updateValue(value, forKey: setting.name) == nil else {
            throw UsageProblem(description: "\(flag) is given twice")
        }
    }
}

import Storage

/// What the command line asks for.
enum Invocation: Equatable, Sendable {
    /// Run a command with what its flags say, by setting name.
    case run(SettingUser, flags: [String: String])
    /// Print the SQL that `relay migrate` would run, and run none of it.
    case dryRun(flags: [String: String])
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
        var isDryRun = false
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .help(command)
            case "--version" where command == nil, "-V" where command == nil: return .version
            case "--dry-run" where command == .migrate: isDryRun = true
            case _ where argument.hasPrefix("--"): try flags.take(argument, &rest)
            case _ where argument.hasPrefix("-"):
                throw UsageProblem(description: "there is no flag \(Quoted.value(argument))")
            default:
                throw UsageProblem(description: "\(Quoted.value(argument)) is one argument too many")
            }
        }
        return isDryRun ? .dryRun(flags: flags.values) : .run(command ?? .serve, flags: flags.values)
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

    init(user: SettingUser) {
        self.user = user
        var known: [String: (name: String, users: [SettingUser])] = [:]
        for row in Settings.table {
            known[row.flag] = (row.name, row.users)
            if row.isSecret { known[row.fileFlag] = (row.fileName, row.users) }
        }
        self.known = known
    }

    /// Takes one flag and its value from the arguments.
    mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(UsageProblem) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let flag = String(parts[0])
        guard let setting = known[flag] else {
            let near = EditDistance.nearest(to: flag, among: Array(known.keys.sorted()))
            let hint = near.map { "; did you mean \($0)?" } ?? ""
            throw UsageProblem(description: "there is no flag \(Quoted.name(flag))\(hint)")
        }
        guard setting.users.contains(user) else {
            throw UsageProblem(description: "relay \(user.rawValue) has no flag \(flag)")
        }
        var value = parts.count == 2 ? String(parts[1]) : nil
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

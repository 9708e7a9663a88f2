/// What a command can be told on its command line alone: no environment variable stands for it.
enum CommandOption: String, CaseIterable, Sendable {
    case dryRun = "--dry-run"
    case json = "--json"

    /// The commands that take it.
    var users: [SettingUser] {
        switch self {
        case .dryRun: [.migrate]
        case .json: [.devices]
        }
    }

    /// The whole numbers that it takes; `nil` when it says enough by being there.
    var range: ClosedRange<Int>? {
        switch self {
        case .dryRun, .json: nil
        }
    }

    /// What it does, for help.
    var summary: String {
        switch self {
        case .dryRun: "Print the SQL that would be run, and run none of it."
        case .json: "Print JSON; times are ISO 8601 in UTC."
        }
    }

    /// The option as usage shows it.
    var usage: String { range == nil ? rawValue : rawValue + " N" }

    /// The option of a flag, if the command has it.
    init?(flag: String, user: SettingUser) {
        guard let option = CommandOption(rawValue: flag), option.users.contains(user) else { return nil }
        self = option
    }
}

/// The options that a command line gave.
struct CommandOptions: Equatable, Sendable {
    private var values: [CommandOption: Int] = [:]

    /// No option, or some that need no number.
    init(_ given: CommandOption...) {
        for option in given { values[option] = 1 }
    }

    /// Whether it was given.
    func has(_ option: CommandOption) -> Bool { values[option] != nil }

    /// The number that was given with it.
    func number(_ option: CommandOption) -> Int? { values[option] }

    /// Adds an option with its number, if it takes one.
    ///
    /// - Parameter text: What was written behind the option, `nil` when nothing was.
    mutating func add(_ option: CommandOption, _ text: String?) throws(UsageProblem) {
        let flag = option.rawValue
        guard values[option] == nil else { throw UsageProblem(description: "\(flag) is given twice") }
        guard let range = option.range else {
            guard text == nil else { throw UsageProblem(description: "\(flag) takes no value") }
            values[option] = 1
            return
        }
        guard let text, !text.isEmpty else { throw UsageProblem(description: "\(flag) needs a number") }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            range.contains(number)
        else {
            let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw UsageProblem(description: "\(flag) is \(Quoted.value(text)): expected \(expected)")
        }
        values[option] = number
    }
}

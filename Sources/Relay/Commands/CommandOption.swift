/// What a command can be told on its command line alone: no environment variable stands for it.
enum CommandOption: String, CaseIterable, Sendable {
    case dryRun = "--dry-run"
    case limit = "--limit"
    case follow = "--follow"
    case days = "--days"
    case yes = "--yes"
    case json = "--json"
    case devices = "--devices"
    case send = "--send"
    case url = "--url"
    case title = "--title"
    case body = "--body"
    case eventType = "--event-type"
    case session = "--session"
    case caFile = "--ca-file"

    /// The commands that take it.
    var users: [SettingUser] {
        switch self {
        case .dryRun: [.migrate]
        case .limit, .follow: [.deliveries]
        case .days: [.stats]
        case .yes: [.revoke]
        case .json: .inspecting + [.check, .send]
        case .devices, .send: [.check]
        case .url, .title, .body, .eventType, .session, .caFile: [.send]
        }
    }

    /// What is written behind an option.
    enum Value: Equatable {
        /// Nothing: it says enough by being there.
        case none
        /// A whole number of a range.
        case number(ClosedRange<Int>)
        /// A text; what usage calls it.
        case text(String)
        /// One of these words.
        case word([String])
        /// An http or https URL.
        case url

        /// What was expected instead of a text that is neither empty nor a number; `nil` when it is right.
        func refusal(of text: String) -> String? {
            switch self {
            case .word(let words) where !words.contains(text): "one of " + words.joined(separator: ", ")
            case .url where !text.hasPrefix("https://") && !text.hasPrefix("http://"):
                "a URL that begins with https:// or http://"
            default: nil
            }
        }
    }

    /// What it takes.
    var value: Value {
        switch self {
        case .limit: .number(1...Bounds.deliveriesShownMax)
        case .days: .number(1...Bounds.statsDaysMax)
        case .dryRun, .follow, .yes, .json, .devices, .send: .none
        case .url: .url
        case .title, .body: .text("TEXT")
        case .eventType: .word(EventType.allCases.map(\.rawValue))
        case .session: .text("ID")
        case .caFile: .text("PATH")
        }
    }

    /// Whether something is written behind it.
    var takesValue: Bool { value != .none }

    /// What it does, for help.
    var summary: String {
        switch self {
        case .dryRun: "Print the SQL that would be run, and run none of it."
        case .limit:
            "Show at most N deliveries, 1 to \(Bounds.deliveriesShownMax). Default: \(Bounds.deliveriesShownDefault)."
        case .follow: "Then show each delivery as it comes, until Ctrl-C; oldest first."
        case .days:
            "Count N days, 1 to \(Bounds.statsDaysMax), today included. Default: \(Bounds.statsDaysDefault)."
        case .yes: "Don't ask whether it is meant."
        case .json: "Print JSON; times are ISO 8601 in UTC."
        case .devices: "Look at a secret's devices too, and ask for the secret where none is given."
        case .send: "Send a test push to the secret's devices; implies --devices."
        case .url:
            "The relay's URL. Default: the relay on this machine, by its settings."
        case .title: "The notification's title."
        case .body: "The notification's text."
        case .eventType: "Send an event of this type instead of a notification."
        case .session: "The session that the event is about. Default: relay-send."
        case .caFile: "PEM certificates that the relay's must stand under, instead of the system's."
        }
    }

    /// The option as usage shows it.
    var usage: String {
        switch value {
        case .none: rawValue
        case .number: rawValue + " N"
        case .text(let name): rawValue + " " + name
        case .word(let words): rawValue + " " + words.joined(separator: "|")
        case .url: rawValue + " URL"
        }
    }

    /// The option of a flag, if the command has it.
    init?(flag: String, user: SettingUser) {
        guard let option = CommandOption(rawValue: flag), option.users.contains(user) else { return nil }
        self = option
    }
}

/// The options that a command line gave.
struct CommandOptions: Equatable, Sendable {
    private var texts: [CommandOption: String] = [:]

    /// No option, or some that need no value.
    init(_ given: CommandOption...) {
        for option in given { texts[option] = "" }
    }

    /// Whether it was given.
    func has(_ option: CommandOption) -> Bool { texts[option] != nil }

    /// The number that was given with it.
    func number(_ option: CommandOption) -> Int? { texts[option].flatMap { Int($0) } }

    /// The text that was given with it.
    func text(_ option: CommandOption) -> String? { texts[option] }

    /// Adds an option with its value, if it takes one.
    ///
    /// - Parameter text: What was written behind the option, `nil` when nothing was.
    mutating func add(_ option: CommandOption, _ text: String?) throws(UsageProblem) {
        let flag = option.rawValue
        guard texts[option] == nil else { throw UsageProblem(description: "\(flag) is given twice") }
        switch option.value {
        case .none:
            guard text == nil else { throw UsageProblem(description: "\(flag) takes no value") }
            texts[option] = ""
        case .number(let range):
            guard let text, !text.isEmpty else { throw UsageProblem(description: "\(flag) needs a number") }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
                range.contains(number)
            else {
                let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
                throw UsageProblem(description: "\(flag) is \(Quoted.value(text)): expected \(expected)")
            }
            texts[option] = text
        case .text, .word, .url:
            guard let text, !text.isEmpty else { throw UsageProblem(description: "\(flag) needs a value") }
            if let expected = option.value.refusal(of: text) {
                throw UsageProblem(description: "\(flag) is \(Quoted.value(text)): expected \(expected)")
            }
            texts[option] = text
        }
    }
}

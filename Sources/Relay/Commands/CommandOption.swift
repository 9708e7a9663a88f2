import PushSealing
import Storage

/// Options available only on the command line, without an environment variable.
enum CommandOption: String, CaseIterable, Sendable {
    case dryRun = "--dry-run"
    case shards = "--shards"
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
    case secretHash = "--secret-hash"
    case sort = "--sort"
    case after = "--after"
    case list = "--list"
    case note = "--note"
    case relayURL = "--relay-url"
    case host = "--host"
    case name = "--name"
    case scheme = "--scheme"
    case png = "--png"
    case kind = "--kind"
    case sealed = "--sealed"
    case cancel = "--cancel"
    case local = "--local"

    /// The option that a command accepts as a positional argument.
    static func unnamed(of user: Command) -> CommandOption? {
        switch user {
        case .block, .unblock: .secretHash
        case .open: .sealed
        default: nil
        }
    }

    /// The commands that accept it.
    var users: [Command] {
        switch self {
        case .dryRun, .shards: [.migrate]
        case .limit: [.deliveries, .tenants, .queue, .schedules]
        case .follow: [.deliveries]
        case .secretHash: [.queue] + .changing
        case .sort: [.tenants]
        case .after: [.tenants, .queue, .schedules]
        case .list, .note: [.block]
        case .days: [.stats]
        case .yes: [.revoke]
        case .json: .inspecting + [.check, .send, .pair, .open]
        case .devices, .send: [.check]
        case .url, .caFile: [.send]
        case .title, .body, .session: [.send, .seal]
        case .eventType: [.send, .seal, .open]
        case .kind: [.seal, .open]
        case .sealed: [.open]
        case .cancel: [.schedules]
        case .relayURL, .host, .name, .scheme, .png, .local: [.pair]
        }
    }

    /// The kind of value that an option takes.
    enum Value: Equatable {
        /// None: the option is a switch.
        case none
        /// A whole number in a range.
        case number(ClosedRange<Int>)
        /// A text, with its name in the usage.
        case text(String)
        /// One of these words.
        case word([String])
        /// Digits of a secret's hash.
        case hash
        /// An http or https URL.
        case url
        /// A URL's scheme.
        case scheme
        /// A notification's kind.
        case kind

        /// What was expected if a non-empty, non-numeric text is invalid; `nil` if it is valid.
        func refusal(of text: String) -> String? {
            switch self {
            case .word(let words) where !words.contains(text): "one of " + words.joined(separator: ", ")
            case .url where !text.hasPrefix("https://") && !text.hasPrefix("http://"):
                "a URL that begins with https:// or http://"
            case .scheme where !Pairing.isScheme(text):
                "a URL scheme: lower-case letters, digits, '+', '-' and '.', beginning with a letter"
            case .kind where !Self.isKind(text): "1 to 32 characters of a-z 0-9 _ -"
            case .hash where SecretHashPrefix(text) == nil:
                "\(SecretHashPrefix.countMin) to \(Digest256.hexCount) hexadecimal digits of a secret's hash, as "
                    + "shown in log lines"
            default: nil
            }
        }

        private static func isKind(_ text: String) -> Bool {
            text.utf8.count <= 32 && text.utf8.allSatisfy { isLowerOrDigit($0) || "_-".utf8.contains($0) }
        }

        private static func isLowerOrDigit(_ character: UInt8) -> Bool {
            (0x61...0x7A).contains(character) || (0x30...0x39).contains(character)
        }
    }

    /// Whether it may be given several times.
    var isRepeatable: Bool { self == .host }

    /// The kind of value.
    var value: Value {
        switch self {
        case .limit: .number(1...Bounds.rowsShownMax)
        case .days: .number(1...Bounds.statsDaysMax)
        case .dryRun, .follow, .yes, .json, .devices, .send, .list, .local: .none
        case .secretHash: .hash
        case .shards: .word(Sharding.allCases.map(\.rawValue))
        case .sort: .word(TenantSort.allCases.map(\.rawValue))
        case .after: .text("CURSOR")
        case .note: .text("TEXT")
        case .url, .relayURL: .url
        case .title, .body: .text("TEXT")
        case .eventType: .word(EventType.allCases.filter(\.rings).map(\.rawValue))
        case .session: .text("ID")
        case .caFile, .png: .text("PATH")
        case .host: .text("URL")
        case .name: .text("NAME")
        case .scheme: .scheme
        case .kind: .kind
        case .sealed: .text("SEALED")
        case .cancel: .text("SCHEDULE")
        }
    }

    /// Whether it takes a value.
    var takesValue: Bool { value != .none }

    /// Its description in the help.
    var summary: String {
        switch self {
        case .dryRun: "Print the SQL without running it."
        case .shards: "With --dry-run: print the SQL for a new database that shards by secret."
        case .limit:
            "Show up to N rows, 1 to \(Bounds.rowsShownMax). Default: \(Bounds.rowsShownDefault)."
        case .follow: "Keep running and show new rows, oldest first, until Ctrl-C."
        case .days:
            "Count N days, 1 to \(Bounds.statsDaysMax), today included. Default: \(Bounds.statsDaysDefault)."
        case .yes: "Don't ask for confirmation."
        case .json: "Print JSON; times are ISO 8601 in UTC."
        case .devices: "Also check a secret's devices; asks for the secret if none is given."
        case .send: "Send a test push to the secret's devices; implies --devices."
        case .url:
            "The relay's URL. Default: the relay on this machine, from its settings."
        case .title: "The notification's title."
        case .body: "The notification's text."
        case .eventType: "An event of this type instead of a notification."
        case .session: "The session ID. Default for events of relay send: relay-send."
        case .secretHash:
            "At least the first \(SecretHashPrefix.countMin) digits of the secret's hash, as shown in log lines."
        case .sort: "Sort key, highest first. Default: \(TenantSort.devices.rawValue)."
        case .after: "Show the page after this cursor, which the last line of the previous page contains."
        case .list: "List the blocked secrets."
        case .note:
            "The reason for the block, shown by --list; at most \(StorageLimits.blockNoteBytes) bytes."
        case .caFile: "PEM file of CA certificates to trust for the relay, instead of the system's."
        case .relayURL: "The relay's URL, as phones and senders reach it. Required."
        case .host: "An address of the OpenCode server; repeatable. Default: the relay's URL."
        case .name: "The server's name in pushes (serverID)."
        case .scheme: "The scheme of the app's links. Default: \(Pairing.schemeDefault)."
        case .png: "Also write the QR code to a new file, as PNG; only you can read it."
        case .local:
            "Allow addresses that no phone can reach, for an app on this machine, such as in a simulator."
        case .kind: "The notification's kind: 1 to 32 characters of a-z 0-9 _ -."
        case .sealed: "The sealed text. Default: standard input."
        case .cancel: "Cancel the schedule with this ID or name instead of listing."
        }
    }

    /// The option as shown in the usage.
    var usage: String {
        switch value {
        case .none: rawValue
        case .number: rawValue + " N"
        case .text(let name): rawValue + " " + name
        case .word(let words): rawValue + " " + words.joined(separator: "|")
        case .url: rawValue + " URL"
        case .hash: rawValue + " PREFIX"
        case .scheme: rawValue + " SCHEME"
        case .kind: rawValue + " KIND"
        }
    }

    /// The option for a flag, if the command accepts it.
    init?(flag: String, user: Command) {
        guard let option = CommandOption(rawValue: flag), option.users.contains(user) else { return nil }
        self = option
    }
}

/// The options of a command line.
struct CommandOptions: Equatable, Sendable {
    private var texts: [CommandOption: [String]] = [:]

    /// No options, or some without values.
    init(_ given: CommandOption...) {
        for option in given { texts[option] = [""] }
    }

    /// Whether an option was given.
    func has(_ option: CommandOption) -> Bool { texts[option] != nil }

    /// An option's number.
    func number(_ option: CommandOption) -> Int? { text(option).flatMap { Int($0) } }

    /// An option's text.
    func text(_ option: CommandOption) -> String? { texts[option]?.first }

    /// The texts of an option that may be given several times.
    func texts(_ option: CommandOption) -> [String] { texts[option] ?? [] }

    /// Adds an option with its value, if it takes one.
    ///
    /// - Parameter text: The given value; `nil` if there was none.
    mutating func add(_ option: CommandOption, _ text: String?) throws(UsageProblem) {
        let flag = option.rawValue
        guard texts[option] == nil || option.isRepeatable else {
            throw UsageProblem(description: "\(flag) is given twice")
        }
        switch option.value {
        case .none:
            guard text == nil else { throw UsageProblem(description: "\(flag) takes no value") }
            texts[option] = [""]
        case .number(let range):
            guard let text, !text.isEmpty else { throw UsageProblem(description: "\(flag) needs a number") }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
                range.contains(number)
            else {
                let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
                throw UsageProblem(description: "\(flag) is \(Quoted.value(text)): expected \(expected)")
            }
            texts[option] = [text]
        case .text, .word, .url, .hash, .scheme, .kind:
            guard let text, !text.isEmpty else { throw UsageProblem(description: "\(flag) needs a value") }
            if let expected = option.value.refusal(of: text) {
                throw UsageProblem(description: "\(flag) is \(Quoted.value(text)): expected \(expected)")
            }
            texts[option, default: []].append(text)
        }
    }
}

/// An invalid command line, described in one sentence.
struct UsageProblem: Error, Equatable, CustomStringConvertible {
    let description: String
}

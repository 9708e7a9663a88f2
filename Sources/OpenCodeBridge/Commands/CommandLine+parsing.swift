/// A command of the program.
enum Command: String, CaseIterable, Sendable {
    case serve, pair, check, test, hook, completion, man, help, version

    var summary: String {
        switch self {
        case .serve: "read the server's events and ring the phones (default)"
        case .pair: "show the QR code that phones scan"
        case .check: "find out why nothing rings"
        case .test: "ring the phones once and explain the result"
        case .hook:
            "ring for another agent, from its hook; AGENT is claude-code (or claude), codex, gemini or generic"
        case .completion: "print a completion script for bash, zsh or fish"
        case .man: "print the manual page"
        case .help: "show this text"
        case .version: "show the version"
        }
    }

    /// The maximum number of words after it.
    var operandsMax: Int {
        switch self {
        case .hook: 2
        case .completion: 1
        case .serve, .pair, .check, .test, .man, .help, .version: 0
        }
    }
}

/// A parsed command line.
struct Invocation: Sendable, Equatable {
    var command = Command.serve
    var flags: [Setting: String] = [:]
    /// The words after `hook` (the agent, and its input if passed as an argument) or `completion` (the shell).
    var operands: [String] = []
    var pairing = PairOptions()
    /// Whether `hook AGENT install` only shows its changes.
    var onlyPrints = false
    /// The command to show help for.
    var helpTopic: Command?

    /// Why a command line is invalid.
    struct Problem: Error, Sendable, Equatable { let sentence: String }

    /// Parses the arguments after the program's name.
    init(_ arguments: [String]) throws(Problem) {
        var rest = arguments[...]
        if let first = rest.first, !first.hasPrefix("-") {
            guard let command = Command(rawValue: first) else {
                throw Problem(sentence: "unknown command \(Console.safe(first))")
            }
            self.command = command
            rest = rest.dropFirst()
        }
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" {
                helpTopic = command
                command = .help
                continue
            }
            if argument == "--version" {
                command = .version
                continue
            }
            if !argument.hasPrefix("-"), operands.count < command.operandsMax {
                operands.append(argument)
                continue
            }
            if command == .hook, argument == "--print" {
                onlyPrints = true
                continue
            }
            if command == .pair, try pairing.take(argument, &rest) { continue }
            try take(argument, &rest)
        }
    }

    /// Parses a setting's flag and value.
    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(Problem) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if let setting = Setting.allCases.first(where: { $0.negativeFlag == argument }) {
            try set(setting, "off")
            return
        }
        guard let setting = Setting.allCases.first(where: { $0.flag == parts[0] }) else {
            throw Problem(sentence: "unexpected argument \(Console.safe(argument))")
        }
        if parts.count == 2 {
            try set(setting, String(parts[1]))
        } else if setting.valueName == nil {
            try set(setting, "on")
        } else if let value = rest.popFirst() {
            try set(setting, value)
        } else {
            throw Problem(sentence: "\(setting.flag) needs a value")
        }
    }

    private mutating func set(_ setting: Setting, _ value: String) throws(Problem) {
        if let earlier = flags[setting] {
            guard setting.isList else { throw Problem(sentence: "\(setting.flag) is given twice") }
            flags[setting] = earlier + "," + value
        } else {
            flags[setting] = value
        }
    }
}

/// The text of `opencode-bridge help`.
enum HelpText {
    static var text: String {
        var lines = [
            "usage: opencode-bridge [COMMAND] [OPTION ...]",
            "       opencode-bridge hook AGENT [OPTION ...] [JSON]",
            "       opencode-bridge hook AGENT install|uninstall [--print]", "",
            "Reads the events of an OpenCode server and rings the phones registered with a relay.", "",
            "commands:",
        ]
        lines += Command.allCases.map { row($0.rawValue, $0.summary) }
        lines += ["", "options, also environment variables and lines of the configuration file:"]
        for setting in Setting.allCases {
            let value = setting.valueName.map { " " + $0 } ?? ""
            lines.append("  \(setting.flag)\(value), \(setting.variable)")
            lines.append("      \(setting.summary)")
        }
        lines += ["", "options of pair:"]
        lines += PairOptions.usage.map { "  \($0)\n      \($1)" }
        lines += [
            "",
            "The server's password comes from OPENCODE_PASSWORD, or from OPENCODE_SERVER_USERNAME and "
                + "OPENCODE_SERVER_PASSWORD.",
        ]
        return lines.joined(separator: "\n")
    }

    /// The text of `opencode-bridge hook --help`.
    static var hook: String {
        """
        usage: opencode-bridge hook AGENT install|uninstall [--print]
               opencode-bridge hook AGENT [OPTION ...] [JSON]

        install adds hooks to an agent's settings, so that the phones ring when it finishes, fails or needs a
        decision. It shows the change first. uninstall removes the hooks. --print only shows the change.

          claude  \(HookSettings.claudeCode.place)
          codex   \(HookSettings.codex.place)
          gemini  \(HookSettings.gemini.place)

        The agent then runs `opencode-bridge hook AGENT` with JSON on standard input or as the last argument. It
        always exits with 0 within \(Bounds.hookProcessSecondsMax) seconds. AGENT generic is for any other program:

          opencode-bridge hook generic '{"eventType": "error", "title": "Build 512", "body": "failed"}'

        First pair a phone: `opencode-bridge pair`, then `opencode-bridge test` and `opencode-bridge check`.
        For hooks, the configuration file takes precedence over variables: see `opencode-bridge help`.
        To see why something rings or doesn't, add --debug.
        """
    }

    private static func row(_ name: String, _ text: String) -> String {
        "  " + name + String(repeating: " ", count: max(1, 12 - name.count)) + text
    }
}

/// The settings: each is a flag, a variable and a line of the configuration file.
enum Setting: String, CaseIterable, Sendable {
    case opencodeURL = "opencode-url"
    case relayURL = "relay-url"
    case relaySecretFile = "relay-secret-file"
    case relayCAFile = "relay-ca-file"
    case insecureRelay = "insecure-relay"
    case stateDirectory = "state-directory"
    case requestWait = "request-wait"
    case streamTimeout = "stream-timeout"
    case quietWhileActive = "quiet-while-active"
    case showCommands = "show-commands"
    case headless
    case allowReplies = "allow-replies"
    case `repeat`
    case liveActivities = "live-activities"
    case seal
    case privateSessions = "private-sessions"
    case advertiseHost = "advertise-host"
    case debug
    case config

    var flag: String { "--" + rawValue }

    /// `--no-seal`, for the setting that is on by default.
    var negativeFlag: String? { self == .seal ? "--no-seal" : nil }

    /// `BRIDGE_OPENCODE_URL`.
    var variable: String {
        Self.variablePrefix + rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    static let variablePrefix = "BRIDGE_"

    /// The name of the value in the help; `nil` for settings that are on or off.
    var valueName: String? {
        switch self {
        case .opencodeURL, .relayURL: "URL"
        case .relaySecretFile, .relayCAFile, .config: "FILE"
        case .stateDirectory: "DIRECTORY"
        case .requestWait, .streamTimeout, .liveActivities: "SECONDS"
        case .quietWhileActive, .repeat: "MINUTES"
        case .advertiseHost: "HOST"
        case .insecureRelay, .showCommands, .headless, .allowReplies, .seal, .privateSessions, .debug: nil
        }
    }

    /// Whether its flag can be repeated; the value is a list separated by commas.
    var isList: Bool { self == .advertiseHost }

    var summary: String {
        switch self {
        case .opencodeURL:
            "the OpenCode server; default: the running service of 2.x, else \(ServerPlace.standardAddress)"
        case .relayURL: "the relay, such as https://relay.example.org; required"
        case .relaySecretFile:
            "the file with the secret that phones and bridge share; default: secret in the state directory, "
                + "created at the first start"
        case .relayCAFile: "the PEM certificates to trust for the relay; default: the system's"
        case .insecureRelay:
            "allow http:// for a relay on another machine; anyone on the network path can read the texts"
        case .stateDirectory: "the directory of secret and queue; default: opencode-bridge in $XDG_STATE_HOME"
        case .requestWait:
            "how long a permission or question stays unanswered before it rings; default: 15"
        case .streamTimeout:
            "how long the server's event stream may be silent before the bridge reconnects; default: 45"
        case .quietWhileActive:
            "don't ring for completed runs if you typed in a terminal of this machine within this time; "
                + "default: 0, always ring"
        case .showCommands: "show details of the request, such as a permission's command, in the notification"
        case .headless: "let hooks ring when an unattended run ends, such as `claude -p`"
        case .allowReplies:
            "let replies from phones answer permissions, and so run commands on this machine"
        case .repeat:
            "how often an unanswered permission or question rings again, for an hour, 1 to 15; default: 0, only once"
        case .liveActivities:
            "how often a running session's state is sent for Live Activities, readable by the relay and Apple, "
                + "1 to 600; default: 0, never"
        case .seal:
            "encrypt texts for paired phones; default: on if the secret has a key. --no-seal turns it off"
        case .privateSessions:
            "send keyed hashes instead of session IDs; only paired phones can resolve them"
        case .advertiseHost:
            "an address of the OpenCode server for paired phones, a host with or without a port, or a URL; "
                + "repeatable; default: this machine's LAN and Tailscale addresses"
        case .debug: "explain why something rings or doesn't"
        case .config: "the configuration file; default: opencode-bridge/config in $XDG_CONFIG_HOME"
        }
    }
}

/// The problems with the command line or the settings, one sentence each.
struct SettingProblems: Error, Sendable, Equatable {
    let sentences: [String]

    init(_ sentences: [String]) { self.sentences = sentences }
}

/// The given values, before they are checked.
struct SettingValues: Sendable {
    /// A value and where it was given.
    private var values: [Setting: (text: String, place: String)] = [:]

    /// Collects values from flags, then variables, then the file: the first one takes precedence.
    ///
    /// - Parameters:
    ///   - prefersFile: Whether the file takes precedence over variables, as for hooks: Codex calls them with the
    ///     environment of its first process.
    ///   - file: The contents of the configuration file at a path; `nil` if there is none.
    init(
        flags: [Setting: String], environment: [String: String], prefersFile: Bool = false,
        file: (String, _ isRequired: Bool) throws(SettingProblems) -> [UInt8]?
    ) throws(SettingProblems) {
        for (setting, text) in flags { values[setting] = (text, setting.flag) }
        let variables = environment.filter { !$0.value.isEmpty }
        var problems: [String] = []
        if !prefersFile { problems += add(variables, place: "") }
        let given = values[.config]?.text ?? variables[Setting.config.variable]
        if let path = given ?? Self.standardFile(environment),
            let bytes = try file(path, given != nil)
        {
            problems += add(try Self.lines(bytes), place: " in \(path)")
        }
        if prefersFile { problems += add(variables, place: "") }
        guard problems.isEmpty else { throw SettingProblems(problems) }
    }

    subscript(_ setting: Setting) -> String? { values[setting]?.text }

    /// The name under which a setting was given.
    func name(_ setting: Setting) -> String { values[setting]?.place ?? setting.flag }

    private mutating func add(_ given: [String: String], place: String) -> [String] {
        var problems: [String] = []
        for (name, text) in given.sorted(by: { $0.key < $1.key }) where name.hasPrefix(Setting.variablePrefix)
        {
            guard let setting = Setting.allCases.first(where: { $0.variable == name }) else {
                problems.append("\(Console.safe(name))\(place) is not a setting of this program")
                continue
            }
            if values[setting] == nil { values[setting] = (text, name + place) }
        }
        return problems
    }

    /// The default path of the configuration file.
    static func standardFile(_ environment: [String: String]) -> String? {
        if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
            return path + "/opencode-bridge/config"
        }
        return environment["HOME"].map { $0 + "/.config/opencode-bridge/config" }
    }

    /// Lines such as `BRIDGE_RELAY_URL=https://relay.example.org`; `#` begins a comment.
    private static func lines(_ bytes: [UInt8]) throws(SettingProblems) -> [String: String] {
        var values: [String: String] = [:]
        let lines = String(decoding: bytes, as: UTF8.self).split(omittingEmptySubsequences: false) {
            $0.isNewline
        }
        for (number, line) in lines.enumerated() {
            let text = line.drop { $0.isWhitespace }
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].hasPrefix(Setting.variablePrefix) else {
                throw SettingProblems([
                    "line \(number + 1) of the configuration file isn't BRIDGE_NAME=value"
                ])
            }
            var value = String(parts[1])
            while value.last?.isWhitespace == true { value.removeLast() }
            if value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote {
                value = String(value.dropFirst().dropLast())
            }
            values[String(parts[0])] = value
        }
        return values
    }
}

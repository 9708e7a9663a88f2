import JSON

/// The parsed flags of the main command.
///
/// Holds paths; the files are not read yet.
package struct ServeOptions: Sendable {
    /// A `--public-key` with the flags that describe it.
    package struct Key: Hashable, Sendable {
        package let file: String
        package var keyID: String?
        package var teamID: String?
        package var environment: PushEnvironment?
    }

    package var productionPort: UInt16 = 8443
    package var sandboxPort: UInt16 = 8444
    package var controlPort: UInt16 = 8480
    package var host = "127.0.0.1"
    package var controlHost = "127.0.0.1"
    package var certificateFile: String?
    package var certificateNames: [String] = []
    package var readyFile: String?
    package var pairingFiles: [String] = []
    package var acceptsAnyKey = false
    package var keys: [Key] = []
    package var start = SimulatorState.Start()
    package var loops = 1
    package var print: PushPrinter.Form?

    /// The maximum for `--loops`.
    package static let loopsMax = 64

    private var tokens: [JSON.Value] = []
    private var rules: [JSON.Value] = []

    /// Parses the flags.
    ///
    /// - Throws: All problems at once.
    package init(_ arguments: [String]) throws(UsageProblems) {
        var problems: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            do throws(ControlProblem) {
                try take(argument, &rest)
            } catch {
                problems.append(error.sentence)
            }
        }
        for key in keys where key.keyID == nil || key.teamID == nil {
            problems.append("--public-key \(key.file) must be followed by --key-id and --team-id")
        }
        if acceptsAnyKey, !keys.isEmpty { problems.append("--any-key cannot be combined with --public-key") }
        do throws(ControlProblem) {
            try takeScript()
        } catch {
            problems.append(error.sentence)
        }
        guard problems.isEmpty else { throw UsageProblems(problems) }
    }

    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(ControlProblem) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        guard argument.hasPrefix("--"), let flag = Flag(rawValue: String(parts[0].dropFirst(2))) else {
            throw ControlProblem("unknown flag or argument \(argument)")
        }
        guard flag.argument != nil else {
            guard parts.count == 1 else { throw ControlProblem("\(flag.text) does not take a value") }
            return try apply(flag, "")
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
            throw ControlProblem("\(flag.text) needs a value")
        }
        try apply(flag, value)
    }

    private mutating func apply(_ flag: Flag, _ value: String) throws(ControlProblem) {
        switch flag {
        case .productionPort: productionPort = UInt16(try number(flag, value, 0...65_535))
        case .sandboxPort: sandboxPort = UInt16(try number(flag, value, 0...65_535))
        case .controlPort: controlPort = UInt16(try number(flag, value, 0...65_535))
        case .host: host = value
        case .controlHost: controlHost = value
        case .certificateFile: certificateFile = value
        case .certificateName: certificateNames.append(value)
        case .readyFile: readyFile = value
        case .anyKey: acceptsAnyKey = true
        case .publicKey: keys.append(Key(file: value))
        case .keyID, .teamID, .keyEnvironment: try applyToKey(flag, value)
        case .topic: start.settings.topics = (start.settings.topics ?? []) + [value]
        case .token: tokens.append(try json(flag, value))
        case .unknownTokens: start.settings.acceptsUnknownTokens = try accepts(flag, value)
        case .rule: rules.append(try json(flag, value))
        case .latency: start.settings.latency = try latency(flag, value)
        case .initialStreams: start.settings.initialStreams = UInt32(try streams(flag, value))
        case .streams: start.settings.streams = UInt32(try streams(flag, value))
        case .seed: start.seed = UInt64(try number(flag, value, 0...Int.max))
        case .keep: start.kept = try number(flag, value, 0...PushLog.keptMax)
        case .loops: loops = try number(flag, value, 1...Self.loopsMax)
        case .print: print = .card
        case .printJSON: print = .json
        case .pairingFile: pairingFiles.append(value)
        }
    }

    private mutating func applyToKey(_ flag: Flag, _ value: String) throws(ControlProblem) {
        guard !keys.isEmpty else { throw ControlProblem("\(flag.text) must follow --public-key") }
        let last = keys.count - 1
        guard flag != .keyEnvironment else {
            guard let environment = PushEnvironment(rawValue: value) else {
                throw ControlProblem("\(flag.text) must be production or sandbox")
            }
            keys[last].environment = environment
            return
        }
        guard ProviderToken.isIdentifier(value) else {
            throw ControlProblem("\(flag.text) must be 10 uppercase letters and digits")
        }
        if flag == .keyID { keys[last].keyID = value } else { keys[last].teamID = value }
    }

    /// Parses tokens and rules, which need the seed.
    private mutating func takeScript() throws(ControlProblem) {
        let now = WallClock.milliseconds
        start.rules = try Rule.list(rules, seed: start.seed, now: now)
        for token in tokens {
            let entry = try DeviceRegistry.Entry(token, now: now)
            _ = start.devices.put(entry.registration, for: entry.token)
        }
    }

    private func number(_ flag: Flag, _ value: String, _ range: ClosedRange<Int>) throws(ControlProblem)
        -> Int
    {
        guard let number = Int(value), range.contains(number) else {
            throw ControlProblem(
                "\(flag.text) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private func streams(_ flag: Flag, _ value: String) throws(ControlProblem) -> Int {
        try number(flag, value, 1...Int(SimulatorSettings.streamsMax))
    }

    private func latency(_ flag: Flag, _ value: String) throws(ControlProblem) -> Latency {
        guard let latency = Latency(value) else {
            throw ControlProblem("\(flag.text) must be \(Latency.syntax)")
        }
        return latency
    }

    private func accepts(_ flag: Flag, _ value: String) throws(ControlProblem) -> Bool {
        guard let choice = SimulatorSettings.UnknownTokens(rawValue: value) else {
            throw ControlProblem("\(flag.text) must be accept or reject")
        }
        return choice == .accept
    }

    private func json(_ flag: Flag, _ value: String) throws(ControlProblem) -> JSON.Value {
        do throws(JSON.ParseError) {
            return try JSON.parse(Array(value.utf8), maxBytes: value.utf8.count)
        } catch {
            throw ControlProblem("\(flag.text) is not JSON: \(error)")
        }
    }
}

import JSON
package import Programs

/// The parsed flags of the main command.
///
/// Contains paths of files that have not been read yet.
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
    package var webPushPort: UInt16?
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

    /// Reads the options, whose values have already been checked individually.
    ///
    /// - Throws: All problems at once.
    package init(_ options: CommandOptions) throws(UsageError) {
        var problems: [String] = []
        for (option, text) in options.all {
            do throws(ControlError) {
                try apply(option.name, text)
            } catch {
                problems.append(error.sentence)
            }
        }
        for key in keys where key.keyID == nil || key.teamID == nil {
            problems.append("--public-key \(key.file) must be followed by --key-id and --team-id")
        }
        if acceptsAnyKey, !keys.isEmpty { problems.append("--any-key cannot be combined with --public-key") }
        do throws(ControlError) {
            try takeScript()
        } catch {
            problems.append(error.sentence)
        }
        guard problems.isEmpty else { throw UsageError(problems) }
    }

    private mutating func apply(_ name: String, _ value: String) throws(ControlError) {
        switch name {
        case CommandOption.productionPort.name: productionPort = UInt16(value) ?? 0
        case CommandOption.sandboxPort.name: sandboxPort = UInt16(value) ?? 0
        case CommandOption.controlPort.name: controlPort = UInt16(value) ?? 0
        case CommandOption.webPushPort.name: webPushPort = UInt16(value)
        case CommandOption.host.name: host = value
        case CommandOption.controlHost.name: controlHost = value
        case CommandOption.certificateFile.name: certificateFile = value
        case CommandOption.certificateName.name: certificateNames.append(value)
        case CommandOption.readyFile.name: readyFile = value
        case CommandOption.anyKey.name: acceptsAnyKey = true
        case CommandOption.publicKey.name: keys.append(Key(file: value))
        case CommandOption.topic.name: start.settings.topics = (start.settings.topics ?? []) + [value]
        case CommandOption.token.name: tokens.append(try json(name, value))
        case CommandOption.unknownTokens.name: start.settings.acceptsUnknownTokens = value == "accept"
        case CommandOption.rule.name: rules.append(try json(name, value))
        case CommandOption.latency.name: start.settings.latency = Latency(value) ?? start.settings.latency
        case CommandOption.initialStreams.name: start.settings.initialStreams = UInt32(value) ?? 1
        case CommandOption.streams.name: start.settings.streams = UInt32(value) ?? 1
        case CommandOption.seed.name: start.seed = UInt64(value) ?? 0
        case CommandOption.keep.name: start.kept = Int(value) ?? 0
        case CommandOption.loops.name: loops = Int(value) ?? 0
        case CommandOption.print.name: print = .card
        case CommandOption.printJSON.name: print = .json
        case CommandOption.pairingFile.name: pairingFiles.append(value)
        case CommandOption.keyID.name: try describeKey(name) { $0.keyID = value }
        case CommandOption.teamID.name: try describeKey(name) { $0.teamID = value }
        case CommandOption.keyEnvironment.name:
            try describeKey(name) { $0.environment = PushEnvironment(rawValue: value) }
        default: break
        }
    }

    /// Changes the key that was last given on the command line.
    private mutating func describeKey(_ name: String, _ change: (inout Key) -> Void) throws(ControlError) {
        guard !keys.isEmpty else { throw ControlError("\(name) must follow --public-key") }
        change(&keys[keys.count - 1])
    }

    /// Parses tokens and rules, which need the seed.
    private mutating func takeScript() throws(ControlError) {
        let now = WallClock.system.now
        start.rules = try Rule.list(rules, seed: start.seed, now: now)
        for token in tokens {
            let entry = try DeviceRegistry.Entry(token, now: now)
            _ = start.devices.put(entry.registration, for: entry.token)
        }
    }

    private func json(_ name: String, _ value: String) throws(ControlError) -> JSON.Value {
        do throws(JSON.ParseError) {
            return try JSON.parse(Array(value.utf8), maxBytes: value.utf8.count)
        } catch {
            throw ControlError("\(name) is not JSON: \(error)")
        }
    }
}

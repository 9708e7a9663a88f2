import Programs
import PushSealing

/// `agent-bridge seal`: encrypts text for a pairing's phones.
enum SealCommand {
    /// Seals text from the options or from standard input, and prints the result.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let configuration = try call.configuration(needsState: false)
        do throws(ExitStatus) {
            let type = try SealedType.require(call)
            let pairing = try PairingInput.require(configuration, call.console)
            let now = WallClock.system.now
            let id = "\(now)-" + String(UInt64.random(in: .min ... .max), radix: 16)
            var message = SealedMessage(
                id: id, sentAt: Int(now / 1000),
                title: call.options.text(.title), body: call.options.text(.body))
            if message.title == nil, message.body == nil { message.body = try body(call.console) }
            message.sessionID = call.options.text(.session)
            message.serverID = pairing.serverID
            call.console.print(try sealed(message, type, pairing.key, call.console))
            return .success
        } catch {
            return error
        }
    }

    private static func sealed(
        _ message: SealedMessage, _ type: String, _ key: NotificationKey, _ console: Console
    ) throws(ExitStatus) -> String {
        do throws(SealingFailure) {
            return try Envelope.seal(message, type: type, with: key)
        } catch {
            switch error {
            case .tooLarge: console.note("the text is too long; shorten it")
            case .invalid: console.note("no text given; use --title or --body, or standard input")
            case .unavailable:
                console.note("OpenSSL cannot seal the text")
                throw .software
            }
            throw .usage
        }
    }

    /// The text from standard input, or from a prompt if standard input is a terminal.
    private static func body(_ console: Console) throws(ExitStatus) -> String {
        guard TerminalPrompt.isPossible else { return try StandardInput.text(console) }
        guard case .line(let bytes) = TerminalPrompt.ask("Text: ", isShown: true) else { throw .interrupted }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension BridgeCommand {
    static let seal = BridgeCommand(
        "seal", "Encrypt a notification for the phones of a pairing.",
        about: """
            Encrypts a notification for the phones of a pairing, and prints the value of the request's sealed
            field. The pairing is the bridge's own, unless --pairing-file or BRIDGE_PAIRING gives another one.
            Without --title and --body, it reads the text from standard input. The request must have the same
            type: --event-type is its eventType, --kind its notification's kind.
            docs/reference/encryption.md describes the format.
            """,
        options: [.title, .body, .eventType, .kind, .session], settings: PairingInput.settings
    ) { call throws(ConfigurationError) in
        try SealCommand.run(call)
    }
}

extension CommandOption {
    static let title = CommandOption("--title", .text("TEXT"), "The notification's title.")
    static let body = CommandOption("--body", .text("TEXT"), "The notification's text.")
    static let session = CommandOption("--session", .text("ID"), "The session ID.")
    static let eventType = CommandOption(
        "--event-type", .word(EventType.allCases.map(\.rawValue)), "The type of the event.")
    static let kind = CommandOption(
        "--kind",
        .text("KIND", "1 to 32 characters of a-z 0-9 _ -") { text in
            text.utf8.count <= 32
                && text.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "_-".utf8.contains($0)
                }
        }, "The notification's kind: 1 to 32 characters of a-z 0-9 _ -.")
}

/// The type that text is sealed with: an event type, or a notification's kind.
enum SealedType {
    static func require(_ call: CommandCall) throws(ExitStatus) -> String {
        switch (call.options.text(.eventType), call.options.text(.kind)) {
        case (let type?, nil): return type
        case (nil, let kind?): return kind
        case (nil, nil): return Envelope.defaultType
        case (_?, _?):
            call.console.note("an event has no kind: use --event-type or --kind, not both")
            throw .usage
        }
    }
}

/// The small texts that commands read from standard input.
enum StandardInput {
    /// All of standard input, without surrounding white space.
    static func text(_ console: Console) throws(ExitStatus) -> String {
        do throws(FileError) {
            let bytes = try SmallFile.readGiven(
                SmallFile.standardInput, bytesMax: Bounds.settingFileBytesMax)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw FileError("it isn't UTF-8 text")
            }
            let start = text.drop(while: \.isWhitespace)
            return String(start.reversed().drop(while: \.isWhitespace).reversed())
        } catch {
            console.note("cannot read standard input: \(error)")
            throw .usage
        }
    }
}

/// The pairing for which a command seals or opens texts.
enum PairingInput {
    /// The settings that specify the pairing.
    static let settings = [
        Settings.pairing.row, Settings.relayURL.row, Settings.insecureRelay.row, Settings.relaySecretFile.row,
        Settings.stateDirectory.row, Settings.config.row,
    ]

    /// Returns the given pairing, or the bridge's own; on failure, prints the reason and throws an exit status.
    static func require(_ configuration: Configuration, _ console: Console) throws(ExitStatus)
        -> SealingPairing
    {
        if let pairing = configuration.pairing { return pairing }
        let path = SecretFile.path(configuration)
        guard SmallFile.exists(path) else {
            console.note(
                "no phone is paired: run `agent-bridge pair`, or name a pairing with --pairing-file PATH (- is standard "
                    + "input) or BRIDGE_PAIRING")
            throw .usage
        }
        do throws(ConfigurationError) {
            let secret = try SecretFile.read(configuration)
            guard let key = secret.key else {
                throw ConfigurationError(["the secret in \(path) has no key; make one with `pair --rotate`"])
            }
            let serverID = configuration.relay.map { RelayClient.serverID($0, secret.relaySecret) }
            return SealingPairing(serverID: serverID, key: key)
        } catch {
            for problem in error.problems { console.note(problem) }
            throw .configuration
        }
    }
}

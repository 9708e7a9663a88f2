import PushSealing
import Storage

/// `relay seal`: encrypts a text for a pairing's phones.
enum SealCommand {
    /// Seals the text of the options, or of standard input, and prints the result.
    static func run(_ sources: SettingSources, _ options: CommandOptions) -> ExitStatus {
        do throws(ExitStatus) {
            let type = try SealedType.require(options)
            let pairing = try PairingInput.require(sources, user: .seal)
            var message = SealedMessage(
                id: id(at: WallClock.system.now), sentAt: Int(WallClock.system.now / 1000),
                title: options.text(.title), body: options.text(.body))
            if message.title == nil, message.body == nil { message.body = try body() }
            message.sessionID = options.text(.session)
            message.serverID = pairing.pairing.serverID
            StandardOutput.write(try sealed(message, type, pairing.key) + "\n")
            return .success
        } catch {
            return error
        }
    }

    private static func id(at now: EpochMilliseconds) -> String {
        var generator = IDGenerator()
        return UUIDv7(at: now, using: &generator).description
    }

    private static func sealed(
        _ message: SealedMessage, _ type: String, _ key: NotificationKey
    ) throws(ExitStatus) -> String {
        do throws(SealingFailure) {
            return try Envelope.seal(message, type: type, with: key)
        } catch {
            switch error {
            case .tooLarge: StandardError.message("the text is too long; shorten it")
            case .invalid:
                StandardError.message("no text was given: use --title or --body, or standard input")
            case .unavailable:
                StandardError.message("OpenSSL cannot seal the text")
                throw .software
            }
            throw .usage
        }
    }

    /// The text from standard input, without its line break at the end.
    private static func body() throws(ExitStatus) -> String {
        if TerminalPrompt.isPossible {
            guard case .line(let bytes) = TerminalPrompt.ask("Text: ", isShown: true) else {
                throw .interrupted
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        return try StandardInput.text()
    }
}

/// `relay open`: decrypts what `relay seal` or another sender sealed.
enum OpenCommand {
    /// Opens the given text, or that of standard input, and prints its content.
    static func run(_ sources: SettingSources, _ options: CommandOptions) -> ExitStatus {
        do throws(ExitStatus) {
            let type = try SealedType.require(options)
            let pairing = try PairingInput.require(sources, user: .open)
            var sealed = options.text(.sealed)
            if sealed == nil { sealed = try StandardInput.text() }
            return show(sealed ?? "", type, pairing.key, isJSON: options.has(.json))
        } catch {
            return error
        }
    }

    private static func show(_ sealed: String, _ type: String, _ key: NotificationKey, isJSON: Bool)
        -> ExitStatus
    {
        do throws(Refusal) {
            let message = try Envelope.open(sealed, type: type, with: [key])
            let opened = OpenedText(message)
            StandardOutput.write(isJSON ? opened.json + "\n" : opened.text)
            return .success
        } catch {
            StandardError.message("the text can't be opened: \(reason(error, type))")
            return .data
        }
    }

    private static func reason(_ refusal: Refusal, _ type: String) -> String {
        switch refusal {
        case .malformed: "it isn't a sealed text"
        case .unsupportedVersion: "it was sealed in a format that this program doesn't know"
        case .unknownKey: "it was sealed for another pairing"
        case .notAuthentic:
            "it was changed, or its type isn't \(type); name the type with --event-type or --kind"
        case .badPadding, .badContent, .stale, .repeated:
            "its sender sealed something else than a notification"
        }
    }
}

/// The type that a text is sealed with: an event's, or a notification's kind.
private enum SealedType {
    static func require(_ options: CommandOptions) throws(ExitStatus) -> String {
        switch (options.text(.eventType), options.text(.kind)) {
        case (let type?, nil): return type
        case (nil, let kind?): return kind
        case (nil, nil): return Envelope.defaultType
        case (_?, _?):
            StandardError.message("an event has no kind: use --event-type or --kind, not both")
            throw .usage
        }
    }
}

/// The small texts that commands read from standard input.
private enum StandardInput {
    /// All of it, without the white space around it.
    static func text() throws(ExitStatus) -> String {
        do throws(FileFault) {
            let bytes = try SettingFile.read(SettingFile.standardInput).get()
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw FileFault(reason: "it isn't UTF-8 text")
            }
            let start = text.drop(while: \.isWhitespace)
            return String(start.reversed().drop(while: \.isWhitespace).reversed())
        } catch {
            StandardError.message("cannot read standard input: \(error.reason)")
            throw .usage
        }
    }
}

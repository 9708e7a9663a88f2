import Programs
import PushSealing

/// `agent-bridge open`: decrypts text from `seal` or another sender.
enum OpenCommand {
    /// Opens the given text, or standard input, and prints its content.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let configuration = try call.configuration(needsState: false)
        do throws(ExitStatus) {
            let type = try SealedType.require(call)
            let pairing = try PairingInput.require(configuration, call.console)
            var sealed = call.options.text(.sealed)
            if sealed == nil { sealed = try StandardInput.text(call.console) }
            return show(sealed ?? "", type, pairing.key, call)
        } catch {
            return error
        }
    }

    private static func show(
        _ sealed: String, _ type: String, _ key: NotificationKey, _ call: CommandCall
    ) -> ExitStatus {
        do throws(Refusal) {
            let opened = OpenedText(try Envelope.open(sealed, type: type, with: [key]))
            StandardOutput.write(call.options.has(.json) ? opened.json + "\n" : opened.text)
            return .success
        } catch {
            call.console.note("the text can't be opened: \(reason(error, type))")
            return .data
        }
    }

    private static func reason(_ refusal: Refusal, _ type: String) -> String {
        switch refusal {
        case .malformed: "it isn't a sealed text"
        case .unsupportedVersion: "it was sealed in a format that this program doesn't know"
        case .unknownKey: "it was sealed for another pairing"
        case .notAuthentic:
            "it was changed, or its type isn't \(type); specify the type with --event-type or --kind"
        case .badPadding, .badContent, .stale, .repeated:
            "it doesn't contain a notification"
        }
    }
}

extension BridgeCommand {
    static let open = BridgeCommand(
        "open", "Decrypt a sealed notification.",
        about: """
            Decrypts a sealed notification, given as an argument or on standard input, and prints its content.
            The pairing is the bridge's own, unless --pairing-file or BRIDGE_PAIRING gives another one. The
            type must match the one it was sealed for. Exit statuses: 0 opened, 64 usage error, 65 it can't
            be opened.
            """,
        arguments: [.sealed], options: [.eventType, .kind, .json], settings: PairingInput.settings
    ) { call throws(ConfigurationError) in
        try OpenCommand.run(call)
    }
}

extension CommandOption {
    static let sealed = CommandOption("SEALED", .text("SEALED"), "The sealed text. Default: standard input.")
    static let json = CommandOption("--json", "Print only JSON.")
}

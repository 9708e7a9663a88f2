import PushSealing

extension Settings {
    /// Passing the pairing itself as a flag is refused: it would show in process lists and shell histories.
    static let pairing = Setting(
        "RELAY_PAIRING", .commands, optional: .pairing, unset: "asked for on a terminal", secret: true,
        users: [.seal, .open], flag: "--pairing",
        flagRefusal:
            "--pairing would expose the pairing secret in the process list and in the shell's history: "
            + "leave it out to be asked for it, or use --pairing-file PATH (- is standard input) or RELAY_PAIRING",
        "The pairing for relay seal and relay open, as printed by relay pair. RELAY_PAIRING_FILE=- reads it from "
            + "standard input.")
}

extension SettingType where Value == SealingPairing {
    /// A pairing link, or the JSON in it, with a key.
    static let pairing = SettingType(
        accepts: "a pairing link or its JSON, with a key",
        parse: { text in
            do throws(PairingFailure) {
                return .success(try SealingPairing(parsing: text))
            } catch {
                return .failure(.because(error.description))
            }
        },
        render: { _ in "" })
}

/// A pairing for which texts can be sealed.
struct SealingPairing: Sendable {
    let pairing: Pairing
    let key: NotificationKey

    /// Parses a link or JSON; one without a key has `key` missing.
    init(parsing text: String) throws(PairingFailure) {
        pairing = try Pairing(parsing: text)
        guard let secret = pairing.key else { throw .missing("key") }
        key = secret.notificationKey
    }
}

/// Gets a command's pairing from a setting or from a terminal.
enum PairingInput {
    /// The given pairing, otherwise the one typed.
    ///
    /// Call it on the main thread before starting another one. Throws the exit status after printing the
    /// reason.
    static func require(_ sources: SettingSources, user: Command) throws(ExitStatus) -> SealingPairing {
        var reader = SettingReader(sources)
        let given = reader.read(Settings.pairing)
        guard reader.problems.isEmpty else {
            let problems = ConfigurationProblems(reader.problems, user: user)
            StandardError.messages(problems.problems, summary: problems.description)
            throw .configuration
        }
        if let given { return given }
        switch TerminalPrompt.ask("Pairing link or JSON: ", isShown: false) {
        case .line(let bytes):
            do throws(PairingFailure) {
                return try SealingPairing(parsing: String(decoding: bytes, as: UTF8.self))
            } catch {
                StandardError.message("the pairing can't be used: \(error)")
                throw .usage
            }
        case .noTerminal:
            StandardError.message(
                "no pairing was given and there is no terminal to ask for it: use --pairing-file PATH (- is standard "
                    + "input), or set RELAY_PAIRING")
            throw .usage
        case .interrupted:
            throw .interrupted
        }
    }
}

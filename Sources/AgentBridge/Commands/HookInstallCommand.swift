import Glibc
import JSON
import Programs

/// `agent-bridge hook AGENT install` and `uninstall`: changes an agent's settings, after showing the change.
struct HookInstallCommand {
    private enum Word: String {
        case install, uninstall
    }

    private let word: Word
    private let settings: HookSettings
    private let environment: [String: String]
    private let onlyPrints: Bool
    private let answers: Bool

    /// Whether the words after `hook` ask to install or uninstall.
    static func isMeant(_ words: ArraySlice<String>) -> Bool { words.contains { Word(rawValue: $0) != nil } }

    /// Reads the command line; `nil` if an agent is calling its hook.
    init?(_ call: CommandCall) throws(ConfigurationError) {
        let words = [call.options.text(.agent), call.options.text(.hookInput)].compactMap(\.self)
        // The agent's name may be missing.
        guard let word = words.reversed().compactMap(Word.init).first else {
            return nil
        }
        guard let agent = words.first.flatMap(HookAgent.init(name:)),
            let settings = HookSettings.of(agent)
        else {
            throw ConfigurationError(["expected claude, codex or gemini before \(word.rawValue)"])
        }
        self.word = word
        self.settings = settings
        environment = call.environment
        onlyPrints = call.options.has(.print)
        answers = call.options.has(.answer)
    }

    /// Shows the change and applies it.
    func run(_ console: Console) throws(ConfigurationError) -> ExitStatus {
        guard let given = settings.path(environment) else { throw ConfigurationError(["HOME isn't set"]) }
        if word == .install, answers, !settings.canAnswer {
            console.note(
                "no hook of \(settings.agent.name) can approve, so it rings only: answer in its terminal")
        }
        // A symbolic link stays a link.
        let path = SmallFile.target(of: given)
        let old = try text(path)
        let new = try changed(old, path)
        let difference = SettingsText.difference(from: old ?? "", to: new)
        guard !difference.isEmpty else {
            console.print("\(path) is already up to date")
            return .success
        }
        console.print(([path] + difference.map { "  " + Printable.line($0) }).joined(separator: "\n"))
        guard !onlyPrints else { return .success }
        guard isConfirmed() else {
            console.note("nothing was changed")
            return .failed
        }
        do throws(FileError) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            try SmallFile.replace(path, with: Array(new.utf8), mode: Self.mode(of: path))
        } catch {
            console.note("\(path) can't be written: \(error)")
            return .output
        }
        console.print("written")
        if word == .install { for advice in advice() { console.print(advice) } }
        return .success
    }

    /// The file's contents; `nil` if it doesn't exist.
    private func text(_ path: String) throws(ConfigurationError) -> String? {
        do throws(FileError) {
            let bytes = try SmallFile.read(path, bytesMax: Bounds.agentSettingsBytesMax)
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            if error.isMissing { return nil }
            throw ConfigurationError(["\(path) can't be read: \(error)"])
        }
    }

    private func changed(_ old: String?, _ path: String) throws(ConfigurationError) -> String {
        let isEmpty = old?.allSatisfy(\.isWhitespace) ?? true
        var value: JSON.Value = [:]
        if let old, !isEmpty {
            do throws(JSON.ParseError) {
                value = try JSON.parse(Array(old.utf8), maxBytes: Bounds.agentSettingsBytesMax)
            } catch {
                throw refusal(path, "it isn't plain JSON: \(error)")
            }
        }
        do throws(HookSettingsError) {
            let new =
                word == .install
                ? try settings.installed(in: value, program: program, answers: answers)
                : try settings.uninstalled(from: value)
            // Without a change, the text keeps its formatting.
            return new == value
                ? old ?? "" : SettingsText.text(new, indent: SettingsText.indent(of: old ?? ""))
        } catch {
            throw refusal(path, error.sentence)
        }
    }

    private func refusal(_ path: String, _ reason: String) -> ConfigurationError {
        var sentences = ["\(path) can't be changed: \(reason)"]
        if word == .install, let whole = try? settings.installed(in: [:], program: program, answers: answers)
        {
            sentences.append("add this by hand: \(String(decoding: whole.encoded(), as: UTF8.self))")
        }
        return ConfigurationError(sentences)
    }

    /// Asks for confirmation on a terminal.
    ///
    /// Without a terminal, the command itself counts as confirmation.
    private func isConfirmed() -> Bool {
        guard isatty(STDIN_FILENO) == 1 else { return true }
        try? SmallFile.write(Array("Write this? [y/N] ".utf8), to: STDERR_FILENO)
        return ["y", "yes"].contains(readLine()?.lowercased())
    }

    // MARK: Messages

    /// The remaining steps for the user.
    private func advice() -> [String] {
        var sentences: [String] = []
        switch settings.agent {
        case .codex:
            sentences.append(
                "Codex asks about new hooks: start `codex`, and trust them. Until then it skips them.")
            let configuration = SmallFile.parent(of: settings.path(environment) ?? "") + "/config.toml"
            let lines = (try? text(configuration))?.split(separator: "\n") ?? []
            if lines.contains(where: { line in
                line.hasPrefix("notify") && StateDirectory.names.contains { line.contains($0) }
            }) {
                sentences.append("You can remove `notify` from \(configuration): the Stop hook replaces it.")
            }
        case .claudeCode, .gemini, .generic: sentences.append("Start \(settings.agent.name) again.")
        }
        if answers, settings.canAnswer {
            sentences.append("Anyone who has the pairing can now run commands on this machine.")
        }
        let file = SettingSources.standardFile(environment) ?? "the configuration file"
        var reader = SettingReader(.bridge(flags: [:], environment, prefersFile: true))
        switch reader.givenName(Settings.relayURL.row) {
        case nil:
            sentences.append("Add BRIDGE_RELAY_URL=https://… to \(file), and run `agent-bridge pair`.")
        case Settings.relayURL.row.name:
            sentences.append(
                "BRIDGE_RELAY_URL is set only in this shell; add it to \(file), which all agents' hooks read."
            )
        default: break
        }
        return sentences
    }

    // MARK: This machine

    /// The bridge as a shell word: its name if that resolves to this program, otherwise its path.
    private var program: String {
        let name = "agent-bridge"
        let own = SmallFile.target(of: "/proc/self/exe")
        for directory in (environment["PATH"] ?? "").split(separator: ":") {
            let candidate = "\(directory)/\(name)"
            if access(candidate, X_OK) == 0 {
                return SmallFile.target(of: candidate) == own ? name : quoted(own)
            }
        }
        return quoted(own)
    }

    private func quoted(_ path: String) -> String {
        let isPlain = path.allSatisfy { ($0.isASCII && ($0.isLetter || $0.isNumber)) || "/._-+".contains($0) }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }

    private static func mode(of path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o600
    }
}

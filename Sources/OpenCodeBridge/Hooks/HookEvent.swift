import JSON

/// The agents whose hooks are understood.
enum HookAgent: String, CaseIterable, Sendable {
    case claudeCode = "claude-code"
    case codex, gemini, generic

    /// Its name for people.
    var name: String {
        switch self {
        case .claudeCode: "Claude Code"
        case .codex: "Codex"
        case .gemini: "Gemini CLI"
        case .generic: "Agent"
        }
    }

    /// What it expects on standard output: an object without decisions, or nothing.
    ///
    /// Gemini CLI and Codex parse what their hooks print; Codex reads nothing from `notify`, whose input is an argument.
    ///
    /// - Parameter hasArgument: Whether the input is an argument.
    func answer(hasArgument: Bool) -> String? {
        switch self {
        case .gemini: "{}"
        case .codex: hasArgument ? nil : "{}"
        case .claudeCode, .generic: nil
        }
    }
}

/// What a hook's input means: a pure function of it.
enum HookVerdict: Sendable, Equatable {
    case ring(HookEvent)
    /// It doesn't ring, for this reason.
    case silent(String)

    /// Reads what an agent's hook was given; `nil` input means none.
    static func read(_ input: JSON.Value?, of agent: HookAgent, showsCommands: Bool) -> HookVerdict {
        switch agent {
        case .claudeCode: ClaudeCodeHook.read(input ?? [:], showsCommands)
        case .codex: CodexHook.read(input ?? [:], showsCommands)
        case .gemini: GeminiHook.read(input ?? [:])
        case .generic: GenericHook.read(input)
        }
    }
}

/// Something that happened in another agent.
struct HookEvent: Sendable, Equatable {
    /// What tells it apart from others of its type and session.
    enum Identity: Sendable, Equatable {
        /// Each call is something else.
        case call
        /// The agent's identifier: calls with the same one ring once.
        case mark(String)
        /// No identifier: calls with the same text ring once within `Bounds.hookWindow`.
        case moment(String)

        /// Something that waits for a person.
        ///
        /// Several hooks tell about one prompt: Claude Code's `Notification` comes six seconds after its `PreToolUse` or
        /// `PermissionRequest`, without their identifier.
        static let prompt = Identity.moment("prompt")
    }

    let type: EventType
    /// The agent's session; hooks without one share a session.
    let session: String
    var identity = Identity.call
    /// The directory in which the agent works, or another title.
    var title: String?
    var body: String?

    /// The session at the relay: the agent's, or its hash if the relay would refuse it.
    private func session(_ agent: HookAgent) -> SessionID? {
        SessionID("\(agent.rawValue):\(session)")
            ?? SessionID("\(agent.rawValue):\(Fingerprint.hex(session, count: 40))")
    }

    /// What the calls that ring once within `Bounds.hookWindow` have in common; `nil` if every call rings.
    func moment(_ agent: HookAgent) -> String? {
        guard case .moment(let text) = identity else { return nil }
        return "\(agent.rawValue) \(type.rawValue) \(session)\n\(text)"
    }

    /// The ring for it.
    ///
    /// - Parameter now: Tells apart what has no identifier.
    func ring(_ agent: HookAgent, now: EpochMilliseconds) -> Ring? {
        guard let id = session(agent) else { return nil }
        var mark = "at \(now)"
        if case .mark(let given) = identity { mark = given }
        let key = "hook \(type.rawValue) \(id) \(mark)"
        let text =
            body
            ?? {
                switch type {
                case .complete: "\(agent.name) is done."
                case .permission: "\(agent.name) needs your decision."
                case .error: "\(agent.name) reported an error."
                }
            }()
        return Ring(
            type: type, session: id, key: key,
            title: NotificationText.title(type, session: title ?? agent.name),
            body: NotificationText.body(type, text: text))
    }
}

extension JSON.Value {
    /// A member that is a text with something in it.
    func words(_ name: String) -> String? {
        guard let text = self[name]?.text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// The last part of the directory in which an agent works, and the agent.
    func place(_ agent: HookAgent) -> String {
        guard let folder = words("cwd")?.split(separator: "/").last else { return agent.name }
        return "\(folder) (\(agent.name))"
    }

    /// A tool that an agent wants to use: `Bash`, or with its command `Bash: git push`.
    func tool(_ showsCommands: Bool) -> String? {
        guard let name = words("tool_name") else { return nil }
        guard showsCommands, let input = self["tool_input"] else { return "Wants to use \(name)." }
        let detail =
            input.words("command") ?? input.words("file_path") ?? input.words("url")
            ?? input.words("description")
        return detail.map { "\(name): \($0)" } ?? "Wants to use \(name)."
    }
}

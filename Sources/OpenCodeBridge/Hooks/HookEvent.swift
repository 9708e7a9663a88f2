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

    /// What it expects on standard output.
    var answer: String? { self == .gemini ? "{}" : nil }
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
    let type: EventType
    /// The agent's session; hooks without one share a session.
    let session: String
    /// The agent's identifier of what happened; without one, each call is something else.
    var mark: String?
    /// The directory in which the agent works, or another title.
    var title: String?
    var body: String?

    /// The ring for it.
    ///
    /// - Parameter now: Tells apart what has no identifier.
    func ring(_ agent: HookAgent, now: EpochMilliseconds) -> Ring? {
        guard let id = SessionID("\(agent.rawValue):\(session)") else { return nil }
        let key = "hook \(type.rawValue) \(id) \(mark ?? "at \(now)")"
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

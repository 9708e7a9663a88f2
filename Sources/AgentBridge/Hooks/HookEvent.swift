import JSON

/// The supported agents.
enum HookAgent: String, CaseIterable, Sendable {
    case claudeCode = "claude-code"
    case codex, gemini, generic

    /// Reads an agent's name; `claude` is short for `claude-code`.
    init?(name: String) {
        self.init(rawValue: name == "claude" ? HookAgent.claudeCode.rawValue : name)
    }

    /// The agent's name for people.
    var name: String {
        switch self {
        case .claudeCode: "Claude Code"
        case .codex: "Codex"
        case .gemini: "Gemini CLI"
        case .generic: "Agent"
        }
    }

    /// The output that the agent expects: an object without decisions, or nothing.
    ///
    /// Gemini CLI and Codex parse their hooks' output; Codex ignores the output of `notify`, whose input is an
    /// argument.
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

/// Whether someone is watching an agent's run.
enum HookRun: Sendable, Equatable {
    /// A person is using the agent.
    case attended
    /// A program started the run, for example with `claude -p`; its end rings only with `--headless`.
    case headless(rings: Bool)
}

/// The meaning of a hook's input: a pure function of the input.
enum HookVerdict: Sendable, Equatable {
    case ring(HookEvent)
    /// The event doesn't ring, for this reason.
    case silent(String)

    /// Interprets the input of an agent's hook; `nil` means no input.
    static func read(
        _ input: JSON.Value?, of agent: HookAgent, showsCommands: Bool, run: HookRun = .attended
    ) -> HookVerdict {
        let verdict: HookVerdict =
            switch agent {
            case .claudeCode: ClaudeCodeHook.read(input ?? [:], showsCommands)
            case .codex: CodexHook.read(input ?? [:], showsCommands)
            case .gemini: GeminiHook.read(input ?? [:], showsCommands)
            case .generic: GenericHook.read(input)
            }
        guard case .ring(let event) = verdict, case .headless(let rings) = run else { return verdict }
        guard event.type != .permission else { return .silent("headless runs don't ask for permission") }
        return rings ? verdict : .silent("headless runs ring only with --headless")
    }
}

/// Something that happened in an agent other than OpenCode.
struct HookEvent: Sendable, Equatable {
    /// Distinguishes the event from others of its type and session.
    enum Identity: Sendable, Equatable {
        /// Every call is a separate event.
        case call
        /// The agent's identifier: calls with the same identifier ring only once.
        case mark(String)
    }

    let type: EventType
    /// The agent's session; hooks without a session share one.
    let session: String
    var identity = Identity.call
    /// The directory in which the agent works, or another title.
    var title: String?
    var body: String?
    /// The announcement by which later hooks of the session recognize the same event.
    var announces: String?
    /// The announcement by which an earlier hook of the session may already have reported the event.
    var echoes: String?

    /// The session ID at the relay: the agent's own, or its hash if the relay would refuse that.
    private func session(_ agent: HookAgent) -> SessionID? {
        SessionID("\(agent.rawValue):\(session)")
            ?? SessionID("\(agent.rawValue):\(Fingerprint.hex(session, count: 40))")
    }

    /// The ring for the event.
    ///
    /// - Parameter call: Distinguishes calls without an identifier.
    func ring(_ agent: HookAgent, call: String) -> Ring? {
        guard let id = session(agent) else { return nil }
        var mark = "call \(call)"
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

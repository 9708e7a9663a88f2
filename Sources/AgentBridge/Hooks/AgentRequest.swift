import JSON
import PushSealing

/// An agent's request that a phone can answer, read from a hook's input.
struct AgentRequest: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// A use of a tool, with the rules that the agent offers to add for `always`.
        case permission(rules: [PermissionRule])
        /// A plan that the agent carries out once it is approved.
        case plan
        case questions([SealedMessage.Question])
    }

    let agent: HookAgent
    let kind: Kind
    let session: String
    let tool: String
    let input: JSON.Value
    /// The full text of the request that a person decides on.
    let text: String
    /// The SHA-256 of what the agent asks.
    let digest: String

    /// The replies that a person can give if the whole request is shown.
    var offer: ReplyOffer {
        switch kind {
        case .permission(let rules):
            ReplyOffer(actions: rules.isEmpty ? [.once, .reject] : [.once, .always, .reject])
        case .plan: ReplyOffer(actions: [.once, .reject])
        case .questions(let questions): ReplyOffer(actions: [.reject], questions: questions)
        }
    }

    /// Whether the request can't be answered in the agent's terminal while its hook waits.
    let blocksTerminal: Bool

    /// Reads a hook's input; `nil` if it isn't a request that a phone can answer.
    ///
    /// - Parameter host: The machine's name.
    init?(_ input: JSON.Value, of agent: HookAgent, host: String) {
        guard let session = input["session_id"]?.string, let tool = input["tool_name"]?.string, !tool.isEmpty,
            let given = input["tool_input"], given.object != nil
        else { return nil }
        switch (agent, input["hook_event_name"]?.string, tool) {
        case (.claudeCode, "PermissionRequest", "AskUserQuestion"),
            (.codex, "PreToolUse", "request_user_input"):
            guard let questions = Self.questions(given) else { return nil }
            kind = .questions(questions)
        case (.claudeCode, "PermissionRequest", "ExitPlanMode"):
            // A plan that can't be shown can't be approved.
            guard given["plan"]?.string?.contains(where: { !$0.isWhitespace }) == true else { return nil }
            kind = .plan
        case (.claudeCode, "PermissionRequest", _):
            kind = .permission(rules: PermissionRule.offered(in: input))
        case (.codex, "PermissionRequest", _): kind = .permission(rules: [])
        default: return nil
        }
        self.agent = agent
        self.session = session
        self.tool = tool
        self.input = given
        // For a background sub-agent, Claude Code asks only after the hook has ended.
        blocksTerminal = agent == .codex || input["agent_id"] != nil
        text = Self.text(kind, tool, given, input, host)
        let asked = ["agent_id", "cwd", "session_id", "tool_name", "tool_input", "permission_suggestions"]
        digest = Fingerprint.hex(input, members: asked, count: 64)
    }

    private static func text(
        _ kind: Kind, _ tool: String, _ given: JSON.Value, _ input: JSON.Value, _ host: String
    ) -> String {
        // The bridge's own lines come first, because lines from the agent could imitate them.
        var lines: [String] = []
        var asked = RequestText.lines(of: given, without: RequestText.description)
        let directory = RequestText.line(input["cwd"]?.string ?? "unknown")
        let place = "In \(directory) on \(RequestText.line(host))"
        switch kind {
        case .questions(let questions):
            lines = [place]
            asked = questions.map { RequestText.visible($0.text) }
        case .plan:
            lines = [
                "A plan", place,
                "Allowing it starts the work, and lets the agent edit files without asking in this session.",
            ]
        case .permission(let rules):
            lines = [RequestText.line(tool), place]
            if !rules.isEmpty {
                lines.append("“Always” adds: " + rules.map(\.words).joined(separator: "; "))
            }
        }
        if let type = input["agent_type"]?.string { lines.append("Sub-agent: \(RequestText.line(type))") }
        lines += [""] + asked
        if let description = given[RequestText.description] {
            let words = description.string ?? String(decoding: description.encoded(), as: UTF8.self)
            lines += ["", "The agent says: “\(RequestText.line(words))”"]
        }
        return lines.joined(separator: "\n")
    }

    /// The questions; `nil` if the phone couldn't show them all, or if the agent couldn't tell their answers apart.
    private static func questions(_ given: JSON.Value) -> [SealedMessage.Question]? {
        guard let questions = SealedMessage.Question.all(in: given["questions"], multiple: "multiSelect"),
            Set(questions.map { Array($0.text.utf8) }).count == questions.count
        else { return nil }
        return questions
    }
}

/// A rule that Claude Code offers to add, so that it doesn't ask again.
struct PermissionRule: Sendable, Equatable {
    /// The suggestion as the agent wrote it.
    let suggestion: JSON.Value
    /// The rule in words for people: `Bash(git push) in this project, for you`.
    let words: String

    /// The suggestions whose only effect is to allow specific uses of tools.
    ///
    /// Other suggestions would change the whole session's mode or directories, as could members unknown to this
    /// version.
    static func offered(in input: JSON.Value) -> [PermissionRule] {
        (input["permission_suggestions"]?.array ?? []).compactMap(PermissionRule.init)
    }

    private init?(_ suggestion: JSON.Value) {
        let known: Set<String> = ["type", "rules", "behavior", "destination"]
        guard let names = suggestion.object?.members.map(\.name), known.isSuperset(of: names),
            suggestion["type"]?.string == "addRules", suggestion["behavior"]?.string == "allow",
            let place = suggestion["destination"]?.string.flatMap({ Self.places[$0] }),
            let rules = suggestion["rules"]?.array, !rules.isEmpty
        else { return nil }
        let words = rules.compactMap(Self.words)
        guard words.count == rules.count else { return nil }
        self.suggestion = suggestion
        self.words = words.joined(separator: ", ") + " " + place
    }

    private static let places = [
        "session": "for this session", "localSettings": "in this project, for you",
        "projectSettings": "in this project, for everyone", "userSettings": "in all your projects",
    ]

    private static func words(_ rule: JSON.Value) -> String? {
        guard let members = rule.object?.members, let tool = rule["toolName"]?.string, !tool.isEmpty else {
            return nil
        }
        let content = rule["ruleContent"]
        guard members.count == (content == nil ? 1 : 2) else { return nil }
        guard let content else { return "every use of \(RequestText.line(tool))" }
        // Without content, the agent could read the rule as allowing every use.
        guard let text = content.string, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return "\(RequestText.line(tool))(\(RequestText.line(text)))"
    }
}

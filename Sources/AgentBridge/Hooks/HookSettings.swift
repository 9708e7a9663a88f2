import JSON

/// Where an agent's hooks are configured, and which of them ring, as of Claude Code 2.1.197, Codex 0.169.0 and Gemini
/// CLI 0.61.0.
///
/// All three use the same structure: `{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command":
/// …}]}]}}`.
struct HookSettings: Sendable {
    /// A hook that the bridge installs.
    struct Hook: Sendable {
        let event: String
        /// The tools or types for which it is called; `nil` for all.
        var matcher: String?
        var part = Part.rings
    }

    /// What a hook does if phones can answer.
    enum Part: Sendable {
        case rings
        /// It waits for the answer.
        case answers
        /// It is called only so that it notices that a request was answered at the desk.
        case notices
    }

    let agent: HookAgent
    /// The agent's name in commands.
    let name: String
    /// The environment variable that sets the agent's directory.
    private let variable: String?
    /// The agent's directory, relative to the user's home.
    private let directory: String
    private let file: String
    let hooks: [Hook]

    static let claudeCode = HookSettings(
        agent: .claudeCode, name: "claude-code", variable: "CLAUDE_CONFIG_DIR", directory: ".claude",
        file: "settings.json",
        hooks: [
            Hook(event: "PermissionRequest", part: .answers), Hook(event: "Notification"),
            Hook(event: "Stop"),
            Hook(event: "StopFailure"), Hook(event: "PostToolUse", part: .notices),
        ])
    static let codex = HookSettings(
        agent: .codex, name: "codex", variable: "CODEX_HOME", directory: ".codex", file: "hooks.json",
        hooks: [
            Hook(event: "PermissionRequest", part: .answers),
            Hook(event: "PreToolUse", matcher: "request_user_input", part: .answers),
            Hook(event: "Stop"),
        ])
    static let gemini = HookSettings(
        agent: .gemini, name: "gemini", variable: nil, directory: ".gemini", file: "settings.json",
        hooks: [
            Hook(event: "Notification"),
            Hook(event: "BeforeTool", matcher: "ask_user"), Hook(event: "AfterAgent"),
        ])

    /// The settings of an agent; `nil` for other programs.
    static func of(_ agent: HookAgent) -> HookSettings? {
        [claudeCode, codex, gemini].first { $0.agent == agent }
    }

    /// The file's path as shown in messages.
    var place: String { "~/\(directory)/\(file)" }

    /// The file's path; `nil` without a home directory.
    func path(_ environment: [String: String]) -> String? {
        if let given = variable.flatMap({ environment[$0] }), given.hasPrefix("/") {
            return given + "/" + file
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return "\(home)/\(directory)/\(file)"
    }

    // MARK: Changes

    /// Whether the agent's hooks can return a person's answer.
    var canAnswer: Bool { hooks.contains { $0.part == .answers } }

    /// The settings with the bridge's hook added to each event that lacks it; everything else stays.
    ///
    /// - Parameters:
    ///   - program: The bridge as a shell word.
    ///   - answers: Whether phones can answer requests; hooks for the other case are replaced.
    func installed(
        in settings: JSON.Value, program: String, answers: Bool = false
    ) throws(HookSettingsError) -> JSON.Value {
        try changed(settings) { (events) throws(HookSettingsError) in
            for hook in hooks {
                let waits = answers && hook.part == .answers
                var groups = try Self.groups(events[hook.event] ?? [], of: hook.event)
                let ours = groups.flatMap(Self.commands).filter(Self.isOurs)
                if hook.part == .notices, !answers {
                    guard !ours.isEmpty else { continue }
                    groups = groups.compactMap(Self.withoutOurs)
                    events[hook.event] = groups.isEmpty ? nil : .array(groups)
                    continue
                }
                guard ours.isEmpty || !ours.allSatisfy({ Self.answers($0) == waits }) else { continue }
                groups = groups.compactMap(Self.withoutOurs)
                groups.append(group(hook, program, waits: waits))
                events[hook.event] = .array(groups)
            }
        }
    }

    /// The bridge's group of hooks for an event.
    private func group(_ hook: Hook, _ program: String, waits: Bool) -> JSON.Value {
        var command = JSON.Object()
        command["type"] = "command"
        command["command"] = .string("\(program) hook \(name)\(waits ? " --answer" : "")")
        if waits {
            command["timeout"] = .int(Bounds.agentTimeout.components.seconds)
            if agent == .codex {
                let wait = Bounds.answerWait.components.seconds
                command["statusMessage"] = .string(
                    "Asking the phone (BRIDGE_ANSWER_WAIT: at most \(wait) s by default), then here")
            }
        }
        var group = JSON.Object()
        if let matcher = hook.matcher { group["matcher"] = .string(matcher) }
        group["hooks"] = [.object(command)]
        return .object(group)
    }

    /// The settings without the bridge's hooks and without groups that this leaves empty.
    func uninstalled(from settings: JSON.Value) throws(HookSettingsError) -> JSON.Value {
        guard settings["hooks"] != nil else { return settings }
        return try changed(settings) { (events) throws(HookSettingsError) in
            for member in events.members {
                let groups = try Self.groups(member.value, of: member.name)
                let kept = groups.compactMap(Self.withoutOurs)
                if kept != groups { events[member.name] = kept.isEmpty ? nil : .array(kept) }
            }
        }
    }

    private func changed(
        _ settings: JSON.Value, _ change: (inout JSON.Object) throws(HookSettingsError) -> Void
    )
        throws(HookSettingsError) -> JSON.Value
    {
        guard var root = settings.object else { throw HookSettingsError(sentence: "it isn't a JSON object") }
        guard var events = (root["hooks"] ?? [:]).object else {
            throw HookSettingsError(sentence: "its `hooks` isn't a JSON object")
        }
        let before = events
        try change(&events)
        if events != before { root["hooks"] = events.members.isEmpty ? nil : .object(events) }
        return .object(root)
    }

    private static func groups(_ value: JSON.Value, of event: String) throws(HookSettingsError) -> [JSON
        .Value]
    {
        if let groups = value.array { return groups }
        throw HookSettingsError(sentence: "its hooks for \(Console.safe(event)) aren't a list")
    }

    private static func commands(_ group: JSON.Value) -> [JSON.Value] { group["hooks"]?.array ?? [] }

    /// The group without the bridge's hooks; `nil` if no others remain.
    private static func withoutOurs(_ group: JSON.Value) -> JSON.Value? {
        let commands = commands(group)
        let kept = commands.filter { !isOurs($0) }
        guard kept != commands, var object = group.object else { return group }
        object["hooks"] = .array(kept)
        return kept.isEmpty ? nil : .object(object)
    }

    /// Whether a hook of the bridge waits for answers.
    private static func answers(_ hook: JSON.Value) -> Bool { words(hook).contains("--answer") }

    /// The words of a hook's command, with paths reduced to their last component.
    private static func words(_ hook: JSON.Value) -> [String] {
        (hook["command"]?.string ?? "").split { $0.isWhitespace }.map { word in
            String(word.filter { $0 != "\"" && $0 != "'" }.split(separator: "/").last ?? "")
        }
    }

    /// Whether a hook calls the bridge, from any directory and with any options.
    private static func isOurs(_ hook: JSON.Value) -> Bool {
        let words = words(hook)
        return zip(words, words.dropFirst()).contains {
            StateDirectory.names.contains($0) && $1 == "hook"
        }
    }
}

/// Why an agent's settings can't be changed.
struct HookSettingsError: Error, Sendable, Equatable { let sentence: String }

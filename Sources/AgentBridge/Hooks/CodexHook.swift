import JSON

/// Codex's hooks: JSON on standard input (hooks.json); `notify` passes it as the last argument.
enum CodexHook {
    /// The beginning of the prompt with which Codex, in a separate thread, has a model generate a session's title.
    private static let titleRequest = "Generate a concise, single-line task title"

    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        func event(_ type: EventType, _ identity: HookEvent.Identity, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(
                    type: type, session: input.words("session_id") ?? input.words("thread-id") ?? "unknown",
                    identity: identity, title: input.place(.codex), body: body))
        }
        switch input["hook_event_name"]?.string ?? input["type"]?.string {
        case "agent-turn-complete":
            guard input["client"] != nil else { return .silent("a sub-agent ended") }
            let request = input["input-messages"]?.array?.first?.string
            guard request?.hasPrefix(titleRequest) != true else { return .silent("Codex generated a title") }
            return event(
                .complete, input.words("turn-id").map { .mark($0) } ?? .call,
                input.words("last-assistant-message"))
        case "Stop":
            guard input["agent_id"] == nil else { return .silent("a sub-agent ended") }
            return event(.complete, end(input), input.words("last_assistant_message"))
        case "PermissionRequest":
            guard !input.bypassesPermissions else { return .silent("the agent bypasses permissions") }
            return event(.permission, input.call, input.tool(showsCommands))
        case "PreToolUse":
            guard input["tool_name"]?.string == "request_user_input" else {
                return .silent("this tool asks no question")
            }
            return event(.permission, input.call, input.question(input.firstQuestion, showsCommands))
        case let name?: return .silent("\(Console.safe(name)) doesn't ring")
        case nil: return .silent("the input has neither type nor hook_event_name")
        }
    }

    /// Identifies the first end of a turn by the turn's ID, as for `notify`, because the two calls' texts may differ.
    ///
    /// Later ends, after another hook made the agent continue, have separate identities.
    private static func end(_ input: JSON.Value) -> HookEvent.Identity {
        let text = input.words("last_assistant_message") ?? ""
        guard let turn = input.words("turn_id") else { return .call }
        return input["stop_hook_active"]?.bool == true ? .mark("\(turn) continued\n\(text)") : .mark(turn)
    }
}

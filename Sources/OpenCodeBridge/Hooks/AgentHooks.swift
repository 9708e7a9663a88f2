import JSON

/// Claude Code's hooks: JSON on standard input (settings.json, `hooks`).
enum ClaudeCodeHook {
    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else { return .silent("no hook_event_name") }
        let session = input.words("session_id") ?? "unknown"
        func ring(_ type: EventType, mark: String?, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(
                    type: type, session: session, mark: mark, title: input.place(.claudeCode), body: body))
        }
        switch name {
        case "Notification":
            return notification(input) { ring(.permission, mark: nil, $0) }
        case "PermissionRequest":
            return ring(.permission, mark: input.words("tool_use_id"), input.tool(showsCommands))
        case "Stop":
            guard input["agent_id"] == nil else { return .silent("a sub-agent ended") }
            return ring(.complete, mark: nil, input.words("last_assistant_message"))
        case "StopFailure":
            guard input["agent_id"] == nil else { return .silent("a sub-agent failed") }
            return ring(.error, mark: nil, input.words("last_assistant_message"))
        default:
            return .silent("\(Console.safe(name)) doesn't ring")
        }
    }

    private static func notification(_ input: JSON.Value, _ ring: (String?) -> HookVerdict) -> HookVerdict {
        let message = input.words("message")
        switch input["notification_type"]?.string {
        case "permission_prompt", "elicitation_dialog", "agent_needs_input": return ring(message)
        case let type?: return .silent("\(Console.safe(type)) doesn't ring")
        case nil:
            // Earlier versions tell the type only by the message.
            let isPermission = message?.contains("permission") ?? false
            return isPermission ? ring(message) : .silent("the agent waits for a prompt")
        }
    }
}

/// Codex: `notify` passes JSON as the last argument, hooks pass it on standard input (hooks.json).
enum CodexHook {
    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        let session = input.words("session_id") ?? input.words("thread-id") ?? "unknown"
        let turn = input.words("turn_id") ?? input.words("turn-id")
        func ring(_ type: EventType, mark: String?, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(type: type, session: session, mark: mark, title: input.place(.codex), body: body))
        }
        switch input["hook_event_name"]?.string ?? input["type"]?.string {
        case "agent-turn-complete":
            return ring(.complete, mark: turn, input.words("last-assistant-message"))
        case "Stop":
            guard input["agent_id"] == nil else { return .silent("a sub-agent ended") }
            return ring(.complete, mark: turn, input.words("last_assistant_message"))
        case "PermissionRequest":
            return ring(.permission, mark: nil, input.tool(showsCommands))
        case let name?: return .silent("\(Console.safe(name)) doesn't ring")
        case nil: return .silent("neither type nor hook_event_name")
        }
    }
}

/// Gemini CLI's hooks: JSON on standard input (settings.json, `hooks`).
enum GeminiHook {
    static func read(_ input: JSON.Value) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else { return .silent("no hook_event_name") }
        let session = input.words("session_id") ?? "unknown"
        let time = input.words("timestamp")
        func ring(_ type: EventType, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(type: type, session: session, mark: time, title: input.place(.gemini), body: body))
        }
        switch name {
        case "Notification":
            let type = input["notification_type"]?.string ?? "no type"
            guard type == "ToolPermission" else { return .silent("\(Console.safe(type)) doesn't ring") }
            return ring(.permission, input.words("message"))
        case "AfterAgent": return ring(.complete, input.words("prompt_response"))
        default: return .silent("\(Console.safe(name)) doesn't ring")
        }
    }
}

/// Any other program: an object with any of `eventType`, `session`, `title`, `body` and `id`, or nothing at all.
enum GenericHook {
    static func read(_ input: JSON.Value?) -> HookVerdict {
        guard let input else {
            return .ring(HookEvent(type: .complete, session: "unknown"))
        }
        guard input.object != nil else { return .silent("the input is no JSON object") }
        let name = input["eventType"]?.string ?? EventType.complete.rawValue
        guard let type = EventType(rawValue: name) else {
            return .silent("eventType must be complete, permission or error")
        }
        return .ring(
            HookEvent(
                type: type, session: input.words("session") ?? input.words("sessionID") ?? "unknown",
                mark: input.words("id"), title: input.words("title"), body: input.words("body")))
    }
}

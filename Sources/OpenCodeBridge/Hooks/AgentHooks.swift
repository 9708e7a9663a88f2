import JSON

/// Claude Code's hooks: JSON on standard input (settings.json, `hooks`).
enum ClaudeCodeHook {
    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else { return .silent("no hook_event_name") }
        func ring(_ type: EventType, _ identity: HookEvent.Identity, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(
                    type: type, session: input.words("session_id") ?? "unknown", identity: identity,
                    title: input.place(.claudeCode), body: body))
        }
        switch name {
        case "Notification":
            return notification(input) { ring(.permission, .prompt, $0) }
        case "PermissionRequest":
            return ring(.permission, .prompt, input.tool(showsCommands))
        case "PreToolUse":
            guard let question = question(input, showsCommands) else {
                return .silent("this tool asks nobody")
            }
            return ring(.permission, .prompt, question)
        case "Stop":
            guard input["agent_id"] == nil else { return .silent("a sub-agent ended") }
            return ring(.complete, end(input), input.words("last_assistant_message"))
        case "StopFailure":
            guard input["agent_id"] == nil else { return .silent("a sub-agent failed") }
            return ring(.error, end(input), input.words("last_assistant_message"))
        default:
            return .silent("\(Console.safe(name)) doesn't ring")
        }
    }

    /// A prompt can end several times, when another hook lets the agent go on: then the texts differ.
    private static func end(_ input: JSON.Value) -> HookEvent.Identity {
        let text = input.words("last_assistant_message") ?? ""
        return input.words("prompt_id").map { .mark("\($0)\n\(text)") } ?? .moment(text)
    }

    /// What the tools that ask a person want; `nil` for other tools.
    private static func question(_ input: JSON.Value, _ showsCommands: Bool) -> String? {
        switch input["tool_name"]?.string {
        case "AskUserQuestion":
            let text = input["tool_input"]?["questions"]?.array?.first?.words("question")
            return showsCommands ? text ?? "Has a question." : "Has a question."
        case "ExitPlanMode": return "Has a plan for your approval."
        default: return nil
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
        func ring(_ type: EventType, _ identity: HookEvent.Identity, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(
                    type: type, session: session, identity: identity, title: input.place(.codex), body: body))
        }
        switch input["hook_event_name"]?.string ?? input["type"]?.string {
        case "agent-turn-complete":
            let text = input.words("last-assistant-message")
            return ring(.complete, input.words("turn-id").map { .mark($0) } ?? .moment(text ?? ""), text)
        case "Stop":
            guard input["agent_id"] == nil else { return .silent("a sub-agent ended") }
            return ring(.complete, end(input), input.words("last_assistant_message"))
        case "PermissionRequest":
            return ring(.permission, .prompt, input.tool(showsCommands))
        case let name?: return .silent("\(Console.safe(name)) doesn't ring")
        case nil: return .silent("neither type nor hook_event_name")
        }
    }

    /// The first end of a turn has the turn's name, which `notify` has, too, while their texts may differ.
    ///
    /// Ends that follow, because another hook let the agent go on, have names of their own.
    private static func end(_ input: JSON.Value) -> HookEvent.Identity {
        let text = input.words("last_assistant_message") ?? ""
        guard let turn = input.words("turn_id") else { return .moment(text) }
        return input["stop_hook_active"]?.bool == true ? .mark("\(turn) continued\n\(text)") : .mark(turn)
    }
}

/// Gemini CLI's hooks: JSON on standard input (settings.json, `hooks`).
enum GeminiHook {
    static func read(_ input: JSON.Value) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else { return .silent("no hook_event_name") }
        func ring(_ type: EventType, _ identity: HookEvent.Identity, _ body: String?) -> HookVerdict {
            .ring(
                HookEvent(
                    type: type, session: input.words("session_id") ?? "unknown", identity: identity,
                    title: input.place(.gemini), body: body))
        }
        switch name {
        case "Notification":
            let type = input["notification_type"]?.string ?? "no type"
            guard type == "ToolPermission" else { return .silent("\(Console.safe(type)) doesn't ring") }
            return ring(.permission, .prompt, input.words("message"))
        case "AfterAgent":
            let text = input.words("prompt_response")
            return ring(.complete, .moment(text ?? ""), text)
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
                identity: input.words("id").map { .mark($0) } ?? .call, title: input.words("title"),
                body: input.words("body")))
    }
}

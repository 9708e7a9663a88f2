import JSON

/// Claude Code's hooks: JSON on standard input (settings.json, `hooks`).
///
/// One prompt can trigger several hooks: `PreToolUse` with the call's identifier, then `PermissionRequest` with the
/// same tool and input, and six seconds later `Notification` with neither. All of them contain the run's ID
/// (`prompt_id`).
enum ClaudeCodeHook {
    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else {
            return .silent("the input has no hook_event_name")
        }
        let isSubAgent = input["agent_id"] != nil
        func event(_ type: EventType, _ body: String?) -> HookEvent {
            HookEvent(
                type: type, session: input.words("session_id") ?? "unknown", title: input.place(.claudeCode),
                body: body)
        }
        switch name {
        case "Notification":
            return notification(input, event(.permission, nil), showsCommands)
        case "PermissionRequest":
            let asks = question(input, showsCommands)
            // Questions and plans open a prompt in every mode. If another prompt opens, its notification rings.
            guard asks != nil || !input.bypassesPermissions else {
                return .silent("the agent bypasses permissions")
            }
            var event = event(.permission, asks ?? input.tool(showsCommands))
            event.identity = input.call
            event.echoes = call(input)
            event.announces = request(input, "permission")
            return .ring(event)
        case "PreToolUse":
            guard let asks = question(input, showsCommands) else {
                return .silent("this tool asks no question")
            }
            var event = event(.permission, asks)
            event.identity = input.call
            event.announces = call(input)
            return .ring(event)
        case "Elicitation":
            var event = event(.permission, input.question(input.words("message"), showsCommands))
            event.announces = request(input, "elicitation")
            return .ring(event)
        case "Stop":
            guard !isSubAgent else { return .silent("a sub-agent ended") }
            // Another end follows when the background work is done.
            guard !hasBackgroundWork(input) else { return .silent("work continues in the background") }
            var event = event(.complete, input.words("last_assistant_message"))
            event.identity = end(input)
            return .ring(event)
        case "StopFailure":
            guard !isSubAgent else { return .silent("a sub-agent failed") }
            var event = event(.error, input.words("last_assistant_message"))
            event.identity = end(input)
            return .ring(event)
        default:
            return .silent("\(Console.safe(name)) doesn't ring")
        }
    }

    /// A prompt can end several times if another hook makes the agent continue; the ends then differ in their texts.
    private static func end(_ input: JSON.Value) -> HookEvent.Identity {
        let text = input.words("last_assistant_message") ?? ""
        return input.words("prompt_id").map { .mark("\($0)\n\(text)") } ?? .call
    }

    static func hasBackgroundWork(_ input: JSON.Value) -> Bool {
        (input["background_tasks"]?.array ?? []).contains {
            ["running", "pending"].contains($0["status"]?.string)
        }
    }

    /// Identifies a run's request by its kind, because notifications contain no other details.
    private static func request(_ input: JSON.Value, _ kind: String) -> String {
        "\(kind) \(input.words("prompt_id") ?? "")"
    }

    /// Identifies a use of a tool by what `PreToolUse` and `PermissionRequest` have in common.
    private static func call(_ input: JSON.Value) -> String {
        let members = ["prompt_id", "agent_id", "tool_name", "tool_input"]
        return "call " + Fingerprint.hex(input, members: members, count: 40)
    }

    /// The question that a tool asks a person; `nil` for other tools.
    private static func question(_ input: JSON.Value, _ showsCommands: Bool) -> String? {
        switch input["tool_name"]?.string {
        case "AskUserQuestion": input.question(input.firstQuestion, showsCommands)
        case "ExitPlanMode": "Has a plan for your approval."
        default: nil
        }
    }

    /// A prompt without details, which another hook may already have reported.
    private static func notification(_ input: JSON.Value, _ event: HookEvent, _ showsCommands: Bool)
        -> HookVerdict
    {
        let message = input.words("message")
        // Earlier versions show the type only in the message.
        let isPermission = message?.contains("permission") ?? false
        var event = event
        switch input["notification_type"]?.string ?? (isPermission ? "permission_prompt" : nil) {
        case "permission_prompt":
            event.body = "Needs your permission."
            event.echoes = request(input, "permission")
        case "elicitation_dialog":
            event.body = "Has a question."
            event.echoes = request(input, "elicitation")
        case "worker_permission_prompt": event.body = "Needs your permission."
        case "agent_needs_input": event.body = "Needs your input."
        case let type?: return .silent("\(Console.safe(type)) doesn't ring")
        case nil: return .silent("the agent waits for a prompt")
        }
        if showsCommands, let message { event.body = message }
        return .ring(event)
    }
}

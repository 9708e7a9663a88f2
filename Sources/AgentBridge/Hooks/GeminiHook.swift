import JSON

/// Gemini CLI's hooks: JSON on standard input (settings.json, `hooks`).
///
/// `timestamp` is when Gemini CLI called its hooks; all hooks for the same event get the same value.
enum GeminiHook {
    /// The answer that `AfterAgent` contains if the turn failed or was cancelled.
    private static let noAnswer = "[no response text]"

    static func read(_ input: JSON.Value, _ showsCommands: Bool) -> HookVerdict {
        guard let name = input["hook_event_name"]?.string else {
            return .silent("the input has no hook_event_name")
        }
        func event(_ type: EventType, _ body: String?) -> HookEvent {
            HookEvent(
                type: type, session: input.words("session_id") ?? "unknown",
                identity: input.words("timestamp").map { .mark("\(name) \($0)") } ?? .call,
                title: input.place(.gemini), body: body)
        }
        switch name {
        case "Notification":
            let type = input["notification_type"]?.string ?? "no type"
            guard type == "ToolPermission" else { return .silent("\(Console.safe(type)) doesn't ring") }
            let details = input["details"] ?? [:]
            var event = event(.permission, permission(details, showsCommands))
            if details["type"]?.string == askUser { event.echoes = askUser }
            return .ring(event)
        case "BeforeTool":
            guard input["tool_name"]?.string == askUser else { return .silent("this tool asks no question") }
            var event = event(.permission, input.question(input.firstQuestion, showsCommands))
            event.announces = askUser
            return .ring(event)
        case "AfterAgent":
            let text = input.words("prompt_response")
            guard text != noAnswer else { return .silent("the turn failed or was cancelled") }
            return .ring(event(.complete, text))
        default: return .silent("\(Console.safe(name)) doesn't ring")
        }
    }

    /// The tool that asks questions.
    ///
    /// Only `BeforeTool`, which precedes each notification about a question, contains the question's text.
    private static let askUser = "ask_user"

    /// The text of a permission request.
    ///
    /// Doesn't use the notification's own message, because it contains file names.
    private static func permission(_ details: JSON.Value, _ showsCommands: Bool) -> String? {
        func shown(_ name: String, _ member: String, or plain: String) -> String {
            guard showsCommands, let text = details.words(member) else { return plain }
            return "\(name): \(text)"
        }
        switch details["type"]?.string {
        case "exec": return shown("Shell", "command", or: "Wants to run a command.")
        case "edit": return shown("Edit", "fileName", or: "Wants to edit a file.")
        case askUser: return "Has a question."
        case "mcp":
            guard let tool = details.words("toolName"), let server = details.words("serverName") else {
                return nil
            }
            return "Wants to use \(tool) of \(server)."
        default: return nil
        }
    }
}

/// Any other program's input: an object with any of `eventType`, `session`, `title`, `body` and `id`, or nothing at
/// all.
enum GenericHook {
    static func read(_ input: JSON.Value?) -> HookVerdict {
        guard let input else {
            return .ring(HookEvent(type: .complete, session: "unknown"))
        }
        guard input.object != nil else { return .silent("the input isn't a JSON object") }
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

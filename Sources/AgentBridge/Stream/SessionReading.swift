import JSON

/// Interprets responses with a session's last messages.
enum SessionReading {
    /// 1.x: `[{"info":{…},"parts":[…]}]`, the newest last.
    static func first(_ messages: JSON.Value) -> Reading {
        let messages = messages.array ?? []
        var reading = Reading()
        if let info = messages.last?["info"] {
            reading.mark = info.identifier("id")
            reading.outcome = firstOutcome(info)
            reading.isUnfinished = isUnfinished(info, isPrompt: info["role"]?.string == "user")
            reading.tool = tool(messages.last?["parts"]?.array)
        }
        let turn = messages.reversed().prefix { $0["info"]?["role"]?.string == "assistant" }
        reading.text = turn.lazy.compactMap { text($0["parts"]?.array) }.first
        return reading
    }

    /// A turn is complete when its last message is the agent's, has no error and is finished.
    ///
    /// After `tool-calls` the agent would have continued, so someone stopped it.
    private static func firstOutcome(_ info: JSON.Value) -> Outcome? {
        guard info["role"]?.string == "assistant" else { return nil }
        if let error = info["error"], !error.isNull { return outcome(RunError(error)) }
        guard let finish = info["finish"]?.string, !finish.isEmpty else { return nil }
        if info["summary"]?.bool == true { return .summarized }
        return finish == "tool-calls" ? .interrupted : .completed
    }

    /// 2.x: `{"data":[…]}`, the newest first.
    static func second(_ answer: JSON.Value) -> Reading {
        let messages = answer["data"]?.array ?? []
        var reading = Reading()
        reading.tool = tool(messages.first?["content"]?.array)
        // Shell commands that the person ran after a run aren't part of it: the run ended before them.
        let sinceEnd = messages.prefix { !judgedTypes.contains(type($0)) || type($0) == "shell" }.count
        let isEnded = sinceEnd < messages.count && type(messages[sinceEnd]) == "idle"
        let run = isEnded ? messages[sinceEnd...].drop { type($0) == "idle" } : messages[...]
        let last = run.first { judgedTypes.contains(type($0)) && type($0) != "idle" }
        // This ID is the same before and after the end is recorded, so it identifies the run.
        reading.mark = last?.identifier("id")
        if isEnded {
            reading.mark = reading.mark ?? messages[sinceEnd].identifier("id")
            reading.isRecorded = true
            reading.outcome = recordedOutcome(messages[sinceEnd])
            if reading.outcome == .completed, last.map(type) == "compaction" { reading.outcome = .summarized }
        } else if let last {
            reading.outcome = secondOutcome(last)
            reading.isUnfinished = isUnfinished(last, isPrompt: ["user", "synthetic"].contains(type(last)))
            // The server records ends, but not this one, so it wasn't the person who stopped the run.
            if last["finish"]?.string == "tool-calls", messages.contains(where: { type($0) == "idle" }) {
                (reading.outcome, reading.isUnfinished) = (nil, true)
            }
        }
        let turn = run.prefix { !["user", "synthetic", "idle"].contains(type($0)) }
        reading.text =
            turn.lazy.filter { type($0) == "assistant" }.compactMap { text($0["content"]?.array) }.first
        return reading
    }

    private static func type(_ message: JSON.Value) -> String { message["type"]?.string ?? "" }

    private static func isUnfinished(_ message: JSON.Value, isPrompt: Bool) -> Bool {
        isPrompt || message["time"]?["completed"] == nil
    }

    /// Reads either generation's description of a session; a title that contains only a time is ignored.
    static func describe(_ info: JSON.Value, in reading: inout Reading) {
        let title = info["title"]?.text
        reading.title = isProvisional(title) ? nil : title
        reading.directory = info.identifier("directory") ?? info["location"]?.identifier("directory")
    }

    private static func isProvisional(_ title: String?) -> Bool {
        guard let title, title.contains(where: { !$0.isWhitespace }) else { return true }
        return title.hasPrefix("New session - ") || title.hasPrefix("Child session - ")
    }

    private static func outcome(_ error: RunError) -> Outcome {
        SilentError.isAbort(error.name) ? .interrupted : .failed(error)
    }

    /// The types of messages that show how a run ended, or that it didn't.
    private static let judgedTypes: Set<String> = [
        "assistant", "idle", "user", "synthetic", "shell", "compaction",
    ]

    /// The outcome in the message with which releases of 2.x record the end of a run.
    private static func recordedOutcome(_ message: JSON.Value) -> Outcome? {
        switch message["outcome"]?.string {
        case "succeeded": .completed
        case "failed": .failed(RunError(message["error"]))
        case "interrupted": .interrupted
        default: nil
        }
    }

    private static func secondOutcome(_ message: JSON.Value) -> Outcome? {
        switch message["type"]?.string {
        case "assistant":
            if let error = message["error"], !error.isNull { return outcome(RunError(error)) }
            guard let finish = message["finish"]?.string, !finish.isEmpty else { return nil }
            return finish == "tool-calls" ? .interrupted : .completed
        case "compaction":
            return message["status"]?.string == "failed" ? outcome(RunError(message["error"])) : .summarized
        default:
            return nil
        }
    }

    /// The running tool: the last one without a result.
    private static func tool(_ parts: [JSON.Value]?) -> String? {
        let running = parts?.last { part in
            part["type"]?.string == "tool"
                && ["pending", "running"].contains(part["state"]?["status"]?.string)
        }
        return running?["tool"]?.text ?? running?["name"]?.text
    }

    /// The visible text parts.
    private static func text(_ parts: [JSON.Value]?) -> String? {
        let texts = (parts ?? []).filter {
            $0["type"]?.string == "text" && $0["ignored"]?.bool != true && $0["synthetic"]?.bool != true
        }
        let joined = texts.compactMap { $0["text"]?.text }.joined(separator: " ")
        return joined.contains { !$0.isWhitespace } ? joined : nil
    }
}

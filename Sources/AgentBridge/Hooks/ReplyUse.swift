import JSON

/// The last steps that turn a person's reply into the agent's decision; when in doubt, there is no decision.
struct ReplyUse {
    let request: AgentRequest
    /// Why a decision is no longer wanted; `nil` while it still is.
    let over: () -> ReplyFate?
    /// The request's state in the agent's own records.
    let state: () -> ClaudeTranscript.State
    /// Logs a decision, or why there is none; false if logging fails.
    let record: (String) -> Bool
    /// Gives the agent its decision; false if nobody reads it.
    let print: (JSON.Value) -> Bool

    /// Prints the decision unless something shows that the request is over.
    func take(_ reply: RequestReply) -> ReplyFate {
        let before = state()
        if let fate = ended(before) { return leave(fate) }
        let addsRules = reply.choice == .always && before == .open
        let isLess = reply.choice == .always && !addsRules
        guard let output = AgentDecision.output(reply, to: request, addsRules: addsRules) else {
            return leave(.refused("not_offered"))
        }
        // Nothing is allowed without a log entry.
        let word = isLess ? RequestReply.Choice.once : reply.choice
        guard record(word.rawValue) || reply.choice == .reject else { return leave(.refused("not_recorded")) }
        // Logging takes time, and somebody may have answered at the desk in the meantime.
        let now = state()
        if let fate = ended(now) { return leave(fate) }
        guard !addsRules || now == .open else { return leave(.answeredElsewhere) }
        guard print(output) else { return leave(.notDelivered("agent_gone")) }
        return isLess ? .takenOnce : .taken
    }

    /// Logs why there is no decision.
    func leave(_ fate: ReplyFate) -> ReplyFate {
        _ = record(fate.word)
        return fate
    }

    private func ended(_ state: ClaudeTranscript.State) -> ReplyFate? {
        over() ?? (state == .answered ? .answeredElsewhere : nil)
    }
}

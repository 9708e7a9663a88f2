import JSON
import PushSealing

/// The hook output that conveys a person's reply, in the agent's own format.
///
/// The formats were recorded with Claude Code 2.1.197 and Codex 0.169.0. The output never contains `interrupt`, which
/// would abort a tool that was allowed at the desk in the meantime.
enum AgentDecision {
    /// The output; `nil` if the request doesn't offer the reply.
    ///
    /// - Parameter addsRules: Whether `always` may add rules. Claude Code adds them even if the request was answered in
    ///   the meantime.
    static func output(_ reply: RequestReply, to request: AgentRequest, addsRules: Bool) -> JSON.Value? {
        guard request.offer.includes(reply) else { return nil }
        switch (request.agent, request.kind) {
        case (.codex, .questions(let questions)):
            let reason =
                reply.choice == .answer
                ? answers(to: questions.map(\.text), reply.answers)
                : reply.message ?? "The user doesn't answer this."
            return [
                "hookSpecificOutput": [
                    "hookEventName": "PreToolUse", "permissionDecision": "deny",
                    "permissionDecisionReason": .string(reason),
                ]
            ]
        case (.claudeCode, _), (.codex, _):
            guard let decision = decision(reply, request, addsRules) else { return nil }
            return ["hookSpecificOutput": ["hookEventName": "PermissionRequest", "decision": decision]]
        case (.gemini, _), (.generic, _): return nil
        }
    }

    private static func decision(_ reply: RequestReply, _ request: AgentRequest, _ addsRules: Bool)
        -> JSON.Value?
    {
        switch (reply.choice, request.kind) {
        case (.reject, _):
            return [
                "behavior": "deny",
                "message": .string(reply.message ?? "The user rejected this from their phone."),
            ]
        case (.always, .permission(let rules)) where addsRules:
            return ["behavior": "allow", "updatedPermissions": .array(rules.map(\.suggestion))]
        case (.answer, .questions(let questions)):
            var answers = JSON.Object()
            for (question, given) in zip(questions, reply.answers) {
                answers[question.text] = .string(given.joined(separator: ", "))
            }
            var input = request.input.object ?? JSON.Object()
            input["answers"] = .object(answers)
            return ["behavior": "allow", "updatedInput": .object(input)]
        case (.once, .permission), (.always, .permission), (.once, .plan): return ["behavior": "allow"]
        case (.once, .questions), (.always, .questions), (.always, .plan), (.answer, _): return nil
        }
    }

    /// The answers as text for the model, because a Codex hook can only refuse a question.
    private static func answers(to questions: [String], _ answers: [[String]]) -> String {
        let lines = zip(questions, answers).map { "Question: \($0)\nAnswer: \($1.joined(separator: ", "))" }
        return "The user has answered from their phone. Don't ask again.\n" + lines.joined(separator: "\n")
    }
}

import ChildProcess
import Foundation
import JSON
import PushSealing
import Testing

@Suite("Answering agents from the phone", .timeLimit(.minutes(5)))
struct AnswerTests {
    @Test("Claude Code gets what the phone decides, in its own format, and the phone learns it")
    func claude() async throws {
        try await AgentStand.run { stand in
            let transcript = stand.stack.directory.file("transcript.jsonl")
            try HookInput.write(transcript, "git push", isAnswered: false)
            let allow: JSON.Value = ["behavior": "allow"]
            let deny: JSON.Value = ["behavior": "deny", "message": "Use a branch."]
            let always: JSON.Value = ["behavior": "allow", "updatedPermissions": [HookInput.rule]]
            let rows = [
                ("once", transcript, allow), ("reject", transcript, deny), ("always", transcript, always),
                // Without proof that the request is still open, no rule is added.
                ("always", "/nowhere", allow),
            ]
            for (number, (action, transcript, expected)) in rows.enumerated() {
                let hook = try await stand.starts("claude", HookInput.request(transcript: transcript))
                let asked = try await stand.asked(number + 1)
                #expect(asked.title == "Action Needed: shop (Claude Code)")
                let body = try #require(asked.body)
                for part in [
                    "Bash\nIn /home/ada/shop on ", "\n\ngit push\n",
                    "“Always” adds: Bash(git push) in this project, for you",
                    "The agent says: “Pushes”",
                ] { #expect(body.contains(part), "\(body)") }
                #expect(asked.properties.actions == ["once", "always", "reject"])
                #expect(asked.properties.category == nil)
                let end = try #require(asked.request?.end)
                #expect((580...590).contains(end - asked.sentAt))
                let reply = try stand.sealed(
                    action, action == "reject" ? "Use a branch." : nil, for: asked.id)
                let isLess = action == "always" && expected == allow
                #expect(
                    try await stand.outcome(of: reply, to: asked.id) == (isLess ? "taken once" : "taken"))
                #expect(try await stand.decision(hook) == HookInput.decision(expected))
            }
            let words = ["once", "reject", "always", "once"]
            #expect(try stand.decisions() == words.map { "claude-code Bash \($0)" })
            let log = stand.stack.directory.file("state/decisions.log")
            let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(!text.contains("push") && !text.contains("branch"))
        }
    }

    @Test("questions are answered with options and own words, and cancelled", arguments: ["claude", "codex"])
    func questions(agent: String) async throws {
        try await AgentStand.run { stand in
            let input = HookInput.questions(agent)
            let hook = try await stand.starts(agent, input)
            let asked = try await stand.asked(1)
            #expect(asked.title?.hasPrefix("Question: shop (") == true)
            #expect(asked.properties.actions == ["reject"])
            var question = SealedMessage.Question(
                "Which database?", heading: "Choice",
                options: [.init("SQLite", detail: "one file"), .init("Postgres", detail: "b")])
            (question.isMultiple, question.allowsText) = (true, true)
            #expect(asked.request?.questions == [question])
            let reply = try stand.sealed("answer", answers: [["SQLite", "and Redis"]], for: asked.id)
            #expect(try await stand.outcome(of: reply, to: asked.id) == "taken")
            let decided = try await stand.decision(hook)
            if agent == "claude" {
                var answered = try #require(input["tool_input"]?.object)
                answered["answers"] = ["Which database?": "SQLite, and Redis"]
                #expect(
                    decided == HookInput.decision(["behavior": "allow", "updatedInput": .object(answered)]))
            } else {
                let output = decided["hookSpecificOutput"]
                #expect(output?["permissionDecision"] == "deny" && output?.object?.members.count == 3)
                let reason = try #require(output?["permissionDecisionReason"]?.string)
                #expect(reason.contains("Question: Which database?\nAnswer: SQLite, and Redis"), "\(reason)")
            }
            let cancelled = try await stand.starts(agent, input)
            let second = try await stand.asked(2)
            #expect(second.id != asked.id)
            #expect(
                try await stand.outcome(of: try stand.sealed("reject", for: second.id), to: second.id)
                    == "taken")
            #expect(
                String(decoding: try await stand.decision(cancelled).encoded(), as: UTF8.self)
                    .contains("deny"))
        }
    }

    @Test("a reply that is readable, another's or not offered decides nothing, and its phone learns why")
    func refused() async throws {
        try await AgentStand.run { stand in
            let long = String(repeating: "echo harmless; ", count: 400) + "rm -rf /"
            let rows: [(JSON.Value, (String) throws -> JSON.Value, String)] = [
                (HookInput.request(), { _ in ["action": "once"] }, "refused not_sealed"),
                (
                    HookInput.request(), { _ in try stand.sealed("once", for: "oc-other") },
                    "refused cannot_open"
                ),
                (HookInput.request(), { try stand.sealed("yes", for: $0) }, "refused unknown_action"),
                (
                    HookInput.request(), { try stand.sealed("answer", answers: [["yes"]], for: $0) },
                    "refused not_offered"
                ),
                (
                    HookInput.request(suggestions: []), { try stand.sealed("always", for: $0) },
                    "refused not_offered"
                ),
                (HookInput.questions("claude"), { try stand.sealed("once", for: $0) }, "refused not_offered"),
                (
                    HookInput.questions("claude"), { try stand.sealed("answer", answers: [[]], for: $0) },
                    "refused not_offered"
                ),
                (HookInput.request(long), { try stand.sealed("once", for: $0) }, "refused not_offered"),
            ]
            for (number, (input, reply, outcome)) in rows.enumerated() {
                let hook = try await stand.starts("claude", input)
                let asked = try await stand.asked(number + 1)
                #expect(
                    try await stand.outcome(of: try reply(asked.id), to: asked.id) == outcome, "\(number)")
                #expect(try await stand.isUndecided(hook))
            }
            let cut = try await stand.asked(rows.count)
            #expect(cut.request?.isCut == true && cut.properties.actions == ["reject"])
            #expect(cut.body?.contains("⟨CUT: ") == true && cut.body?.contains("rm -rf /") == true)
            #expect(try stand.decisions().allSatisfy { !$0.hasSuffix(" once") && !$0.hasSuffix(" always") })
        }
    }

    @Test("an answer at the desk withdraws the request, and a late reply decides nothing")
    func desk() async throws {
        try await AgentStand.run { stand in
            let transcript = stand.stack.directory.file("transcript.jsonl")
            let end: JSON.Value = [
                "session_id": "7b2aebd9-1bea-4021-aad8-2602e27bb39d", "hook_event_name": "Stop",
                "cwd": "/home/ada/shop",
            ]
            func answersAtDesk(_ way: String, _ hook: Program) async throws {
                switch way {
                case "No": hook.signal(SIGTERM)
                case "PostToolUse":
                    let after = HookInput.request(event: "PostToolUse", transcript: transcript)
                    let said = try await stand.isUndecided(try await stand.starts("claude", after, []))
                    #expect(said)
                case "Stop":
                    let silent = ["CLAUDE_CODE_ENTRYPOINT": "sdk-cli"]
                    let said = try await stand.isUndecided(try await stand.starts("claude", end, [], silent))
                    #expect(said)
                default: try HookInput.write(transcript, "git push", isAnswered: true)
                }
            }
            let ways = ["No", "PostToolUse", "Stop", "transcript"]
            for (number, way) in ways.enumerated() {
                try HookInput.write(transcript, "git push", isAnswered: false)
                let hook = try await stand.starts("claude", HookInput.request(transcript: transcript))
                let asked = try await stand.asked(number + 1)
                try await answersAtDesk(way, hook)
                #expect(try await stand.isUndecided(hook))
                let late = try stand.sealed("once", for: asked.id)
                #expect(try await stand.outcome(of: late, to: asked.id) == "answered_elsewhere", "\(way)")
            }
            #expect(try stand.decisions().count == ways.count)
            let cleared = try await eventually {
                try await stand.stack.control.pushes(token: token(1)).count { $0["payload"]?["clear"] != nil }
            } until: {
                $0 >= 3
            }
            #expect(cleared >= 3, "APNs gets at most three an hour")
        }
    }

    @Test("a closed terminal and the agent's time limit end the wait without a decision")
    func gone() async throws {
        try await AgentStand.run { stand in
            let closed = try await stand.starts("claude", HookInput.request())
            let first = try await stand.asked(1)
            closed.signal(SIGUSR1)
            #expect(try await closed.ended() == 0)
            _ = try await eventually {
                (try? stand.decisions()) ?? []
            } until: {
                $0.count == 1
            }
            #expect(try stand.decisions() == ["claude-code Bash agent_gone"])
            let reply = try stand.sealed("once", for: first.id)
            #expect(try await stand.outcome(of: reply, to: first.id) == "too_late")
            let limited = try await stand.starts("claude", HookInput.request(), timeout: 7)
            let second = try await stand.asked(2)
            let ended = try await stand.ended(limited)
            #expect(ended.out.isEmpty && ended.status == 0, "\(ended)")
            #expect(
                try await stand.outcome(of: try stand.sealed("once", for: second.id), to: second.id)
                    == "answered_elsewhere")
        }
    }

    @Test("a reply after the end that the phone shows decides nothing, though the machine slept")
    func slept() async throws {
        try await AgentStand.run { stand in
            let hook = try await stand.starts("claude", HookInput.request())
            let asked = try await stand.asked(1)
            try stand.passes(seconds: 600)
            #expect(try await stand.isUndecided(hook))
            #expect(
                try await stand.outcome(of: try stand.sealed("once", for: asked.id), to: asked.id)
                    == "too_late")
            #expect(try stand.decisions() == ["claude-code Bash expired"])
        }
    }

    @Test("a relay that answers too late gets the same request again, and phones see it once")
    func lateRelay() async throws {
        try await AgentStand.run { stand in
            // Longer than the hook's first request waits, and short enough for the second one to get the result.
            try await stand.stack.control.put("/limits", ["latency": "3200ms"])
            let hook = try await stand.starts("claude", HookInput.request())
            let asked = try await stand.asked(1)
            let reply = try stand.sealed("once", for: asked.id)
            #expect(try await stand.outcome(of: reply, to: asked.id) == "taken")
            #expect(try await stand.decision(hook) == HookInput.decision(["behavior": "allow"]))
            #expect(try await stand.stack.control.pushes(token: token(1)).count == 1)
        }
    }
}

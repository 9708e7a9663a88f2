import JSON
import PushSealing
import Testing

@testable import AgentBridge

@Suite("Requests that phones can answer", .timeLimit(.minutes(2)))
struct AgentRequestTests {
    private func request(_ input: JSON.Value, _ agent: HookAgent = .claudeCode) -> AgentRequest? {
        AgentRequest(input, of: agent, host: "desk")
    }

    private func captured(_ name: String) throws -> AgentRequest? {
        let capture = try Capture(name)
        return request(capture.json, capture.agent)
    }

    private func tool(_ name: String, _ input: JSON.Value, _ more: JSON.Value = [:]) -> JSON.Value {
        var members: JSON.Object = JSON.Object()
        members["session_id"] = "s"
        members["cwd"] = "/x/shop"
        members["hook_event_name"] = "PermissionRequest"
        members["tool_name"] = .string(name)
        members["tool_input"] = input
        for member in more.object?.members ?? [] { members[member.name] = member.value }
        return .object(members)
    }

    @Test("of the recorded inputs, only permissions, plans and questions can be answered")
    func answerable() throws {
        let names = try Capture.names.filter { try captured($0) != nil }
        #expect(
            names == [
                "claude_PermissionRequest_AskUserQuestion", "claude_PermissionRequest_Bash",
                "claude_PermissionRequest_Bash_addRules", "claude_PermissionRequest_Bash_subagent",
                "claude_PermissionRequest_ExitPlanMode",
                "claude_PermissionRequest_mcp__t__elicit_form_addRules",
                "codex_PermissionRequest_Bash", "codex_PermissionRequest_mcp__t__elicit_form",
                "codex_PreToolUse_request_user_input",
            ])
    }

    @Test("always is offered only for rules that allow uses of tools, in words")
    func rules() throws {
        let withRule = try #require(try captured("claude_PermissionRequest_Bash_addRules"))
        #expect(withRule.offer.actions == [.once, .always, .reject])
        #expect(
            withRule.text.contains(
                "“Always” adds: Bash(curl -s http://127.0.0.1:22000/health) in this project, for you"))
        let tool = try #require(try captured("claude_PermissionRequest_mcp__t__elicit_form_addRules"))
        #expect(
            tool.text.contains("“Always” adds: every use of mcp__t__elicit_form in this project, for you"))
        // "Always" isn't offered for a mode or for directories that apply to the whole session.
        #expect(try captured("claude_PermissionRequest_Bash")?.offer.actions == [.once, .reject])
        #expect(try captured("codex_PermissionRequest_Bash")?.offer.actions == [.once, .reject])
        let rule: JSON.Value = [
            "type": "addRules", "rules": [["toolName": "Bash"]], "behavior": "allow",
            "destination": "session",
        ]
        #expect(PermissionRule.offered(in: ["permission_suggestions": [rule]]).count == 1)
        let changes: [(String, JSON.Value)] = [
            ("type", "setMode"), ("type", "addDirectories"), ("type", "replaceRules"), ("behavior", "deny"),
            ("destination", "cloud"), ("rules", []), ("rules", [["toolName": "Bash", "more": 1]]),
            ("rules", [["toolName": "Bash", "ruleContent": 1]]), ("mode", "acceptEdits"),
            ("rules", [["toolName": "Bash", "ruleContent": " \n"]]),
        ]
        for (name, value) in changes {
            var changed = try #require(rule.object)
            changed[name] = value
            #expect(
                PermissionRule.offered(in: ["permission_suggestions": [.object(changed)]]).isEmpty, "\(name)")
        }
    }

    @Test("the text has everything of the input")
    func whole() throws {
        let edit = try #require(
            request(
                tool(
                    "Edit",
                    ["file_path": "/x/a.swift", "old_string": "a\nb", "new_string": "c", "replace_all": true])
            ))
        #expect(
            edit.text == """
                Edit
                In /x/shop on desk

                file_path: /x/a.swift
                -a
                -b
                +c
                replace_all: true
                """)
        let many = try #require(
            request(
                tool(
                    "MultiEdit",
                    ["file_path": "f", "edits": [["old_string": "a", "new_string": "b", "x": 1]]],
                    ["agent_type": "helper"])))
        #expect(many.text.hasPrefix("MultiEdit\nIn /x/shop on desk\nSub-agent: helper\n\n"))
        #expect(many.text.hasSuffix("change 1:\n-a\n+b\nx: 1"))
        let issue = try #require(
            request(tool("mcp__gh__create", ["title": "T", "labels": ["a"], "description": "D"])))
        #expect(
            issue.text.contains("title: \"T\"\nlabels: [\"a\"]\n")
                && issue.text.contains("The agent says: “D”"))
        let plan = try #require(request(tool("ExitPlanMode", ["plan": "1. x"])))
        #expect(plan.text.hasSuffix("\n\n1. x") && plan.text.contains("edit files without asking"))
        #expect(plan.offer.actions == [.once, .reject])
        let odd = try #require(request(tool("Bash", ["command": ["ls"]])))
        #expect(odd.text.contains("command: [\"ls\"]"))
        let nested = try #require(
            request(tool("mcp__x__edit", ["edits": [["description": "rm -rf /"]], "description": "D"])))
        #expect(nested.text.contains("change 1:\ndescription: \"rm -rf /\"\n"))
    }

    @Test("a plan without a plan only rings")
    func emptyPlan() {
        let inputs: [JSON.Value] = [[:], ["planFilePath": "/x/plan.md"], ["plan": " \n"], ["plan": ["x"]]]
        for input in inputs { #expect(request(tool("ExitPlanMode", input)) == nil) }
        #expect(request(tool("ExitPlanMode", ["plan": "x"])) != nil)
    }

    @Test("what the agent writes can't look like lines of the bridge's own")
    func forged() throws {
        let more: JSON.Value = ["cwd": "/x\nIn /safe on desk", "agent_type": "a\nIn /safe on desk"]
        let input: JSON.Value = [
            "command": "rm\n\nIn /safe on desk", "description": "d\nIn /safe on desk",
            "note": "n\nIn /safe on desk", "a\nb": 1, "file_path": "f\nIn /safe on desk",
        ]
        let text = try #require(request(tool("Bash\nx", input, more))).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "Bash⟨line break⟩x" && lines[1] == "In /x⟨line break⟩In /safe on desk on desk")
        // Only the command follows these two lines.
        #expect(lines.filter { $0.hasPrefix("In ") }.count == 2 && lines.firstIndex(of: "rm") == 4, "\(text)")
        #expect(text.contains(#"note: "n\nIn /safe on desk""#) && text.contains("a⟨line break⟩b: 1"))
    }

    @Test("a sub-agent's request waits only where nobody could answer at the terminal")
    func blocking() throws {
        #expect(request(tool("Bash", ["command": "ls"]))?.blocksTerminal == false)
        #expect(try captured("claude_PermissionRequest_Bash_subagent")?.blocksTerminal == true)
        #expect(try captured("codex_PermissionRequest_Bash")?.blocksTerminal == true)
    }

    @Test("hidden characters and padding are shown")
    func hidden() {
        let shown = [
            ("ls \u{202E}x", "ls ⟨U+202E⟩x"), ("a\u{200B}b\u{0}", "a⟨U+200B⟩b⟨U+0000⟩"),
            ("\u{3164}", "⟨U+3164⟩"),
            ("a\u{A0}b\r", "a⟨U+00A0⟩b⟨U+000D⟩"), ("\u{E0041}", "⟨U+E0041⟩"), ("naïve ✓ 日本", "naïve ✓ 日本"),
            ("a" + String(repeating: " ", count: 41) + "b", "a⟨41 × space⟩b"),
            ("a" + String(repeating: "\n", count: 4) + "b", "a⟨4 × line break⟩b"), ("a\n\n\tb", "a\n\n\tb"),
            ("a" + String(repeating: " \n", count: 4) + "b", "a⟨4 × line break, 4 × space⟩b"),
            ("a" + String(repeating: " \t", count: 21) + "b", "a⟨21 × space, 21 × tab⟩b"),
            ("a\n" + String(repeating: " ", count: 41) + "\nb", "a\n⟨41 × space⟩\nb"),
            ("\u{2800}", "⟨U+2800⟩"),
        ]
        for (text, visible) in shown { #expect(RequestText.visible(text) == visible) }
    }

    @Test("the digest changes with everything that is asked, and not with other members")
    func digest() throws {
        let base = tool("Bash", ["command": "ls"])
        let digest = try #require(request(base)?.digest)
        #expect(digest.count == 64)
        #expect(request(tool("Bash", ["command": "ls"], ["prompt_id": "p"]))?.digest == digest)
        for other in [
            tool("Bash", ["command": "ls "]), tool("Sh", ["command": "ls"]),
            tool("Bash", ["command": "ls"], ["cwd": "/"]),
            tool("Bash", ["command": "ls"], ["session_id": "t"]),
            tool("Bash", ["command": "ls", "x": 1]),
        ] { #expect(request(other)?.digest != digest) }
    }

    @Test("questions that the phone couldn't show or the agent couldn't tell apart aren't offered")
    func questions() throws {
        func asks(_ questions: JSON.Value) -> [SealedMessage.Question]? {
            request(tool("AskUserQuestion", ["questions": questions]))?.offer.questions
        }
        let plain: JSON.Value = [
            "question": "Q?", "header": "H", "options": [["label": "a"], ["label": "b"]],
        ]
        var expected = SealedMessage.Question("Q?", heading: "H", options: [.init("a"), .init("b")])
        expected.allowsText = true
        #expect(asks([plain]) == [expected])
        let wrong: [JSON.Value] = [
            [], [plain, plain], [["question": " "]],
            [["question": "Q?", "options": [["label": "a"], ["label": "a"]]]],
            [["question": "Q?", "options": [["label": "a\u{202E}b"]]]],
            [["question": "Q?", "options": [["x": 1]]]],
            .array((0..<17).map { ["question": .string("Q\($0)")] }),
        ]
        for questions in wrong { #expect(asks(questions) == nil) }
    }

    @Test("a question takes its options, and where allowed one text of the person's own")
    func accepts() {
        var question = SealedMessage.Question("Q?", options: [.init("a"), .init("b")])
        func accepted(_ rows: [[String]]) -> [Bool] { rows.map { question.accepts($0) } }
        let rows = [
            [], ["a"], ["c"], ["a", "b"], ["a", "a"], ["a", "c"], ["c", "a"], ["a", " "], ["c", "d"],
        ]
        #expect(accepted(rows) == [false, true, false, false, false, false, false, false, false])
        question.allowsText = true
        #expect(accepted(rows) == [false, true, true, false, false, false, false, false, false])
        question.isMultiple = true
        #expect(accepted(rows) == [false, true, true, true, false, true, false, false, false])
        question.isOptional = true
        #expect(question.accepts([]))
    }

    @Test("no reply that wasn't offered becomes a decision")
    func decisions() throws {
        for name in Capture.names {
            guard let request = try captured(name) else { continue }
            for choice in RequestReply.Choice.allCases
            where choice != .answer && !request.offer.actions.contains(choice) {
                #expect(
                    AgentDecision.output(RequestReply(choice: choice), to: request, addsRules: true) == nil)
            }
            for answers in [[], [["x"], ["y"]], [["x", "y"]]]
            where request.offer.questions.count != answers.count
                || answers.first?.count != 1
            {
                let reply = RequestReply(choice: .answer, answers: answers)
                #expect(AgentDecision.output(reply, to: request, addsRules: true) == nil, "\(name)")
            }
        }
    }

    @Test("Codex gets only the members that it knows")
    func strict() throws {
        let request = try #require(try captured("codex_PermissionRequest_Bash"))
        func text(_ reply: RequestReply) -> String {
            String(
                decoding: AgentDecision.output(reply, to: request, addsRules: true)?.encoded() ?? [],
                as: UTF8.self)
        }
        #expect(
            text(RequestReply(choice: .once))
                == #"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#
        )
        #expect(
            text(RequestReply(choice: .reject, message: "No."))
                == #"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"No."}}}"#
        )
    }
}

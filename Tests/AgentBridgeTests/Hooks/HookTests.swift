import JSON
import Testing

@testable import AgentBridge

@Suite("Hooks of other agents", .timeLimit(.minutes(2)))
struct HookTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let agent: HookAgent
        let input: String
        /// The expected type, session and texts; `nil` if the hook stays silent.
        let expected: String?

        init(_ agent: HookAgent, _ input: String, _ expected: String?) {
            self.agent = agent
            self.input = input
            self.expected = expected
        }

        var testDescription: String { "\(agent.rawValue) \(input.prefix(80))" }
    }

    private static let claude =
        #""session_id":"s1","transcript_path":"/t.jsonl","cwd":"/home/ada/shop","permission_mode":"default""#
    private static let codex =
        #""session_id":"s1","turn_id":"t1","cwd":"/home/ada/shop","model":"m","permission_mode":"default""#
    private static let gemini =
        #""session_id":"s1","transcript_path":"/t","cwd":"/home/ada/shop","timestamp":"2026-11-22T10:00:00Z""#

    /// The inputs that the agents document.
    static let samples = [
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Claude needs your permission to use Bash","notification_type":"permission_prompt"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Needs your permission."
        ),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Claude needs your permission to use Bash"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Needs your permission."
        ),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Which?","notification_type":"elicitation_dialog"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Has a question."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Claude is waiting for your input","notification_type":"idle_prompt"}"#,
            nil),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Claude is waiting for your input"}"#,
            nil),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Done","notification_type":"agent_completed"}"#,
            nil),
        Sample(
            .claudeCode, #"{\#(claude),"hook_event_name":"Notification","notification_type":"auth_success"}"#,
            nil),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"All tests pass."}"#,
            "complete claude-code:s1 shop (Claude Code) | All tests pass."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"StopFailure","error":"rate_limit","error_details":"429","last_assistant_message":""}"#,
            "error claude-code:s1 Error: shop (Claude Code) | Claude Code reported an error."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"git push"}}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Wants to use Bash."),
        Sample(.claudeCode, #"{\#(claude),"hook_event_name":"SubagentStop","agent_id":"a1"}"#, nil),
        Sample(.claudeCode, #"{\#(claude),"hook_event_name":"Stop","agent_id":"a1"}"#, nil),
        Sample(.claudeCode, #"{\#(claude),"hook_event_name":"PreToolUse","tool_name":"Bash"}"#, nil),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"u1","tool_input":{"questions":[{"question":"Which port?","header":"Port","options":[]}]}}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Has a question."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"PreToolUse","tool_name":"ExitPlanMode","tool_use_id":"u1","tool_input":{"plan":"p"}}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Has a plan for your approval."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Needs you","notification_type":"agent_needs_input","prompt_id":"p1"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Needs your input."),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","notification_type":"elicitation_complete"}"#, nil),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","notification_type":"elicitation_response"}"#, nil),
        Sample(.claudeCode, "{}", nil),
        Sample(
            .codex,
            #"{"type":"agent-turn-complete","thread-id":"s1","turn-id":"t1","client":"codex-tui","cwd":"/home/ada/shop","input-messages":["x"],"last-assistant-message":"Renamed."}"#,
            "complete codex:s1 shop (Codex) | Renamed."),
        Sample(
            .codex,
            #"{\#(codex),"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":null}"#,
            "complete codex:s1 shop (Codex) | Codex is done."),
        Sample(
            .codex,
            #"{\#(codex),"hook_event_name":"PermissionRequest","tool_name":"shell","tool_input":{"command":"rm x","description":"d"}}"#,
            "permission codex:s1 Action Needed: shop (Codex) | Wants to use shell."),
        Sample(.codex, #"{"type":"session-start"}"#, nil),
        Sample(.codex, "{}", nil),
        Sample(
            .gemini,
            #"{\#(gemini),"hook_event_name":"Notification","notification_type":"ToolPermission","message":"Tool Edit requires editing","details":{}}"#,
            "permission gemini:s1 Action Needed: shop (Gemini CLI) | Gemini CLI needs your decision."),
        Sample(
            .gemini,
            #"{\#(gemini),"hook_event_name":"AfterAgent","prompt":"p","prompt_response":"Here.","stop_hook_active":false}"#,
            "complete gemini:s1 shop (Gemini CLI) | Here."),
        Sample(.gemini, #"{\#(gemini),"hook_event_name":"BeforeTool"}"#, nil),
        Sample(.gemini, #"{\#(gemini),"hook_event_name":"Notification","notification_type":"Other"}"#, nil),
        Sample(.generic, "", "complete generic:unknown Agent | Agent is done."),
        Sample(
            .generic, #"{"eventType":"error","session":"build","title":"Build 512","body":"failed"}"#,
            "error generic:build Error: Build 512 | failed"),
        Sample(.generic, #"{"eventType":"progress"}"#, nil),
        Sample(.generic, "[]", nil),
    ]

    private func event(_ agent: HookAgent, _ text: String, showsCommands: Bool = false) throws -> HookEvent? {
        let input: JSON.Value? =
            text.isEmpty ? .none : .some(try JSON.parse(Array(text.utf8), maxBytes: 1 << 20))
        switch HookVerdict.read(input, of: agent, showsCommands: showsCommands) {
        case .silent: return nil
        case .ring(let event): return event
        }
    }

    private func ring(_ sample: Sample, showsCommands: Bool = false, call: String = "1") throws -> Ring? {
        try event(sample.agent, sample.input, showsCommands: showsCommands)?.ring(sample.agent, call: call)
    }

    /// The identity by which the bridge recognises an event that several hooks report.
    private func identity(_ agent: HookAgent, _ members: String) throws -> HookEvent.Identity {
        let start = agent == .codex ? Self.codex : Self.claude
        return try #require(try event(agent, "{\(start),\(members)}")).identity
    }

    @Test("each documented input rings as expected", arguments: samples)
    func rings(sample: Sample) throws {
        let ring = try ring(sample)
        #expect(
            ring.map { "\($0.type.rawValue) \($0.session) \($0.title) | \($0.body)" } == sample.expected)
    }

    @Test("Codex's notify and its Stop hook of one turn ring once")
    func codexTurn() throws {
        let turns = Self.samples.filter { $0.agent == .codex && $0.expected?.hasPrefix("complete") == true }
        let keys = try turns.enumerated().map { try ring($1, call: "\($0)")?.key }
        #expect(keys.count == 2 && Set(keys).count == 1)
    }

    @Test("an end of a Codex turn after another hook continued it also rings once")
    func codexContinued() throws {
        func end(_ isContinued: Bool, _ text: String) throws -> HookEvent.Identity {
            try identity(
                .codex,
                #""hook_event_name":"Stop","stop_hook_active":\#(isContinued),"last_assistant_message":\#(text)"#
            )
        }
        let ends = [
            try end(false, "null"), try end(true, "null"), try end(true, #""Tests pass.""#),
            .mark("t1"),
        ]
        #expect(ends[0] == ends[3])
        #expect(ends[1] != ends[0] && ends[1] != ends[2] && ends[2] != ends[0])
        #expect(try end(true, "null") == ends[1])
    }

    @Test("ends of one Claude Code prompt ring once for each text")
    func claudeEnds() throws {
        func end(_ prompt: String, _ text: String, _ name: String = "Stop") throws -> HookEvent.Identity {
            try identity(
                .claudeCode, #"\#(prompt)"hook_event_name":"\#(name)","last_assistant_message":"\#(text)""#)
        }
        #expect(try end(#""prompt_id":"p1","#, "Done.") == .mark("p1\nDone."))
        #expect(try end(#""prompt_id":"p1","#, "Done, tested.") == .mark("p1\nDone, tested."))
        #expect(try end(#""prompt_id":"p2","#, "", "StopFailure") == .mark("p2\n"))
        // Earlier versions don't report the prompt.
        #expect(try end("", "Done.") == .call)
    }

    @Test("generic calls ring each time, unless they have an id")
    func generic() throws {
        let plain = try #require(try event(.generic, "{}"))
        #expect(plain.ring(.generic, call: "1")?.key != plain.ring(.generic, call: "2")?.key)
        let named = try #require(try event(.generic, #"{"id":"512"}"#))
        #expect(named.ring(.generic, call: "1")?.key == named.ring(.generic, call: "2")?.key)
    }

    @Test("a session ID that the relay would refuse is replaced by its hash")
    func longSessions() throws {
        let long = String(repeating: "é", count: 300)
        let rings = try [long, long + "x"].map {
            try #require(HookEvent(type: .complete, session: $0).ring(.codex, call: "1"))
        }
        #expect(rings[0].session.text.hasPrefix("codex:") && rings[0].session.text.utf8.count == 46)
        #expect(rings[0].session != rings[1].session)
        #expect(HookEvent(type: .complete, session: "a\0b").ring(.generic, call: "1") != nil)
    }

    @Test("an agent has a name, and Claude Code a short one")
    func names() {
        #expect(HookAgent(name: "claude") == .claudeCode && HookAgent(name: "claude-code") == .claudeCode)
        #expect(HookAgent(name: "codex") == .codex && HookAgent(name: "Claude") == nil)
    }

    @Test("agents that parse what a hook prints get an empty object")
    func answers() {
        #expect(HookAgent.gemini.answer(hasArgument: false) == "{}")
        #expect(HookAgent.codex.answer(hasArgument: false) == "{}")
        #expect(HookAgent.codex.answer(hasArgument: true) == nil)
        #expect(HookAgent.claudeCode.answer(hasArgument: false) == nil)
        #expect(HookAgent.generic.answer(hasArgument: false) == nil)
    }

    @Test("a command is shown only on request")
    func commands() throws {
        let request = try #require(Self.samples.first { $0.input.contains("git push") })
        #expect(try ring(request, showsCommands: true)?.body == "Bash: git push")
        #expect(try ring(request)?.body.contains("git") == false)
        let question = try #require(Self.samples.first { $0.input.contains("AskUserQuestion") })
        #expect(try ring(question, showsCommands: true)?.body == "Which port?")
    }
}

import JSON
import Testing

@testable import OpenCodeBridge

@Suite("Hooks of other agents", .timeLimit(.minutes(2)))
struct HookTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let agent: HookAgent
        let input: String
        /// The type, session and texts; `nil` if it stays silent.
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
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Claude needs your permission to use Bash"
        ),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Claude needs your permission to use Bash"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Claude needs your permission to use Bash"
        ),
        Sample(
            .claudeCode,
            #"{\#(claude),"hook_event_name":"Notification","message":"Which?","notification_type":"elicitation_dialog"}"#,
            "permission claude-code:s1 Action Needed: shop (Claude Code) | Which?"),
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
        Sample(.claudeCode, "{}", nil),
        Sample(
            .codex,
            #"{"type":"agent-turn-complete","thread-id":"s1","turn-id":"t1","cwd":"/home/ada/shop","input-messages":["x"],"last-assistant-message":"Renamed."}"#,
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
            "permission gemini:s1 Action Needed: shop (Gemini CLI) | Tool Edit requires editing"),
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

    private func ring(_ sample: Sample, showsCommands: Bool = false, now: EpochMilliseconds = 1) throws
        -> Ring?
    {
        let input: JSON.Value? =
            sample.input.isEmpty ? .none : .some(try JSON.parse(Array(sample.input.utf8), maxBytes: 1 << 20))
        switch HookVerdict.read(input, of: sample.agent, showsCommands: showsCommands) {
        case .silent: return nil
        case .ring(let event): return event.ring(sample.agent, now: now)
        }
    }

    @Test("each documented input rings as it should", arguments: samples)
    func rings(sample: Sample) throws {
        let ring = try ring(sample)
        #expect(
            ring.map { "\($0.type.rawValue) \($0.session) \($0.title) | \($0.body)" } == sample.expected)
    }

    @Test("Codex's notify and its Stop hook of one turn ring once")
    func codexTurn() throws {
        let turns = Self.samples.filter { $0.agent == .codex && $0.expected?.hasPrefix("complete") == true }
        let keys = try turns.enumerated().map { try ring($1, now: Int64($0))?.key }
        #expect(keys.count == 2 && Set(keys).count == 1)
    }

    @Test("what has no identifier is new each time")
    func marks() throws {
        let stop = try #require(Self.samples.first { $0.input.contains(#""Stop""#) })
        #expect(try ring(stop, now: 1)?.key != ring(stop, now: 2)?.key)
    }

    @Test("a command is shown only on request")
    func commands() throws {
        let request = try #require(Self.samples.first { $0.input.contains("git push") })
        #expect(try ring(request, showsCommands: true)?.body == "Bash: git push")
        #expect(try ring(request)?.body.contains("git") == false)
    }
}

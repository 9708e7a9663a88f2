import Foundation
import JSON
import Testing

@testable import AgentBridge

/// A hook input from an agent, recorded in `captures`.
struct Capture: Sendable {
    let agent: HookAgent
    let json: JSON.Value

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("captures")

    /// The names of all recorded inputs.
    static var names: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }

    init(_ name: String) throws {
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(name + ".json")))
        let record = try JSON.parse(bytes, maxBytes: 1 << 20)
        json = try #require(record["json"])
        agent = try #require(
            HookAgent.allCases.first { $0.rawValue.hasPrefix(name.prefix { $0 != "_" }) })
    }

    /// The verdict on the input: a type and text, or the reason for staying silent.
    func verdict(showsCommands: Bool) throws -> (type: String, text: String, title: String) {
        switch HookVerdict.read(json, of: agent, showsCommands: showsCommands) {
        case .silent(let reason): return ("silent", reason, "")
        case .ring(let event):
            let ring = try #require(event.ring(agent, call: "1"))
            return (ring.type.rawValue, ring.body, ring.title)
        }
    }
}

@Suite("Inputs recorded from the agents", .timeLimit(.minutes(2)))
struct CaptureTests {
    /// The expected verdict on a recorded input.
    struct Row: Sendable {
        let name: String
        /// The type, or `silent`.
        let type: String
        let text: String
        /// The text with `--show-commands`.
        let shown: String

        init(_ line: Substring) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            (name, type, text) = (cells[0], cells[1], cells[2])
            shown = cells.count > 3 ? cells[3] : cells[2]
        }
    }

    /// Per line: capture, type or `silent`, text or reason, and the text with `--show-commands` if it differs.
    ///
    /// Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0.
    static let table = """
        claude_Elicitation | permission | Has a question. | Which color do you want?
        claude_ElicitationResult | silent | ElicitationResult doesn't ring
        claude_Notification_elicitation_dialog | permission | Has a question. | Claude Code needs your input
        claude_Notification_elicitation_response | silent | elicitation_response doesn't ring
        claude_Notification_idle_prompt | silent | idle_prompt doesn't ring
        claude_Notification_permission_prompt | permission | Needs your permission. | Claude needs your permission
        claude_Notification_permission_prompt_plan | permission | Needs your permission. \
        | Claude Code needs your approval for the plan
        claude_PermissionRequest_AskUserQuestion | permission | Has a question. | Which database?
        claude_PermissionRequest_Bash | permission | Wants to use Bash. | Bash: touch /tmp/agt_c1
        claude_PermissionRequest_Bash_addRules | permission | Wants to use Bash. \
        | Bash: curl -s http://127.0.0.1:22000/health
        claude_PermissionRequest_Bash_subagent | permission | Wants to use Bash. | Bash: touch /tmp/agt_c2
        claude_PermissionRequest_ExitPlanMode | permission | Has a plan for your approval.
        claude_PermissionRequest_mcp__t__elicit_form_addRules | permission | Wants to use mcp__t__elicit_form.
        claude_PostToolBatch | silent | PostToolBatch doesn't ring
        claude_PostToolUse_Agent | silent | PostToolUse doesn't ring
        claude_PostToolUse_AskUserQuestion | silent | PostToolUse doesn't ring
        claude_PostToolUse_Bash | silent | PostToolUse doesn't ring
        claude_PostToolUse_Bash_subagent | silent | PostToolUse doesn't ring
        claude_PostToolUse_ExitPlanMode | silent | PostToolUse doesn't ring
        claude_PostToolUse_mcp__t__elicit_form | silent | PostToolUse doesn't ring
        claude_PreToolUse_Agent | silent | this tool asks no question
        claude_PreToolUse_AskUserQuestion | permission | Has a question. | Which database?
        claude_PreToolUse_Bash | silent | this tool asks no question
        claude_PreToolUse_Bash_subagent | silent | this tool asks no question
        claude_PreToolUse_ExitPlanMode | permission | Has a plan for your approval.
        claude_PreToolUse_mcp__t__elicit_form | silent | this tool asks no question
        claude_SessionEnd | silent | SessionEnd doesn't ring
        claude_SessionStart | silent | SessionStart doesn't ring
        claude_Stop | complete | Fixed the auth bug. All tests pass.
        claude_StopFailure_rate_limit | error | API Error: Request rejected (429) · boom
        claude_StopFailure_server_error | error | API Error: 500 boom. This is a server-side issue, usually \
        temporary — try again in a moment. If…
        claude_StopFailure_unknown | error | API Error: 400 boom
        claude_Stop_background_shell | silent | work continues in the background
        claude_Stop_background_subagent | silent | work continues in the background
        claude_SubagentStart | silent | SubagentStart doesn't ring
        claude_SubagentStop | silent | SubagentStop doesn't ring
        claude_UserPromptSubmit | silent | UserPromptSubmit doesn't ring
        claude_UserPromptSubmit_task_notification | silent | UserPromptSubmit doesn't ring
        codex_PermissionRequest_Bash | permission | Wants to use Bash. | Bash: touch /tmp/agt_xc1
        codex_PermissionRequest_mcp__t__elicit_form | permission | Wants to use mcp__t__elicit_form.
        codex_PostToolUse_Bash | silent | PostToolUse doesn't ring
        codex_PostToolUse_request_user_input | silent | PostToolUse doesn't ring
        codex_PostToolUse_spawn_agent | silent | PostToolUse doesn't ring
        codex_PreToolUse_Bash | silent | this tool asks no question
        codex_PreToolUse_mcp__t__elicit_form | silent | this tool asks no question
        codex_PreToolUse_request_user_input | permission | Has a question. | Which database?
        codex_PreToolUse_spawn_agent | silent | this tool asks no question
        codex_SessionEnd | silent | SessionEnd doesn't ring
        codex_SessionStart | silent | SessionStart doesn't ring
        codex_Stop | complete | Fixed the auth bug. All tests pass.
        codex_SubagentStart | silent | SubagentStart doesn't ring
        codex_SubagentStop | silent | SubagentStop doesn't ring
        codex_UserPromptSubmit | silent | UserPromptSubmit doesn't ring
        codex_UserPromptSubmit_subagent | silent | UserPromptSubmit doesn't ring
        codex_notify_subagent | silent | a sub-agent ended
        codex_notify_title_thread | silent | Codex generated a title
        codex_notify_turn | complete | Fixed the auth bug. All tests pass.
        gemini_AfterAgent | complete | Fixed the auth bug. All tests pass.
        gemini_AfterAgent_cancelled | silent | the turn failed or was cancelled
        gemini_AfterAgent_failed | silent | the turn failed or was cancelled
        gemini_AfterTool_ask_user | silent | AfterTool doesn't ring
        gemini_AfterTool_run_shell_command | silent | AfterTool doesn't ring
        gemini_BeforeAgent | silent | BeforeAgent doesn't ring
        gemini_BeforeTool_ask_user | permission | Has a question. | Which database
        gemini_BeforeTool_mcp_t_elicit_form | silent | this tool asks no question
        gemini_BeforeTool_run_shell_command | silent | this tool asks no question
        gemini_BeforeTool_write_file | silent | this tool asks no question
        gemini_Notification_ToolPermission_ask_user | permission | Has a question.
        gemini_Notification_ToolPermission_edit | permission | Wants to edit a file. | Edit: x.txt
        gemini_Notification_ToolPermission_exec | permission | Wants to run a command. | Shell: touch /tmp/agt_gc1
        gemini_Notification_ToolPermission_mcp | permission | Wants to use elicit_form of t.
        gemini_PreCompress | silent | PreCompress doesn't ring
        gemini_SessionEnd | silent | SessionEnd doesn't ring
        gemini_SessionStart | silent | SessionStart doesn't ring
        """.split(separator: "\n").map(Row.init)

    @Test("each rings as listed in the table, with the directory as title", arguments: table)
    func rings(row: Row) throws {
        let capture = try Capture(row.name)
        let plain = try capture.verdict(showsCommands: false)
        let shown = try capture.verdict(showsCommands: true)
        #expect(plain.type == row.type && shown.type == row.type, "\(plain)")
        #expect(plain.text == row.text && shown.text == row.shown, "\(plain) \(shown)")
        guard row.type != "silent" else { return }
        let folder = try #require(capture.json["cwd"]?.string?.split(separator: "/").last)
        let prefix = ["permission": "Action Needed: ", "error": "Error: "][row.type] ?? ""
        #expect(plain.title == "\(prefix)\(folder) (\(capture.agent.name))")
    }

    @Test("the table has every recorded input")
    func complete() {
        #expect(Capture.names.count == 74)
        #expect(Self.table.map(\.name).sorted() == Capture.names)
    }

    @Test("without --show-commands, no text has a command, a file's name or a question")
    func secrecy() throws {
        for row in Self.table where row.type == "permission" {
            let text = try Capture(row.name).verdict(showsCommands: false).text
            for part in ["agt_", "x.txt", "curl", "touch", "database", "color"] {
                #expect(!text.contains(part), "\(row.name): \(text)")
            }
        }
    }
}

import ChildProcess
import Foundation
import JSON
import Network
import Programs
import Testing

@testable import AgentBridge

@Suite("Hooks that report the same event", .timeLimit(.minutes(2)))
struct HookMemoryTests {
    /// Plays captures one after the other and returns which of them ring.
    private func played(_ names: [String]) throws -> [String] {
        var memory = HookMemoryContents()
        return try names.filter { name in
            let capture = try Capture(name)
            let verdict = HookVerdict.read(capture.json, of: capture.agent, showsCommands: false)
            guard case .ring(let event) = verdict else { return false }
            return memory.take(event, of: capture.agent, now: 1) == .rings
        }
    }

    @Test(
        "only the first of a prompt's hooks rings",
        arguments: [
            [
                "claude_PreToolUse_Bash", "claude_PermissionRequest_Bash",
                "claude_Notification_permission_prompt",
            ],
            ["claude_PermissionRequest_ExitPlanMode", "claude_Notification_permission_prompt_plan"],
            [
                "claude_PreToolUse_ExitPlanMode", "claude_PermissionRequest_ExitPlanMode",
                "claude_Notification_permission_prompt_plan",
            ],
            ["claude_PreToolUse_AskUserQuestion", "claude_PermissionRequest_AskUserQuestion"],
            ["claude_Elicitation", "claude_Notification_elicitation_dialog"],
            ["gemini_BeforeTool_ask_user", "gemini_Notification_ToolPermission_ask_user"],
        ])
    func prompts(names: [String]) throws {
        let rung = try played(names)
        #expect(rung.count == 1 && rung.first != names.last, "\(rung)")
    }

    @Test("without the immediate hook, the notification rings")
    func alone() throws {
        for name in [
            "claude_Notification_permission_prompt", "claude_Notification_elicitation_dialog",
            "gemini_Notification_ToolPermission_ask_user",
        ] {
            #expect(try played([name, name]) == [name, name])
        }
        // The permission for the tool is not the same prompt as the question that the tool then asks.
        let names = [
            "claude_PermissionRequest_mcp__t__elicit_form_addRules", "claude_Notification_elicitation_dialog",
        ]
        #expect(try played(names) == names)
        // The prompts belong to different runs.
        let others = ["claude_PermissionRequest_Bash", "claude_Notification_permission_prompt_plan"]
        #expect(try played(others) == others)
    }

    @Test("prompts in quick succession all ring, and so does a repeated prompt")
    func successive() throws {
        let names = [
            "claude_PermissionRequest_Bash", "claude_PermissionRequest_Bash",
            "claude_PermissionRequest_Bash_subagent", "claude_PermissionRequest_Bash_addRules",
            "codex_PermissionRequest_Bash", "codex_PermissionRequest_Bash",
            "codex_PreToolUse_request_user_input", "gemini_Notification_ToolPermission_exec",
            "gemini_Notification_ToolPermission_edit",
        ]
        #expect(try played(names) == names)
        let event = try permission()
        #expect(event.ring(.claudeCode, call: "1")?.key != event.ring(.claudeCode, call: "2")?.key)
    }

    @Test("a request with a tool-use ID rings once, however often it is reported")
    func named() throws {
        let event = try permission(["tool_use_id": "toolu_1"])
        #expect(event.identity == .mark("toolu_1"))
        #expect(event.ring(.claudeCode, call: "1")?.key == event.ring(.claudeCode, call: "2")?.key)
        let other = try permission(["tool_use_id": "toolu_2"])
        #expect(event.ring(.claudeCode, call: "1")?.key != other.ring(.claudeCode, call: "1")?.key)
    }

    private func permission(_ members: JSON.Value = [:]) throws -> HookEvent {
        var input = try #require(try Capture("claude_PermissionRequest_Bash").json.object)
        for member in members.object?.members ?? [] { input[member.name] = member.value }
        let verdict = HookVerdict.read(.object(input), of: .claudeCode, showsCommands: false)
        guard case .ring(let event) = verdict else { throw FileError("it doesn't ring") }
        return event
    }

    @Test("a flood of ends is limited for its session, and no permission is lost")
    func flood() throws {
        var memory = HookMemoryContents()
        let end = HookEvent(type: .complete, session: "s")
        let rung = (0..<100).filter { _ in memory.take(end, of: .generic, now: 5) == .rings }
        #expect(rung.count == Bounds.hookRingsMax)
        #expect(memory.take(end, of: .generic, now: 5) == .floods)
        #expect(memory.take(HookEvent(type: .complete, session: "t"), of: .generic, now: 5) == .rings)
        let event = try permission()
        for _ in 0..<1_000 { #expect(memory.take(event, of: .claudeCode, now: 5) == .rings) }
        let later = 5 + Bounds.hookFloodWindow.inMilliseconds
        #expect(memory.take(end, of: .generic, now: later) == .rings)
        // No event is suppressed after the clock was set back.
        #expect(memory.take(end, of: .generic, now: 5 - Bounds.hookFloodWindow.inMilliseconds) == .rings)
    }

    @Test("the file is read again, stays small, and invalid lines silence nothing")
    func file() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/new"
        let memory = try HookMemory(directory: path)
        try Data("nonsense\nrang -1 a\nrang 9999999999999999999 b\n\nknown".utf8)
            .write(to: URL(fileURLWithPath: path + "/hooks"))
        for number in 0..<Bounds.hookMemoriesMax + 10 {
            let event = HookEvent(type: .permission, session: "s", announces: "prompt \(number)")
            #expect(try memory.take(event, of: .codex, now: 1) == .rings)
        }
        let lines = try String(contentsOfFile: path + "/hooks", encoding: .utf8).split(separator: "\n")
        #expect(lines.count == Bounds.hookMemoriesMax && lines.allSatisfy { $0.hasPrefix("known ") })
        let last = HookEvent(
            type: .permission, session: "s", echoes: "prompt \(Bounds.hookMemoriesMax + 9)")
        #expect(try HookMemory(directory: path).take(last, of: .codex, now: 1) == .isKnown)
        #expect(try HookMemory(directory: path).take(last, of: .gemini, now: 1) == .rings)
        withExtendedLifetime(directory) {}
    }

    @Test("no concurrent call is lost")
    func concurrency() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let rung = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 * Bounds.hookRingsMax {
                group.addTask {
                    try HookMemory(directory: path)
                        .take(HookEvent(type: .error, session: "s"), of: .codex, now: 1) == .rings
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(rung == Bounds.hookRingsMax)
        withExtendedLifetime(directory) {}
    }
}

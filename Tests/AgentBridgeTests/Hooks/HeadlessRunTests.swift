import ChildProcess
import Foundation
import JSON
import Testing

@testable import AgentBridge

@Suite("Headless runs", .timeLimit(.minutes(2)))
struct HeadlessRunTests {
    private static let terminal = AgentProcess(arguments: ["node", "/usr/bin/gemini"], hasTerminal: true)

    private func isHeadless(
        _ agent: HookAgent, _ input: JSON.Value = [:], _ environment: [String: String] = [:],
        transcript: JSON.Value? = nil, _ processes: [AgentProcess] = []
    ) -> Bool {
        HeadlessRun.isHeadless(
            agent, input, environment, transcript: { _ in transcript }, ancestors: { processes })
    }

    @Test("Claude Code says how it was started")
    func claude() {
        for (name, expected) in [
            ("sdk-cli", true), ("sdk-py", true), ("cli", false), ("claude-vscode", false),
        ] {
            #expect(isHeadless(.claudeCode, [:], ["CLAUDE_CODE_ENTRYPOINT": name]) == expected)
        }
        #expect(!isHeadless(.claudeCode))
    }

    @Test("Codex names the client in notify's input and at the beginning of a session's file")
    func codex() throws {
        #expect(isHeadless(.codex, ["client": "codex_exec"]) && !isHeadless(.codex, ["client": "codex-tui"]))
        let directory = try TemporaryDirectory()
        let path = directory.path + "/rollout.jsonl"
        let input: JSON.Value = ["transcript_path": .string(path)]
        for (originator, expected) in [("codex_exec", true), ("codex-tui", false)] {
            let line = #"{"type":"session_meta","payload":{"originator":"\#(originator)"}}"#
            try Data((line + "\n{").utf8).write(to: URL(fileURLWithPath: path))
            #expect(HeadlessRun.isHeadless(.codex, input, [:]) == expected)
        }
        try Data("{".utf8).write(to: URL(fileURLWithPath: path))
        #expect(!HeadlessRun.isHeadless(.codex, input, [:]))
        #expect(!HeadlessRun.isHeadless(.codex, ["transcript_path": "/nowhere"], [:]))
        #expect(!HeadlessRun.isHeadless(.codex, ["transcript_path": nil], [:]))
        withExtendedLifetime(directory) {}
    }

    @Test("Gemini CLI is headless with a prompt, or without a terminal")
    func gemini() {
        let shell = AgentProcess(
            arguments: ["bash", "-c", "agent-bridge hook gemini"], hasTerminal: false)
        func process(_ arguments: [String], _ hasTerminal: Bool = true) -> AgentProcess {
            AgentProcess(
                arguments: ["node", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"] + arguments,
                hasTerminal: hasTerminal)
        }
        #expect(!isHeadless(.gemini, [:], [:], transcript: nil, [shell, Self.terminal]))
        #expect(!isHeadless(.gemini, [:], [:], transcript: nil, [shell, process(["-i", "fix it"])]))
        #expect(isHeadless(.gemini, [:], [:], transcript: nil, [shell, process(["-p", "fix it"])]))
        #expect(isHeadless(.gemini, [:], [:], transcript: nil, [shell, process(["--prompt=fix it"])]))
        #expect(isHeadless(.gemini, [:], [:], transcript: nil, [shell, process([], false)]))
        #expect(!isHeadless(.gemini, [:], [:], transcript: nil, [shell]))
    }

    @Test("the processes above this one are found")
    func ancestors() {
        let found = AgentProcess.ancestors()
        #expect(!found.isEmpty && found.count <= Bounds.ancestorProcessesMax)
        #expect(found.first?.arguments.isEmpty == false)
    }

    @Test(
        "permissions of headless runs never ring, and their ends ring on request",
        arguments: CaptureTests.table)
    func rings(row: CaptureTests.Row) throws {
        let capture = try Capture(row.name)
        func rings(_ run: HookRun) -> Bool {
            let verdict = HookVerdict.read(capture.json, of: capture.agent, showsCommands: false, run: run)
            if case .ring = verdict { return true }
            return false
        }
        #expect(!rings(.headless(rings: false)))
        #expect(rings(.headless(rings: true)) == ["complete", "error"].contains(row.type))
    }

    @Test("with bypassed permissions, only questions and plans ring")
    func bypassed() throws {
        let asks = try CaptureTests.table.filter { $0.type == "permission" }.filter { row in
            let capture = try Capture(row.name)
            var input = try #require(capture.json.object)
            guard input["permission_mode"] != nil else { return false }
            input["permission_mode"] = "bypassPermissions"
            let verdict = HookVerdict.read(.object(input), of: capture.agent, showsCommands: false)
            if case .ring = verdict { return true }
            return false
        }
        #expect(
            asks.map(\.name) == [
                "claude_PermissionRequest_AskUserQuestion", "claude_PermissionRequest_ExitPlanMode",
                "claude_PreToolUse_AskUserQuestion", "claude_PreToolUse_ExitPlanMode",
                "codex_PreToolUse_request_user_input",
            ])
    }
}

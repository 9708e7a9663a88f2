import ChildProcess
import Foundation
import JSON
import PushSealing
import Testing

@Suite("When hooks wait for the phone", .timeLimit(.minutes(5)))
struct AnswerWaitTests {
    @Test("without a key or a relay the hook rings as ever, and the terminal asks")
    func unanswerable() async throws {
        try await AgentStand.run(isKeyless: true) { stand in
            let hook = try await stand.starts("claude", HookInput.request())
            let ended = try await stand.ended(hook)
            #expect(ended.out.isEmpty && ended.errors.contains("the pairing has no key"), "\(ended)")
            let push = try await stand.rang(1)
            #expect(push["actions"] == nil && push["sealed"] == nil)
        }
        try await AgentStand.run { stand in
            let away = try await stand.starts(
                "claude", HookInput.request(), ["--answer"], ["BRIDGE_RELAY_URL": "http://127.0.0.1:1"])
            let ended = try await stand.ended(away)
            #expect(!ended.out.contains("hookSpecificOutput"), "\(ended)")
            let gemini = try await stand.starts(
                "gemini",
                [
                    "session_id": "s", "cwd": "/x/api", "hook_event_name": "BeforeTool", "timestamp": "1",
                    "tool_name": "ask_user", "tool_input": ["questions": [["question": "Which?"]]],
                ])
            let said = try await stand.ended(gemini)
            #expect(said.out == "{}\n" && said.errors.contains("doesn't accept decisions"), "\(said)")
            #expect(try await stand.asked(1).request == nil)
        }
    }

    @Test("Codex waits only while nobody is at the desk, at most as long as set, and gets strict members")
    func codex() async throws {
        var input = HookInput.request().object ?? JSON.Object()
        input["permission_suggestions"] = nil
        let request = JSON.Value.object(input)
        try await AgentStand.run { stand in
            let hook = try await stand.starts("codex", request)
            let asked = try await stand.asked(1)
            #expect(asked.properties.actions == ["once", "reject"])
            #expect((50...60).contains(try #require(asked.request?.end) - asked.sentAt))
            let reply = try stand.sealed("once", for: asked.id)
            #expect(try await stand.outcome(of: reply, to: asked.id) == "taken")
            #expect(try await stand.decision(hook) == HookInput.decision(["behavior": "allow"]))

            let refused = try await stand.starts("codex", request)
            let second = try await stand.asked(2)
            let no = try stand.sealed("reject", "No.", for: second.id)
            #expect(try await stand.outcome(of: no, to: second.id) == "taken")
            #expect(
                try await stand.decision(refused)
                    == HookInput.decision(["behavior": "deny", "message": "No."]))

            let brief = try await stand.starts("codex", request, ["--answer", "--answer-wait", "1"])
            let third = try await stand.asked(3)
            #expect(try await stand.isUndecided(brief))
            #expect(
                try await stand.outcome(of: try stand.sealed("once", for: third.id), to: third.id)
                    == "too_late")

            let terminal = try Terminal()
            try terminal.type("ls\n")
            let busy = try await stand.starts("codex", request, isSomeoneHere: true)
            let ended = try await stand.ended(busy)
            #expect(ended.out.isEmpty && ended.errors.contains("someone is typing"), "\(ended)")
            #expect(try await stand.asked(4).request == nil)

            // `exec` calls hooks even though it asks nobody.
            input["permission_mode"] = "bypassPermissions"
            #expect(try await stand.isUndecided(try await stand.starts("codex", .object(input))))
        }
    }

    @Test("install --answer adds waiting hooks with the agent's time limit, and install removes them again")
    func install() async throws {
        let directory = try TemporaryDirectory()
        func run(_ arguments: [String]) async throws -> String {
            let environment = ["HOME": directory.path, "PATH": "/usr/bin:/bin"]
            let program = try Program("agent-bridge", ["hook"] + arguments, environment: environment)
            #expect(try await program.ended() == 0, "\(program.output)")
            return program.output
        }
        #expect(try await run(["claude", "install"]).contains("PermissionRequest"))
        let said = try await run(["claude", "install", "--answer"])
        #expect(said.contains("run commands on this machine"), "\(said)")
        let path = directory.file(".claude/settings.json")
        let new = try JSON.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: path))), maxBytes: 1 << 16)
        let hook = new["hooks"]?["PermissionRequest"]?.array?.first?["hooks"]?.array?.first
        #expect(
            hook?["command"]?.string?.hasSuffix("hook claude-code --answer") == true
                && hook?["timeout"] == 600)
        #expect(new["hooks"]?["PostToolUse"] != nil)
        #expect(try await run(["claude", "install", "--answer"]).contains("already up to date"))
        _ = try await run(["claude", "install"])
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            !text.contains("--answer") && !text.contains("PostToolUse") && text.contains("PermissionRequest"))
        #expect(try await run(["gemini", "install", "--answer", "--print"]).contains("rings only"))
    }
}

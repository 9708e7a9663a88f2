import ChildProcess
import Foundation
import JSON
import Testing

@Suite("Hooks and their installation", .timeLimit(.minutes(2)))
struct HookTests {
    private static func permission(_ command: String) -> String {
        #"{"session_id":"s","prompt_id":"p","cwd":"/x/api","hook_event_name":"PermissionRequest","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"\#(command)"}}"#
    }

    private static let notification =
        #"{"session_id":"s","prompt_id":"p","cwd":"/x/api","hook_event_name":"Notification","notification_type":"permission_prompt","message":"Claude needs your permission"}"#

    @Test("a second prompt rings at once; the notification of a prompt that rang doesn't")
    func prompts() async throws {
        try await Chain.run(generation: 2, ["BRIDGE_SHOW_COMMANDS": "on"]) { chain in
            for command in ["git push", "git push", "rm x"] {
                let hook = try await chain.command(["hook", "claude", Self.permission(command)])
                #expect(hook.status == 0 && hook.output.isEmpty, "\(hook.output)")
            }
            let late = try await chain.command(["hook", "claude", "--debug", Self.notification])
            #expect(late.output.contains("another hook already reported it"), "\(late.output)")
            _ = try await chain.titles(atLeast: 3)
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 4).count == 4)
            let bodies = try await chain.stack.control.pushes(token: token(1)).compactMap {
                $0["payload"]?["aps"]?["alert"]?["body"]?.string
            }
            #expect(bodies.prefix(3) == ["Bash: git push", "Bash: git push", "Bash: rm x"])
        }
    }

    @Test("the end of a headless run rings with --headless; the file's settings come before variables")
    func headless() async throws {
        let end =
            #"{"session_id":"s","prompt_id":"p","cwd":"/x/api","hook_event_name":"Stop","last_assistant_message":"Done."}"#
        try await Chain.run(generation: 2, ["CLAUDE_CODE_ENTRYPOINT": "sdk-cli"]) { chain in
            let silent = try await chain.command(["hook", "claude", "--debug", end])
            #expect(silent.output.contains("only with --headless"), "\(silent.output)")
            let settings = chain.stack.directory.file("home/.config/agent-bridge")
            try FileManager.default.createDirectory(atPath: settings, withIntermediateDirectories: true)
            try Data("BRIDGE_HEADLESS=on\nBRIDGE_RELAY_URL=http://127.0.0.1:1\n".utf8)
                .write(to: URL(fileURLWithPath: settings + "/config"))
            let stale = try await chain.command(["hook", "claude", "--debug", "--headless", end])
            #expect(stale.output.contains("handed to the running bridge"), "\(stale.output)")
            #expect(try await chain.titles(atLeast: 1) == ["api (Claude Code)"])
            try await chain.bridge.stop()
            let direct = try await chain.command([
                "hook", "claude", "--debug", end.replacing("Done.", with: "All done."),
            ])
            #expect(direct.output.contains("http://127.0.0.1:1"), "\(direct.output)")
            try FileManager.default.removeItem(atPath: settings + "/config")
            try await chain.restartBridge()
            #expect(try await chain.titles(atLeast: 2).count == 2)
        }
    }

    @Test("Claude Code shows why nothing rings, and check does for all agents")
    func faults() async throws {
        try await Stack.run { stack in
            let environment = [
                "BRIDGE_RELAY_URL": "http://\(stack.http.endpoint)", "HOME": stack.directory.file("home"),
                "BRIDGE_OPENCODE_URL": "http://127.0.0.1:1",
            ]
            func command(_ arguments: [String]) async throws -> (status: Int32, output: String) {
                let program = try Program("agent-bridge", arguments, environment: environment)
                return (try await program.ended(), program.output)
            }
            let unpaired = try await command(["hook", "claude", Self.permission("ls")])
            let message = try JSON.parse(Array(unpaired.output.utf8), maxBytes: 1 << 16)
            #expect(message["systemMessage"]?.string?.contains("no phone is paired") == true)
            #expect(unpaired.status == 0)
            #expect(try await command(["hook", "claude", Self.permission("ls")]).output.isEmpty)
            #expect(try await command(["hook", "codex", Self.permission("ls")]).output.isEmpty)
            let pairing = try await command([
                "pair", "--local", "--json", "--advertise-host", "https://relay.example.org",
            ])
            #expect(pairing.status == 0, "\(pairing.output)")
            let alone = try await command(["hook", "claude", Self.permission("ls")])
            #expect(alone.output.contains("no device is registered"), "\(alone.output)")
            let check = try await command(["check"])
            #expect(
                check.output.contains("FAULT  hook claude-code: no device is registered"), "\(check.output)")
            #expect(check.output.contains("FAULT  hook codex: no phone is paired"), "\(check.output)")
        }
    }

    // MARK: Installation

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let environment = ["HOME": directory.path, "PATH": "/usr/bin:/bin"]
        let program = try Program("agent-bridge", ["hook"] + arguments, environment: environment)
        return (try await program.ended(), program.output)
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: directory.file(name), encoding: .utf8)
    }

    @Test(
        "install shows its changes, keeps other settings and can be repeated; uninstall restores them",
        arguments: [
            ("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json"),
            ("gemini", ".gemini/settings.json"),
        ])
    func installs(agent: String, file: String) async throws {
        let old = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"
        let url = URL(fileURLWithPath: directory.file(file))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(old.utf8).write(to: url)
        let shown = try await run([agent, "install", "--print"])
        #expect(shown.status == 0 && shown.output.contains("+") && shown.output.contains("hook \(agent)"))
        #expect(try read(file) == old, "--print writes nothing")
        let installed = try await run([agent, "install"])
        #expect(installed.status == 0 && installed.output.hasPrefix(shown.output), "\(installed.output)")
        #expect(installed.output.contains("BRIDGE_RELAY_URL") && installed.output.contains("pair"))
        let new = try JSON.parse(Array(try read(file).utf8), maxBytes: 1 << 16)
        #expect(new["model"] == "opus")
        let end = agent == "gemini" ? "AfterAgent" : "Stop"
        let command = new["hooks"]?[end]?.array?.last?["hooks"]?.array?.last?["command"]?.string
        #expect(command?.contains("/agent-bridge hook \(agent)") == true, "\(command ?? "none")")
        let again = try await run([agent, "install"])
        #expect(again.status == 0 && again.output.contains("already up to date"), "\(again.output)")
        #expect(try await run([agent, "uninstall"]).status == 0)
        let text = try read(file)
        let rest = try JSON.parse(Array(text.utf8), maxBytes: 1 << 16)
        #expect(rest["model"] == "opus" && !text.contains("agent-bridge"))
    }

    @Test("unsupported settings stay unchanged, and the command says what to add")
    func refuses() async throws {
        let url = URL(fileURLWithPath: directory.file(".gemini/settings.json"))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("{ // mine\n}\n".utf8).write(to: url)
        let said = try await run(["gemini", "install"])
        #expect(said.status == 78 && said.output.contains("isn't plain JSON"), "\(said.output)")
        #expect(said.output.contains("add this by hand") && said.output.contains("AfterAgent"))
        #expect(try read(".gemini/settings.json") == "{ // mine\n}\n")
        #expect(try await run(["generic", "install"]).status == 78)
        for words in [["claude", "install", "--what"], ["install", "--what"]] {
            #expect(try await run(words).status == 64)
        }
        let nameless = try await run(["install"])
        #expect(nameless.status == 78 && nameless.output.contains("claude, codex or gemini"))
    }

    @Test("on a terminal, install asks before it writes")
    func asks() async throws {
        for (answer, isWritten) in [("n", false), ("y", true)] {
            let bridge = Program.products.appendingPathComponent("agent-bridge").path
            let program = try Program(
                script: "terminal", ["[\"\(answer)\"]", bridge, "hook", "claude", "install"],
                environment: ["HOME": directory.path])
            #expect(try await program.ended() == 0, "\(program.output)")
            #expect(program.output.contains("Write this?"), "\(program.output)")
            let path = directory.file(".claude/settings.json")
            #expect(FileManager.default.fileExists(atPath: path) == isWritten)
        }
    }

    @Test("help for hooks says what they do and where they are configured")
    func help() async throws {
        let said = try await run(["--help"])
        #expect(said.status == 0)
        for part in ["install", "--print", "~/.claude/settings.json", "~/.codex/hooks.json", "~/.gemini/"] {
            #expect(said.output.contains(part), "\(part)")
        }
        #expect(try await run(["claude", "--help"]).output == said.output)
    }
}

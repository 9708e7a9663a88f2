import ChildProcess
import Foundation
import JSON
import Network
import Programs
import Testing

@testable import AgentBridge

@Suite("Agents' settings", .timeLimit(.minutes(2)))
struct HookSettingsTests {
    private static let all = [HookSettings.claudeCode, .codex, .gemini]

    private func value(_ text: String) throws -> JSON.Value {
        try JSON.parse(Array(text.utf8), maxBytes: 1 << 20)
    }

    @Test("hooks are added once for each event, in the agents' format", arguments: [0, 1, 2])
    func installs(index: Int) throws {
        let settings = Self.all[index]
        let new = try settings.installed(in: [:], program: "agent-bridge")
        let events = try #require(new["hooks"]?.object)
        let hooks = settings.hooks.filter { $0.part != .notices }
        #expect(events.members.map(\.name) == hooks.map(\.event))
        for (hook, member) in zip(hooks, events.members) {
            let group = try #require(member.value.array?.first)
            #expect(group["matcher"]?.string == hook.matcher)
            #expect(
                group["hooks"] == [
                    ["type": "command", "command": .string("agent-bridge hook \(settings.name)")]
                ])
            #expect(HookAgent(name: settings.name) == settings.agent)
        }
        #expect(try settings.installed(in: new, program: "/other/agent-bridge") == new)
        #expect(try settings.uninstalled(from: new) == [:])
    }

    @Test("hooks that wait for answers replace others and have the agent's time limit", arguments: [0, 1, 2])
    func answers(index: Int) throws {
        let settings = Self.all[index]
        let plain = try settings.installed(in: [:], program: "agent-bridge")
        let new = try settings.installed(in: plain, program: "agent-bridge", answers: true)
        #expect((new != plain) == settings.canAnswer)
        for hook in settings.hooks {
            let commands = try #require(new["hooks"]?[hook.event]?.array).flatMap { $0["hooks"]?.array ?? [] }
            let command = try #require(commands.first)
            #expect(commands.count == 1)
            let text = try #require(command["command"]?.string)
            #expect(text.hasSuffix("--answer") == (hook.part == .answers))
            #expect(command["timeout"] == (hook.part == .answers ? 600 : nil))
            #expect((command["statusMessage"] != nil) == (hook.part == .answers && settings.agent == .codex))
        }
        #expect(try settings.installed(in: new, program: "/other/agent-bridge", answers: true) == new)
        #expect(try settings.uninstalled(from: new) == [:])
        let again = try settings.installed(in: new, program: "agent-bridge")
        #expect(try settings.installed(in: again, program: "agent-bridge") == again)
        #expect(!String(decoding: again.encoded(), as: UTF8.self).contains("--answer"))
        #expect(again["hooks"]?["PostToolUse"] == nil)
    }

    @Test("existing settings stay in order, also after the hooks are removed")
    func keeps() throws {
        let old = try value(
            """
            {"model": "opus", "big": 1e400, "hooks": {
              "Stop": [{"hooks": [{"type": "command", "command": "say done", "timeout": 5}]}],
              "SessionStart": []}, "permissions": {"allow": ["Bash(ls)"]}}
            """)
        let new = try HookSettings.claudeCode.installed(in: old, program: "agent-bridge")
        #expect(new.object?.members.map(\.name) == ["model", "big", "hooks", "permissions"])
        #expect(new["hooks"]?["Stop"]?.array?.first == old["hooks"]?["Stop"]?.array?.first)
        #expect(new["hooks"]?["Stop"]?.array?.count == 2)
        #expect(try HookSettings.claudeCode.uninstalled(from: new) == old)
        #expect(try HookSettings.claudeCode.uninstalled(from: old) == old)
    }

    @Test(
        "the bridge's hook is recognized with a path, options, its former name and other hooks next to it",
        arguments: StateDirectory.names)
    func knows(name: String) throws {
        let old = try value(
            """
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"},
              {"type": "command", "command": "BRIDGE_DEBUG=on '/opt/my tools/\(name)' hook claude --debug"}]}]}}
            """)
        let new = try HookSettings.claudeCode.installed(in: old, program: "agent-bridge")
        #expect(new["hooks"]?["Stop"] == old["hooks"]?["Stop"])
        let without = try HookSettings.claudeCode.uninstalled(from: new)
        #expect(
            without
                == (try value(#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}"#)))
    }

    @Test(
        "settings with another structure aren't changed",
        arguments: ["[]", #"{"hooks": []}"#, #"{"hooks": {"Stop": {}}}"#])
    func refuses(text: String) throws {
        #expect(throws: HookSettingsError.self) {
            try HookSettings.claudeCode.installed(in: value(text), program: "agent-bridge")
        }
    }

    @Test("the files are where the agents look for them")
    func paths() {
        let home = ["HOME": "/home/ada"]
        #expect(HookSettings.claudeCode.path(home) == "/home/ada/.claude/settings.json")
        #expect(HookSettings.codex.path(home) == "/home/ada/.codex/hooks.json")
        #expect(HookSettings.gemini.path(home) == "/home/ada/.gemini/settings.json")
        #expect(HookSettings.codex.path(["CODEX_HOME": "/c", "HOME": "/home/ada"]) == "/c/hooks.json")
        #expect(HookSettings.claudeCode.path(["CLAUDE_CONFIG_DIR": "/c"]) == "/c/settings.json")
        #expect(HookSettings.gemini.path([:]) == nil)
    }

    @Test("docs/guide/agents.md names every file and hook in its table")
    func page() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        let file = root.appendingPathComponent("docs/guide/agents.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        for settings in Self.all {
            let row = try #require(page.split(separator: "\n").first { $0.contains("`\(settings.place)`") })
            for hook in settings.hooks {
                let matcher = hook.matcher.map { " of `\($0)`" } ?? ""
                #expect(row.contains("`\(hook.event)`\(matcher)"), "\(hook.event)")
            }
        }
    }

    @Test("a text keeps its indentation, and its difference shows the lines around the change")
    func texts() throws {
        let old = SettingsText.text(
            try value(#"{"a":1,"b":2,"c":[],"d":{},"e":"é\n","f":6,"g":7,"h":8,"i":9}"#), indent: "\t")
        #expect(old.hasPrefix("{\n\t\"a\": 1,\n") && old.hasSuffix("\n\t\"i\": 9\n}\n"))
        #expect(SettingsText.indent(of: old) == "\t" && SettingsText.indent(of: "{}") == "  ")
        #expect(SettingsText.difference(from: old, to: old).isEmpty)
        let new = old.replacing("\t\"i\": 9", with: "\t\"i\": [\n\t\t1\n\t]")
        #expect(
            SettingsText.difference(from: old, to: new) == [
                " \t\"f\": 6,", " \t\"g\": 7,", " \t\"h\": 8,", "-\t\"i\": 9", "+\t\"i\": [", "+\t\t1",
                "+\t]", " }",
            ])
    }

    @Test("a hook's fault is shown once, kept for check, and removed when the hook works")
    func faults() throws {
        let directory = try TemporaryDirectory()
        let faults = HookFaults(directory: directory.path)
        #expect(faults.sentences.isEmpty)
        let now = WallClock.system.now
        #expect(faults.note("no phone is paired", of: .codex, now: now))
        #expect(!faults.note("no phone is paired", of: .codex, now: now + 1))
        #expect(faults.note("the relay refused it", of: .gemini, now: now))
        #expect(
            faults.sentences == [
                "hook codex: no phone is paired (0 minutes ago)",
                "hook gemini: the relay refused it (0 minutes ago)",
            ])
        #expect(
            faults.note("no phone is paired", of: .codex, now: now + Bounds.hookFaultPause.inMilliseconds))
        faults.note(nil, of: .codex, now: now)
        #expect(faults.sentences.count == 1)
        withExtendedLifetime(directory) {}
    }
}

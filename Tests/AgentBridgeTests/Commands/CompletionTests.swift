import ProgramTesting
import Programs
import Testing

@testable import AgentBridge

@Suite("Help, completion scripts and the manual page", .timeLimit(.minutes(2)))
struct CompletionTests {
    private let check = TableCheck(BridgeCommand.table)

    @Test("every command, agent and flag is in each script", arguments: CompletionShell.allCases)
    func complete(shell: CompletionShell) {
        #expect(check.missing(from: shell).isEmpty)
        #expect(BridgeCommand.table.script(for: shell).contains("install uninstall"))
    }

    @Test(
        "every command, flag and variable is in the manual page and in the help, with its lines short enough")
    func texts() {
        #expect(
            check.missingFromManual.isEmpty && check.missingFromHelp.isEmpty && check.inconsistencies.isEmpty)
        let page = BridgeCommand.table.manualPage.replacing("\\-", with: "-")
        #expect(page.contains("OPENCODE_PASSWORD") && page.contains("\nagent-bridge hook AGENT"))
        for row in Settings.table where row != Settings.pairing.row {
            #expect(BridgeCommand.table.help().contains("  \(row.name), \(row.flag)"))
        }
    }

    @Test(
        "bash completes commands, agents, flags and files",
        arguments: [
            (["agent-bridge", "che"], ["check"]),
            (["agent-bridge", "hook", "c"], ["claude-code", "codex"]),
            (["agent-bridge", "serve", "--relay-u"], ["--relay-url"]),
            (["agent-bridge", "--relay-u"], ["--relay-url"]),
            (["agent-bridge", "serve", "--request-wait", ""], []),
            (["agent-bridge", "serve", "--config", "/etc/hostn"], ["/etc/hostname"]),
            (["agent-bridge", "hook", "codex", "in"], ["install"]),
            (["agent-bridge", "hook", "codex", "install", "--pri"], ["--print", "--private-sessions"]),
            (["agent-bridge", "completion", "z"], ["zsh"]),
            (["agent-bridge", "pair", "--sch"], ["--scheme"]),
            (["agent-bridge", "serve", "--sch"], []),
            (["agent-bridge", "pair", "--no"], ["--no-code", "--no-seal"]),
            (["agent-bridge", "seal", "--event-type", "comp"], ["complete"]),
        ])
    func bash(words: [String], found: [String]) throws { #expect(try check.bash(words) == found) }

    @Test(
        "the shells accept the scripts, and mandoc accepts the page",
        arguments: ["bash", "zsh", "fish", "mandoc"])
    func parses(program: String) throws { #expect(try check.problems(program).isEmpty) }

    @Test("a shell must be named")
    func shells() throws {
        #expect(try BridgeCommand.table.parse(["completion", "zsh"]) == .completion(.zsh))
        #expect(Program.run(["completion", "tcsh"], [:]) == .usage)
        #expect(Program.run(["completion"], [:]) == .usage)
        #expect(throws: UsageError.self) { try BridgeCommand.table.parse(["completion", "zsh", "fish"]) }
    }
}

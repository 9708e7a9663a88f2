import ProgramTesting
import Programs
import Testing

@testable import Relay

@Suite("Help, completion scripts and the manual page", .timeLimit(.minutes(2)))
struct CompletionTests {
    private let check = TableCheck(RelayCommand.table)

    @Test("Every command and every flag is in each script", arguments: CompletionShell.allCases)
    func complete(shell: CompletionShell) { #expect(check.missing(from: shell).isEmpty) }

    @Test(
        "Every command, flag and setting is in the manual page and in the help, with its lines short enough")
    func texts() {
        #expect(check.missingFromManual.isEmpty && check.missingFromHelp.isEmpty)
        #expect(RelayCommand.table.manualPage.contains("65 conflicting data in the target of a copy"))
        #expect(RelayCommand.table.hint("send") == "See relay send --help.")
        #expect(RelayCommand.table.hint() == "See relay --help.")
    }

    @Test("Every command has a summary of one sentence, and each flag takes the same wherever it is")
    func syntax() {
        #expect(check.inconsistencies.isEmpty)
        let flags = RelayCommand.all.flatMap(\.syntax.flags)
        func value(_ name: String) -> OptionValue? { flags.first { $0.name == name }?.value }
        #expect(value("--event-type") == .word(EventType.allCases.filter(\.rings).map(\.rawValue)))
        #expect(value("--apns-private-key-file") == .path)
        #expect(value("--relay-log-level") == .word(["debug", "info", "warning", "error"]))
    }

    @Test(
        "bash completes commands, flags and words",
        arguments: [
            (["relay", "dev"], ["devices"]), (["relay", "--apns-t"], ["--apns-team-id", "--apns-ttl"]),
            (["relay", "devices", "--js"], ["--json"]), (["relay", "devices", "--limi"], []),
            (["relay", "send", "--event-type", "comp"], ["complete"]),
            (["relay", "serve", "--port", ""], []),
            (["relay", "serve", "--relay-log-level", "w"], ["warning"]),
            (["relay", "completion", "z"], ["zsh"]),
            (["relay", "help", "rev"], ["revoke"]),
            (["relay", "check", "--apns-ca-file", "/etc/hostn"], ["/etc/hostname"]),
        ])
    func bash(words: [String], found: [String]) throws { #expect(try check.bash(words) == found) }

    @Test(
        "fish completes commands, flags and words", .enabled(if: TableCheck.hasFish),
        arguments: [
            ("relay dev", ["devices"]), ("relay --apns-t", ["--apns-team-id", "--apns-ttl"]),
            ("relay devices --js", ["--json"]), ("relay send --event-type comp", ["complete"]),
        ])
    func fish(line: String, found: [String]) throws { #expect(try check.fish(line) == found) }

    @Test("The shells take the scripts, and mandoc the page", arguments: ["bash", "zsh", "fish", "mandoc"])
    func parses(program: String) throws { #expect(try check.problems(program).isEmpty) }
}

import Foundation
import Testing

@testable import Relay

@Suite("Completion scripts and the manual page", .timeLimit(.minutes(2)))
struct CompletionTests {
    /// Each command's flags and options, as its command line takes them.
    private static var names: [String] {
        Command.allCases.flatMap { user in
            [user.rawValue] + CommandOption.allCases.filter { $0.users.contains(user) }.map(\.rawValue)
        }
            + Settings.table.flatMap { row in
                (row.flagRefusal == nil ? [row.flag] : []) + (row.isSecret ? [row.fileFlag] : [])
            }
    }

    @Test("Every command and every flag is in each script", arguments: CompletionShell.allCases)
    func complete(shell: CompletionShell) {
        // fish has long options without their dashes.
        let words = Set(shell.script.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init))
        for name in Self.names {
            let word = shell == .fish && name.hasPrefix("--") ? String(name.dropFirst(2)) : name
            #expect(words.contains(word), "\(name)")
        }
        #expect(words.contains("completion") && words.contains("man"))
    }

    @Test("Every command, flag and setting is in the manual page")
    func manual() {
        let page = ManualPage.text.replacing("\\-", with: "-")
        for name in Self.names + Settings.table.map(\.name) { #expect(page.contains(name), "\(name)") }
        for user in Command.allCases { #expect(page.contains(".SS relay \(user.rawValue)\n")) }
        #expect(page.contains("65 conflicting data in the target of a copy"))
    }

    @Test("Every command has a summary of one sentence, and each flag takes the same wherever it is")
    func syntax() {
        var values: [String: CommandSyntax.Value] = [:]
        for syntax in CommandSyntax.all {
            #expect(syntax.summary.hasSuffix(".") && syntax.summary.count > 20, "\(syntax.summary)")
            for flag in syntax.flags {
                // The shells can't complete what isn't a word or a file, whatever it is called.
                var value = flag.value
                if case .other = value { value = .other("") }
                #expect(values[flag.name] == nil || values[flag.name] == value, "\(flag.name)")
                values[flag.name] = value
            }
        }
        #expect(values["--event-type"] == .words(EventType.allCases.filter(\.rings).map(\.rawValue)))
        #expect(values["--apns-private-key-file"] == .file)
        #expect(values["--relay-log-level"] == .words(["debug", "info", "warning", "error"]))
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
    func bash(words: [String], found: [String]) throws {
        let script = """
            eval "$SCRIPT"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _relay
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let said = try Self.run(
            "/bin/bash", ["-c", script, "bash"] + words, script: CompletionShell.bash.script)
        #expect(said.status == 0 && said.output.split(separator: "\n").map(String.init) == found, "\(said)")
    }

    @Test(
        "fish completes commands, flags and words",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/fish")),
        arguments: [
            ("relay dev", ["devices"]), ("relay --apns-t", ["--apns-team-id", "--apns-ttl"]),
            ("relay devices --js", ["--json"]), ("relay send --event-type comp", ["complete"]),
        ])
    func fish(line: String, found: [String]) throws {
        let said = try Self.run(
            "/usr/bin/fish", ["--no-config", "-c", "printf %s $SCRIPT | source; complete -C '\(line)'"],
            script: CompletionShell.fish.script)
        let words = said.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(words == found, "\(said)")
    }

    @Test("The shells take the scripts, and mandoc the page", arguments: ["bash", "zsh", "fish", "mandoc"])
    func parses(program: String) throws {
        let path = program == "bash" ? "/bin/bash" : "/usr/bin/" + program
        // What isn't installed can't be asked; ./dev test installs it.
        guard FileManager.default.isExecutableFile(atPath: path) else { return }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("relay-" + UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = CompletionShell(rawValue: program)?.script ?? ManualPage.text
        try Data(text.utf8).write(to: file)
        let arguments = program == "mandoc" ? ["-T", "lint", "-W", "warning"] : ["-n"]
        let said = try Self.run(path, arguments + [file.path], script: "")
        let problems = said.output.split(separator: "\n").filter { !$0.contains("missing date") }
        #expect(problems.isEmpty && (said.status == 0 || program == "mandoc"), "\(said)")
    }

    /// Runs a program with a script in its environment.
    private static func run(
        _ path: String, _ arguments: [String], script: String
    ) throws -> (status: Int32, output: String) {
        // fish writes into it.
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("relay-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = [
            "PATH": "/usr/bin:/bin", "SCRIPT": script, "HOME": home.path, "LANG": "C.UTF-8",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
}

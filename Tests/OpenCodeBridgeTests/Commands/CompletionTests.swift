import Foundation
import Testing

@testable import OpenCodeBridge

@Suite("Completion scripts and the manual page", .timeLimit(.minutes(2)))
struct CompletionTests {
    private static var names: [String] {
        Command.allCases.map(\.rawValue) + Setting.allCases.map(\.flag) + HookAgent.allCases.map(\.rawValue)
            + ["--no-seal", "--png", "--json"]
    }

    @Test("every command, agent and flag is in each script", arguments: CompletionScript.allCases)
    func complete(shell: CompletionScript) {
        #expect(shell.text.contains("install uninstall --print"))
        // fish has long options without their dashes.
        let words = Set(shell.text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init))
        for name in Self.names {
            let word = shell == .fish && name.hasPrefix("--") ? String(name.dropFirst(2)) : name
            #expect(words.contains(word), "\(name)")
        }
    }

    @Test("every command, flag and variable is in the manual page")
    func manual() {
        let page = ManualPage.text.replacing("\\-", with: "-")
        for name in Self.names + Setting.allCases.map(\.variable) { #expect(page.contains(name), "\(name)") }
        #expect(page.contains("OPENCODE_PASSWORD") && page.contains("\nopencode-bridge hook AGENT"))
    }

    @Test(
        "bash completes commands, agents, flags and files",
        arguments: [
            (["opencode-bridge", "che"], ["check"]),
            (["opencode-bridge", "hook", "c"], ["claude-code", "codex"]),
            (["opencode-bridge", "serve", "--relay-u"], ["--relay-url"]),
            (["opencode-bridge", "--relay-u"], ["--relay-url"]),
            (["opencode-bridge", "serve", "--request-wait", ""], []),
            (["opencode-bridge", "serve", "--config", "/etc/hostn"], ["/etc/hostname"]),
            (["opencode-bridge", "hook", "codex", "in"], ["install"]),
            (["opencode-bridge", "hook", "codex", "install", "--pri"], ["--private-sessions", "--print"]),
            (["opencode-bridge", "completion", "z"], ["zsh"]),
            (["opencode-bridge", "pair", "--sch"], ["--scheme"]),
            (["opencode-bridge", "serve", "--sch"], []),
            (["opencode-bridge", "pair", "--no"], ["--no-seal"]),
        ])
    func bash(words: [String], found: [String]) throws {
        let script = """
            eval "$SCRIPT"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _opencode_bridge
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let said = try Self.run(
            "/bin/bash", ["-c", script, "bash"] + words, script: CompletionScript.bash.text)
        #expect(said.status == 0 && said.output.split(separator: "\n").map(String.init) == found, "\(said)")
    }

    @Test(
        "the shells accept the scripts, and mandoc accepts the page",
        arguments: ["bash", "zsh", "fish", "mandoc"])
    func parses(program: String) throws {
        let path = program == "bash" ? "/bin/bash" : "/usr/bin/" + program
        // What isn't installed can't be asked; ./dev test installs it.
        guard FileManager.default.isExecutableFile(atPath: path) else { return }
        let directory = try TestDirectory()
        let file = directory.path + "/text"
        let text = CompletionScript(rawValue: program)?.text ?? ManualPage.text
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let arguments = program == "mandoc" ? ["-T", "lint", "-W", "warning"] : ["-n"]
        let said = try Self.run(path, arguments + [file], script: "")
        withExtendedLifetime(directory) {}
        let problems = said.output.split(separator: "\n").filter { !$0.contains("missing date") }
        #expect(problems.isEmpty && (said.status == 0 || program == "mandoc"), "\(said)")
    }

    @Test("a shell must be named")
    func shells() throws {
        #expect(try Invocation(["completion", "zsh"]).operands == ["zsh"])
        #expect(Program.run(["completion", "tcsh"], [:]) == .usage)
        #expect(Program.run(["completion"], [:]) == .usage)
        #expect(throws: Invocation.Problem.self) { try Invocation(["completion", "zsh", "fish"]) }
    }

    /// Runs a program with a script in its environment.
    private static func run(
        _ path: String, _ arguments: [String], script: String
    ) throws -> (status: Int32, output: String) {
        // fish writes into it.
        let home = try TestDirectory()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = [
            "SCRIPT": script, "HOME": home.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        withExtendedLifetime(home) {}
        return (process.terminationStatus, output)
    }
}

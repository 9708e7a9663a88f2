import ChildProcess
import Foundation
package import Programs

/// Checks what is generated from a program's table of commands: help, completion scripts and the manual page.
package struct TableCheck: Sendable {
    private let table: CommandTable

    /// Creates a check for a table.
    package init(_ table: CommandTable) { self.table = table }

    private var words: [String] {
        let ofCommands = (table.commands + CommandTable.common).flatMap { command -> [String] in
            [command.name] + command.arguments.flatMap(\.value.words) + command.options.map(\.name)
        }
        return ofCommands + table.settings.flatMap(\.options).map(\.name)
    }

    /// The commands, words and flags that are missing from a completion script.
    package func missing(from shell: CompletionShell) -> [String] {
        let script = table.script(for: shell)
        let found = Set(script.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init))
        // fish writes long options without their dashes.
        return words.filter { word in
            !found.contains(shell == .fish && word.hasPrefix("--") ? String(word.dropFirst(2)) : word)
        }
    }

    /// The commands, flags and variables that are missing from the manual page.
    package var missingFromManual: [String] {
        let page = table.manualPage.replacing("\\-", with: "-")
        let chapters = (table.commands + CommandTable.common).map { ".SS \(table.program) \($0.name)\n" }
        return (chapters + words.filter { $0.hasPrefix("-") } + table.settings.map(\.name)).filter {
            !page.contains($0)
        }
    }

    /// What is missing from the help of the program and of its commands, and lines that are too long.
    package var missingFromHelp: [String] {
        var faults = (table.commands + CommandTable.common).map { "  \($0.name) " }.filter {
            !table.help().contains($0)
        }
        for command in table.commands {
            let help = table.help(command.name)
            let named = command.options.map { "  \($0.usage)\n" } + command.settings.map { "  \($0.name)" }
            faults += named.filter { !help.contains($0) }.map { "\(command.name): \($0)" }
            let others = table.settings.filter { !command.settings.contains($0) }.map { "  \($0.name)," }
            faults += others.filter(help.contains).map { "\(command.name) has no \($0)" }
            faults += (help + table.help()).split(separator: "\n").filter { $0.count > 100 }.map(String.init)
        }
        return faults
    }

    /// Commands whose summary isn't a sentence, and flags that take different values in different commands.
    package var inconsistencies: [String] {
        var faults = table.commands.filter { !$0.summary.hasSuffix(".") || $0.summary.count < 20 }.map(\.name)
        var values: [String: OptionValue] = [:]
        for flag in table.commands.flatMap(\.flags) {
            // The shells can only complete words and files, whatever the value is called.
            let isOpen = flag.takesValue && !flag.value.isPath && flag.value.words.isEmpty
            let value = isOpen ? .text("") : flag.value
            if let other = values[flag.name], other != value { faults.append(flag.name) }
            values[flag.name] = value
        }
        return faults
    }

    /// bash's completions for the last of the given words.
    package func bash(_ words: [String]) throws -> [String] {
        let script = """
            eval "$SCRIPT"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _\(table.program.replacing("-", with: "_"))
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        return try run("/bin/bash", ["-c", script, "bash"] + words, script: table.script(for: .bash)).lines
    }

    /// Whether fish is installed.
    package static let hasFish = FileManager.default.isExecutableFile(atPath: "/usr/bin/fish")

    /// fish's completions for a line.
    package func fish(_ line: String) throws -> [String] {
        let script = "printf %s $SCRIPT | source; complete -C '\(line)'"
        return try run(
            "/usr/bin/fish", ["--no-config", "-c", script], script: table.script(for: .fish)
        ).lines.map { String($0.prefix { $0 != "\t" }) }
    }

    /// A shell's errors about its script, or mandoc's about the manual page; empty if the program isn't installed.
    package func problems(_ program: String) throws -> [String] {
        let path = program == "bash" ? "/bin/bash" : "/usr/bin/" + program
        // ./dev test installs all of them.
        guard FileManager.default.isExecutableFile(atPath: path) else { return [] }
        let file = try makeTemporaryDirectory() + "/table"
        let text = CompletionShell(rawValue: program).map(table.script) ?? table.manualPage
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let arguments = program == "mandoc" ? ["-T", "lint", "-W", "warning"] : ["-n"]
        let said = try run(path, arguments + [file], script: "")
        let failure = said.status == 0 || program == "mandoc" ? [] : ["exit status \(said.status)"]
        return said.lines.filter { !$0.contains("missing date") } + failure
    }

    /// Runs a program with a script in its environment.
    private func run(
        _ path: String, _ arguments: [String], script: String
    ) throws -> (status: Int32, lines: [String]) {
        // fish writes into this directory.
        let home = try makeTemporaryDirectory()
        let environment = ["PATH": "/usr/bin:/bin", "SCRIPT": script, "HOME": home, "LC_ALL": "C.UTF-8"]
        let result = try ChildProcess.run(path, arguments, environment: environment)
        let said = result.output + result.errors
        return (result.status, said.split(separator: "\n").map(String.init))
    }
}

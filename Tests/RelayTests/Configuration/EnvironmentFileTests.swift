import ChildProcess
import Foundation
import Programs
import Testing

@testable import Relay

@Suite("Files of environment variables", .timeLimit(.minutes(2)))
struct EnvironmentFileTests {
    @Test(
        "They are read as systemd.exec(5) says",
        arguments: [
            ("A=1\nB=2\n", ["A": "1", "B": "2"]),
            ("A=1\nA=2", ["A": "2"]),
            ("# A=1\n; B=2\n  # C=3\n\nno assignment\nD=4", ["D": "4"]),
            ("A= x y \t\r\nB=\n", ["A": "x y", "B": ""]),
            (" A =1", ["A": "1"]),
            ("A='x\\n$y\n z' \n", ["A": "x\\n$y\n z"]),
            ("A=\"x\\n\\\"\\\\\\$ \" \n", ["A": "x\\n\"\\$ "]),
            ("A=x\\y\\\\z\nB=1\\\n2", ["A": "xy\\z", "B": "12"]),
            ("A='x' 'y'z'w'", ["A": "xyz'w'"]),
            ("A=b c\\\n", ["A": "b c"]),
            ("A=b \\\n", ["A": "b "]),
            ("A=x=y#z ;w", ["A": "x=y#z ;w"]),
            ("# comment \\\nA=1\nB=2", ["B": "2"]),
            ("A='open\nB=2", ["A": "open\nB=2"]),
        ])
    func rules(text: String, variables: [String: String]) {
        #expect(EnvironmentFile.parse(text) == variables)
    }

    @Test("They are read as systemd's own parser reads them", .enabled(if: Systemd.isThere))
    func differential() throws {
        var random = SystemRandomNumberGenerator()
        let letters = Array("Ab= \t\n\"'\\#;x\r")
        for _ in 0..<40 {
            // Names that systemd accepts come first, and characters that it would expand are left out.
            let text = (0..<12).map { index in
                "V\(index)=" + String((0..<24).map { _ in letters.randomElement(using: &random) ?? "x" })
                    + "\n"
            }.joined()
            let expected = try Systemd.parse(text)
            let found = EnvironmentFile.parse(text)
            for (name, value) in expected where name.hasPrefix("V") {
                #expect(found[name] == value, "\(name) of \(text.debugDescription)")
            }
            // systemd ignores other names, and its program leaves out empty values.
            let names = found.keys.filter { $0.hasPrefix("V") && Int($0.dropFirst()) != nil }
            #expect(
                names.allSatisfy { expected[$0] == found[$0] || found[$0] == "" },
                "\(text.debugDescription): \(expected)")
        }
    }
}

/// systemd's parser, as used by the program that reads a user's environment.d(5).
private enum Systemd {
    private static let program =
        "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"

    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

    static func parse(_ text: String) throws -> [String: String] {
        let folder = try makeTemporaryDirectory()
        let configuration = URL(fileURLWithPath: folder + "/environment.d")
        try FileManager.default.createDirectory(at: configuration, withIntermediateDirectories: false)
        try Data(text.utf8).write(to: configuration.appendingPathComponent("a.conf"))
        return unquoted(
            try ChildProcess.run(program, environment: ["XDG_CONFIG_HOME": folder]).output)
    }

    /// Parses systemd's output: one variable per line, with the value quoted as in a shell.
    private static func unquoted(_ output: String) -> [String: String] {
        var values: [String: String] = [:]
        for line in output.split(separator: "\n") {
            guard let sign = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: sign)...]
            values[String(line[..<sign])] =
                value.hasPrefix("$'") || value.hasPrefix("\"") ? unescaped(value) : String(value)
        }
        return values
    }

    private static func unescaped(_ text: Substring) -> String {
        var value = ""
        var isEscaped = false
        for character in text.drop(while: { $0 == "$" }).dropFirst().dropLast() {
            if isEscaped {
                value.append(["n": "\n", "t": "\t", "r": "\r"][character] ?? character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                value.append(character)
            }
        }
        return value
    }
}

import ChildProcess
import Foundation
import JSON
import Testing

@Suite("How commands get a secret", .timeLimit(.minutes(3)))
struct CommandSecretTests {
    private static let secret = "a secret of the test"

    @Test("The environment, a file and standard input work alike; an argument is refused with advice")
    func sources() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            let expected = try await CommandRun(["devices"], on: stack, ["RELAY_SECRET": Self.secret])
            #expect(expected.status == 0)
            #expect(expected.output.contains("1 device") && expected.output.contains("…00000001"))

            let file = stack.directory.file("secret")
            try Data((Self.secret + "\n").utf8).write(to: URL(fileURLWithPath: file))
            let fromFile = try await CommandRun(["devices", "--secret-file", file], on: stack)
            #expect(fromFile.output == expected.output)
            let relay = Program.products.appendingPathComponent("relay").path
            let piped = try Program(
                tool: "/bin/sh", ["-c", "\(relay) devices --secret-file - <\(file)"],
                environment: stack.environment
            )
            #expect(try await piped.ended() == 0)
            #expect(piped.output == expected.output)

            for arguments in [["--secret", Self.secret], ["--secret=" + Self.secret]] {
                let refused = try await CommandRun(["devices"] + arguments, on: stack)
                #expect(refused.status == 64)
                #expect(refused.output.contains("--secret-file") && refused.output.contains("RELAY_SECRET"))
                #expect(!refused.output.contains(Self.secret))
            }
            let both = try await CommandRun(
                ["devices"], on: stack, ["RELAY_SECRET": Self.secret, "RELAY_SECRET_FILE": file])
            #expect(both.status == 78 && !both.output.contains(Self.secret))
            let none = try await CommandRun(["devices"], on: stack)
            #expect(none.status == 64 && none.output.contains("no terminal"))
        }
    }

    @Test("On a terminal the secret is asked for without echo")
    func asked() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            let run = try await CommandRun.atTerminal(["devices"], answers: [Self.secret], on: stack)
            #expect(run.status == 0)
            #expect(run.output.contains("…00000001"))
            #expect(run.shown == [false] && run.isRestored)
            #expect(!run.terminal.contains(Self.secret))
            // No control sequences go to a pipe, whatever the other streams are.
            #expect(!run.output.contains("\u{1B}"))

            let nothing = try await CommandRun.atTerminal(["devices"], answers: [""], on: stack)
            #expect(nothing.status == 64 && nothing.isRestored)
        }
    }

    @Test("Ctrl-C at the prompt ends the command and restores the terminal")
    func interrupted() async throws {
        try await Stack.run { stack in
            let run = try await CommandRun.atTerminal(["devices"], answers: ["^C"], on: stack)
            #expect(run.status == 130 && run.isRestored)
            #expect(run.output.isEmpty)
        }
    }
}

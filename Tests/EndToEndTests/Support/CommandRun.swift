import Foundation
import JSON

/// A relay command that has ended.
struct CommandRun: Sendable {
    let status: Int32
    /// The output on both streams.
    let output: String

    /// Runs a command beside a stack's relay, on its database, and waits until it has ended.
    init(_ arguments: [String], on stack: Stack, _ more: [String: String] = [:]) async throws {
        let environment = stack.environment.merging(more) { $1 }
        let program = try Program("relay", arguments, environment: environment)
        status = try await program.ended()
        output = program.output
    }

    /// The output, parsed as a single JSON value.
    func json() throws -> JSON.Value { try JSON.parse(Array(output.utf8), maxBytes: 1 << 26) }

    /// A command that was run at a terminal.
    struct AtTerminal: Sendable {
        let status: Int
        /// The questions and messages on the terminal.
        let terminal: String
        /// Standard output.
        let output: String
        /// For each answer, whether the typed text was visible.
        let shown: [Bool]
        /// Whether the terminal's settings were restored.
        let isRestored: Bool
    }

    /// Runs a command at a terminal and answers its questions; `^C` stands for the key.
    static func atTerminal(
        _ arguments: [String], answers: [String], on stack: Stack, _ more: [String: String] = [:]
    ) async throws -> AtTerminal {
        let list = String(
            decoding: JSON.Value.array(answers.map { .string($0) }).encoded(), as: UTF8.self)
        let relay = Program.products.appendingPathComponent("relay").path
        let program = try Program(
            script: "terminal", [list, relay] + arguments,
            environment: stack.environment.merging(more) { $1 })
        guard try await program.ended() == 0, let said = program.lines.last else {
            throw Program.Failure(description: program.output)
        }
        let json = try JSON.parse(Array(said.utf8), maxBytes: 1 << 20)
        guard let status = json["status"]?.int, let terminal = json["terminal"]?.string,
            let output = json["output"]?.string, let shown = json["shown"]?.array,
            let isRestored = json["isRestored"]?.bool
        else { throw Program.Failure(description: said) }
        return AtTerminal(
            status: status, terminal: terminal, output: output, shown: shown.map { $0.bool == true },
            isRestored: isRestored)
    }
}

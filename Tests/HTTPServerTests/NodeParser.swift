import Foundation
import Testing

/// What Node's HTTP server made of one input.
struct NodeOutcome: Decodable, Sendable {
    struct Request: Decodable, Sendable {
        let method: String
        /// Hexadecimal, like `body`.
        let url: String
        let body: String
    }

    let requests: [Request]
    let error: String?
}

/// Runs `node-parser.mjs`, which starts a server on the loopback interface and sends it every input.
struct NodeParser {
    /// After so long the run is ended from outside.
    static let deadlineSeconds = 120

    private struct Greeting: Decodable {
        let version: String
        let methods: [String]
    }

    let methods: Set<String>
    let outcomes: [NodeOutcome]

    /// Asks Node about all inputs at once.
    init(_ inputs: [[UInt8]]) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "node-parser.mjs")
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "node-parser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (input, output) = (directory.appending(path: "in"), directory.appending(path: "out"))
        try Data(inputs.map { hexadecimal($0) + "\n" }.joined().utf8).write(to: input)
        try Data().write(to: output)

        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "\(Self.deadlineSeconds)", "node", script.path]
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = try FileHandle(forWritingTo: output)
        let status = try await withCheckedThrowingContinuation {
            (done: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { done.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { done.resume(throwing: error) }
        }
        try #require(status == 0, "node ended with \(status); it has to be installed (package nodejs)")

        let lines = try Data(contentsOf: output).split(separator: UInt8(ascii: "\n"))
        let decoder = JSONDecoder()
        methods = Set(try decoder.decode(Greeting.self, from: try #require(lines.first)).methods)
        outcomes = try lines.dropFirst().map { try decoder.decode(NodeOutcome.self, from: $0) }
        try #require(outcomes.count == inputs.count)
    }
}

/// The bytes in hexadecimal, small letters.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

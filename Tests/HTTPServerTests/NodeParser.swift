import ChildProcess
import Foundation
import Testing

/// The result of Node's HTTP server for one input.
struct NodeOutcome: Decodable, Sendable {
    struct Request: Decodable, Sendable {
        let method: String
        /// The request's URL in hexadecimal, like `body`.
        let url: String
        let body: String
    }

    let requests: [Request]
    let error: String?
}

/// Runs `node-parser.mjs`, which starts a server on loopback and sends it every input.
struct NodeParser {
    private struct Greeting: Decodable {
        let version: String
        let methods: [String]
    }

    let methods: Set<String>
    let outcomes: [NodeOutcome]

    /// Sends all inputs to Node at once.
    init(_ inputs: [[UInt8]]) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "node-parser.mjs")
        let input = Data(inputs.map { hexadecimal($0) + "\n" }.joined().utf8)
        let output = try await runNode([script.path], input: input)
        let lines = output.split(separator: UInt8(ascii: "\n"))
        let decoder = JSONDecoder()
        methods = Set(try decoder.decode(Greeting.self, from: try #require(lines.first)).methods)
        outcomes = try lines.dropFirst().map { try decoder.decode(NodeOutcome.self, from: $0) }
        try #require(outcomes.count == inputs.count)
    }
}

/// Runs Node and returns its output; kills it after `deadlineSeconds`.
func runNode(_ arguments: [String], input: Data = Data(), deadlineSeconds: Int = 120) async throws -> Data {
    let result = try await ChildProcess.finished(
        "/usr/bin/env", ["node"] + arguments, input: input, deadline: deadlineSeconds)
    try #require(
        result.status == 0, "node ended with \(result.status); it has to be installed (package nodejs)")
    return Data(result.output.utf8)
}

/// The bytes in lower-case hexadecimal digits.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

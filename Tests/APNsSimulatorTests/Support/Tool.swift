import Foundation

/// External programs that drive the simulator.
enum Tool: String {
    case curl, h2load, nghttp, timeout

    /// The maximum running time in seconds.
    static let deadline = 40

    struct Missing: Error, CustomStringConvertible {
        let tool: Tool
        var description: String {
            "\(tool.rawValue) is missing: install the Debian package \(tool.package)"
        }
    }

    /// The Debian package that contains it.
    var package: String {
        switch self {
        case .curl: "curl"
        case .h2load, .nghttp: "nghttp2-client"
        case .timeout: "coreutils"
        }
    }

    /// A program's output and exit status.
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs the program to completion; kills it after ``deadline``.
    func run(_ arguments: [String]) async throws -> Result {
        let path = try path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Tool.timeout.path)
        process.arguments = ["-k", "2", String(Self.deadline), path] + arguments
        let files = try TemporaryDirectory()
        process.standardOutput = try files.writing("output")
        process.standardError = try files.writing("errors")
        process.standardInput = FileHandle.nullDevice
        let status = try await process.runToEnd()
        return Result(status: status, output: try files.text("output"), errors: try files.text("errors"))
    }

    var path: String {
        get throws {
            let path = "/usr/bin/" + rawValue
            guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(tool: self) }
            return path
        }
    }
}

/// One process starts at a time: one that starts beside it may inherit the socket by whose end Foundation notices
/// the other's, which then seems to run as long as both do.
private let launching = NSLock()

extension Process {
    /// Starts the process and returns its exit status, or the negative number of the signal that ended it.
    func runToEnd() async throws -> Int32 {
        try await withCheckedThrowingContinuation { continuation in
            terminationHandler = { process in
                let status = process.terminationStatus
                continuation.resume(returning: process.terminationReason == .exit ? status : -status)
            }
            do { try launching.withLock { try run() } } catch { continuation.resume(throwing: error) }
        }
    }
}

/// A directory that is deleted after the test.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "simulator-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    func writing(_ name: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: file(name), contents: nil)
        return try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
    }
}

import ChildProcess
import Foundation

/// External programs that drive the simulator.
enum Tool: String {
    case curl, h2load, nghttp

    /// The maximum running time in seconds.
    static let deadline = 40

    struct Missing: Error, CustomStringConvertible {
        let tool: Tool
        var description: String {
            "\(tool.rawValue) is missing: install the Debian package \(tool.package)"
        }
    }

    /// The Debian package that contains the program.
    var package: String {
        switch self {
        case .curl: "curl"
        case .h2load, .nghttp: "nghttp2-client"
        }
    }

    /// Runs the program to completion; kills it after ``deadline``.
    func run(_ arguments: [String]) async throws -> ChildProcess.Result {
        try await ChildProcess.finished(try path, arguments, deadline: Self.deadline)
    }

    var path: String {
        get throws {
            let path = "/usr/bin/" + rawValue
            guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(tool: self) }
            return path
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
}

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

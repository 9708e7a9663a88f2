import APNsSimulator
import Foundation
import JSON

/// The built program as a separate process, with ports chosen by the system.
final class RunningSimulator: Sendable {
    let directory: TemporaryDirectory
    let ready: JSON.Value
    private let process = Process()
    private let printout: Printout
    private let end: Task<Int32, any Error>

    /// Starts the program and returns when it is ready.
    init(_ arguments: [String] = []) async throws {
        directory = try TemporaryDirectory()
        let pipe = Pipe()
        process.executableURL = Self.program
        process.arguments =
            ["--production-port", "0", "--sandbox-port", "0", "--control-port", "0"]
            + [
                "--certificate-file", directory.file("certificate.pem"), "--ready-file",
                directory.file("ready.json"),
            ]
            + arguments
        process.environment = ["PATH": "/usr/bin:/bin", "TMPDIR": directory.path]
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        printout = Printout(of: pipe.fileHandleForReading)
        end = Task { [process] in try await process.runToEnd() }
        _ = try await printout.line { $0.hasPrefix("Press Ctrl-C") }
        ready = try JSON.parse(Array(try directory.text("ready.json").utf8), maxBytes: 4_096)
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    }

    /// The path of the program next to the test bundle.
    static var program: URL {
        let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(
            "apns-simulator")
    }

    /// Runs the program to completion, for commands that don't serve.
    static func run(_ arguments: [String]) async throws -> Tool.Result {
        let files = try TemporaryDirectory()
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = try files.writing("output")
        process.standardError = try files.writing("errors")
        process.standardInput = FileHandle.nullDevice
        let status = try await process.runToEnd()
        return Tool.Result(status: status, output: try files.text("output"), errors: try files.text("errors"))
    }

    var certificateFile: String { directory.file("certificate.pem") }
    var controlURL: String { ready["controlURL"]?.string ?? "" }

    var webPushURL: String { ready["webPushURL"]?.string ?? "" }

    func url(_ environment: PushEnvironment) -> String {
        ready[environment == .production ? "productionURL" : "sandboxURL"]?.string ?? ""
    }

    /// The output read so far.
    var printed: [String] { get async { await printout.seen } }

    /// Waits for a line of output.
    @discardableResult
    func line(where isWanted: @Sendable (String) -> Bool) async throws -> String {
        try await printout.line(where: isWanted)
    }

    /// Sends a signal and returns the exit status.
    func stop(_ signal: Int32 = SIGTERM) async throws -> Int32 {
        kill(process.processIdentifier, signal)
        let status = try await end.value
        await printout.rest()
        return status
    }
}

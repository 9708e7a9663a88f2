import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Network

/// The built program as a separate process, with ports chosen by the system.
final class RunningSimulator: Sendable {
    let directory: TemporaryDirectory
    let ready: JSON.Value
    private let process: ChildProcess
    private let printout: Printout
    private let end: Task<Int32, Never>
    private let hasEnded = Lock(false)

    /// Starts the program and returns when it is ready.
    init(_ arguments: [String] = []) async throws {
        directory = try TemporaryDirectory()
        let pipe = Pipe()
        process = try ChildProcess(
            Self.program.path,
            ["--production-port", "0", "--sandbox-port", "0", "--control-port", "0"]
                + [
                    "--certificate-file", directory.file("certificate.pem"), "--ready-file",
                    directory.file("ready.json"),
                ]
                + arguments,
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": directory.path],
            output: pipe.fileHandleForWriting.fileDescriptor, errors: pipe.fileHandleForWriting.fileDescriptor
        )
        // The output only ends when no process has the pipe open for writing.
        try pipe.fileHandleForWriting.close()
        printout = Printout(of: pipe.fileHandleForReading)
        end = Task { [process, hasEnded] in
            let status = await process.ended()
            hasEnded.withLock { $0 = true }
            return status
        }
        _ = try await printout.line { $0.hasPrefix("Press Ctrl-C") }
        ready = try JSON.parse(Array(try directory.text("ready.json").utf8), maxBytes: 4_096)
    }

    deinit {
        hasEnded.withLock { if !$0 { kill(process.processIdentifier, SIGTERM) } }
    }

    /// The path of the program next to the test bundle.
    static var program: URL {
        let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(
            "apns-simulator")
    }

    /// Runs the program to completion, for commands that exit on their own.
    static func run(_ arguments: [String]) async throws -> ChildProcess.Result {
        try await ChildProcess.finished(program.path, arguments)
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
        let status = await end.value
        await printout.rest()
        return status
    }
}

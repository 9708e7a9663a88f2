import ChildProcess
import Foundation

/// A program of a Debian package that a test runs against.
package struct ExternalProgram: Sendable {
    /// What it is called.
    package let name: String
    /// The package that has it.
    package let package: String

    package static let nghttpd = ExternalProgram(name: "nghttpd", package: "nghttp2-server")
    package static let h2load = ExternalProgram(name: "h2load", package: "nghttp2-client")
    package static let curl = ExternalProgram(name: "curl", package: "curl")
    package static let node = ExternalProgram(name: "node", package: "nodejs")
    package static let python = ExternalProgram(name: "python3", package: "python3")

    /// Where it is.
    ///
    /// - Throws: ``SetupFailure`` that names the missing package: a test that can't run has failed.
    package func path() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":").map(
            String.init)
        for folder in folders + ["/usr/sbin"] {
            let path = folder + "/" + name
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw SetupFailure("\(name) is missing: install the Debian package \(package)")
    }

    /// Starts it; `stop()` ends it.
    package func start(_ arguments: [String]) throws -> RunningProgram {
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting
        let child = try ChildProcess(
            try path(), arguments, output: writing.fileDescriptor, errors: writing.fileDescriptor)
        try writing.close()
        return RunningProgram(child: child, output: pipe.fileHandleForReading)
    }

    /// Runs it to its end; what it printed and its exit status.
    package func run(_ arguments: [String]) async throws -> (output: String, status: Int32) {
        let running = try start(arguments)
        return await withCheckedContinuation { continuation in
            // Reading and waiting block, and the loop has the server to run meanwhile.
            Thread.detachNewThread {
                let output = running.readToEnd()
                continuation.resume(returning: (output, running.waitForExit()))
            }
        }
    }
}

/// A program that runs beside a test.
package final class RunningProgram: @unchecked Sendable {  // why: used by one thread at a time
    private let child: ChildProcess
    private let output: FileHandle
    private var hasEnded = false

    fileprivate init(child: ChildProcess, output: FileHandle) {
        self.child = child
        self.output = output
    }

    /// Ends it and waits for that; what it had printed.
    @discardableResult
    package func stop() -> String {
        if !hasEnded { kill(child.processIdentifier, SIGTERM) }
        let text = readToEnd()
        if !hasEnded { _ = waitForExit() }
        return text
    }

    /// The next line it prints.
    ///
    /// Blocks.
    package func readLine() -> String {
        var line: [UInt8] = []
        while let byte = try? output.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    fileprivate func readToEnd() -> String {
        String(decoding: (try? output.readToEnd()) ?? Data(), as: UTF8.self)
    }

    fileprivate func waitForExit() -> Int32 {
        hasEnded = true
        return child.waitForEnd()
    }
}

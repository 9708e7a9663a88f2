import ChildProcess
import Foundation

/// A program from a Debian package against which a test runs.
package struct ExternalProgram: Sendable {
    /// The program's name.
    package let name: String
    /// The Debian package that contains the program.
    package let package: String

    package static let nghttpd = ExternalProgram(name: "nghttpd", package: "nghttp2-server")
    package static let h2load = ExternalProgram(name: "h2load", package: "nghttp2-client")
    package static let curl = ExternalProgram(name: "curl", package: "curl")
    package static let node = ExternalProgram(name: "node", package: "nodejs")
    package static let python = ExternalProgram(name: "python3", package: "python3")

    /// The program's path.
    ///
    /// - Throws: ``SetupFailure`` with the missing package's name: a test that can't run has failed.
    package func path() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":").map(
            String.init)
        for folder in folders + ["/usr/sbin"] {
            let path = folder + "/" + name
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw SetupFailure("\(name) is missing: install the Debian package \(package)")
    }

    /// Starts the program; `stop()` ends it.
    package func start(_ arguments: [String]) throws -> RunningProgram {
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting
        let child = try ChildProcess(
            try path(), arguments, output: writing.fileDescriptor, errors: writing.fileDescriptor)
        try writing.close()
        return RunningProgram(child: child, output: pipe.fileHandleForReading)
    }

    /// Runs the program to completion; returns its output and exit status.
    package func run(_ arguments: [String]) async throws -> (output: String, status: Int32) {
        let running = try start(arguments)
        return await withCheckedContinuation { continuation in
            // Reading and waiting block, and the loop has to run the server meanwhile.
            Thread.detachNewThread {
                let output = running.readToEnd()
                continuation.resume(returning: (output, running.waitForExit()))
            }
        }
    }
}

/// A program running alongside a test.
package final class RunningProgram: @unchecked Sendable {  // why: used by one thread at a time
    private let child: ChildProcess
    private let output: FileHandle
    private var hasEnded = false

    fileprivate init(child: ChildProcess, output: FileHandle) {
        self.child = child
        self.output = output
    }

    /// Ends the program, waits until it has exited and returns its output.
    @discardableResult
    package func stop() -> String {
        if !hasEnded { kill(child.processIdentifier, SIGTERM) }
        let text = readToEnd()
        if !hasEnded { _ = waitForExit() }
        return text
    }

    /// The next line that the program prints.
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

import ChildProcess
import Foundation
import Glibc
import Network

/// A program of this package running as a separate process, with its output.
final class Program: Sendable {
    /// How long a program may usually take to print an awaited line, or to exit.
    static let deadline = Duration.seconds(30)

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var status: Int32?
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isOutputOver = false
    }

    private struct Waiter {
        let isDone: @Sendable ([String], Int32?) -> Bool
        let resume: CheckedContinuation<Bool, Never>
    }

    let name: String
    var processIdentifier: Int32 { child.processIdentifier }
    private let child: ChildProcess
    private let state = Lock(State())

    /// Starts the built product `name` with an environment of `environment` and `PATH` only.
    convenience init(_ name: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        try self.init(
            name, Self.products.appendingPathComponent(name), arguments,
            environment.merging(Self.noHost) { mine, _ in mine })
    }

    /// Keeps the tests from using a relay installed on this machine.
    private static let noHost = ["RELAY_ENV_FILE": "/dev/null"]

    /// Starts the built product `name` as an unprivileged user, even if the tests run as root.
    convenience init(asNobody name: String, _ arguments: [String], environment: [String: String]) throws {
        let program = Self.products.appendingPathComponent(name).path
        guard geteuid() == 0 else {
            try self.init(name, arguments, environment: environment)
            return
        }
        let change = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", program]
        try self.init(
            name, URL(fileURLWithPath: "/usr/bin/setpriv"), change + arguments,
            environment.merging(Self.noHost) { mine, _ in mine })
    }

    /// Starts a Python script from this file's directory.
    convenience init(
        script name: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/\(name).py"
        try self.init(name, URL(fileURLWithPath: "/usr/bin/python3"), [script] + arguments, environment)
    }

    /// Starts a program from the repository or the system.
    convenience init(
        tool: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws {
        let path = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        try self.init(tool, URL(fileURLWithPath: tool), arguments, environment.merging(path) { $1 })
    }

    private init(
        _ name: String, _ executable: URL, _ arguments: [String], _ environment: [String: String]
    ) throws {
        self.name = name
        // Closed on exec; otherwise a program started meanwhile would keep this one's output open.
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Failure(description: "pipe2: \(errno)") }
        let (reading, writing) = (ends[0], ends[1])
        defer { close(writing) }
        do {
            child = try ChildProcess(
                executable.path, arguments,
                environment: environment.merging(["PATH": "/usr/bin:/bin"]) { mine, _ in mine },
                output: writing, errors: writing)
        } catch {
            close(reading)
            throw error
        }
        Thread.detachNewThread { [weak self] in Self.read(reading) { self?.printed($0) } }
        Thread.detachNewThread { [weak self, child] in
            let status = child.waitForEnd()
            self?.change { $0.status = status }
        }
    }

    /// Passes on bytes as they arrive, and an empty slice once at the end.
    private static func read(_ descriptor: Int32, _ take: (ArraySlice<UInt8>) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            take(chunk[..<count])
        }
        close(descriptor)
        take([])
    }

    deinit {
        signal(SIGKILL)
    }

    /// The directory of the programs: `RELAY_TEST_PROGRAMS`, by default the one with the test bundle.
    static var products: URL {
        if let directory = ProcessInfo.processInfo.environment["RELAY_TEST_PROGRAMS"] {
            return URL(fileURLWithPath: directory)
        }
        return tests
    }

    /// The directory of the test bundle.
    static var tests: URL {
        let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: tests).deletingLastPathComponent()
    }

    /// The lines printed so far on both streams.
    var lines: [String] { state.withLock { $0.lines } }

    /// Sends a signal; does nothing after the program's end, when another process may have its ID.
    func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(processIdentifier, number) } }
    }

    /// Waits for a line that `matches` and returns it.
    func line(
        _ what: String, within limit: Duration = Program.deadline,
        where matches: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let found = await wait(within: limit) { lines, status in
            status != nil || lines.contains(where: matches)
        }
        if let line = lines.first(where: matches) { return line }
        throw Failure(
            description: "\(name) \(found ? "ended" : "did not say") before \(what); it printed:\n\(output)")
    }

    /// Waits until the program ends and returns its exit status, or the negative number of the signal that ended it.
    func ended() async throws -> Int32 {
        _ = await wait { _, status in status != nil }
        guard let status = state.withLock({ $0.status }) else {
            throw Failure(description: "\(name) did not end; it printed:\n\(output)")
        }
        return status
    }

    /// Sends SIGTERM and waits until the program has ended.
    @discardableResult
    func stop() async throws -> Int32 {
        signal(SIGTERM)
        return try await ended()
    }

    var output: String { lines.joined(separator: "\n") }

    private func printed(_ data: ArraySlice<UInt8>) {
        change { state in
            state.isOutputOver = data.isEmpty
            state.partial.append(contentsOf: data)
            while let end = state.partial.firstIndex(of: UInt8(ascii: "\n")) {
                state.lines.append(String(decoding: state.partial[..<end], as: UTF8.self))
                state.partial.removeSubrange(...end)
            }
        }
    }

    private func change(_ body: @Sendable (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            // A program's last output may arrive after its end.
            let status = state.isOutputOver ? state.status : nil
            let ready = state.waiters.filter { $0.value.isDone(state.lines, status) }
            for key in ready.keys { state.waiters[key] = nil }
            return Array(ready.values)
        }
        for waiter in ready { waiter.resume.resume(returning: true) }
    }

    private func wait(
        within limit: Duration = Program.deadline,
        until isDone: @escaping @Sendable ([String], Int32?) -> Bool
    ) async -> Bool {
        let timer = Lock<Task<Void, Never>?>(nil)
        let done = await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if isDone(state.lines, state.isOutputOver ? state.status : nil) { return nil }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = Waiter(isDone: isDone, resume: continuation)
                return state.nextWaiter
            }
            guard let number else { return continuation.resume(returning: true) }
            let task = Task { [weak self] in
                try? await Task.sleep(for: limit)
                guard !Task.isCancelled else { return }
                let waiter = self?.state.withLock { $0.waiters.removeValue(forKey: number) }
                waiter?.resume.resume(returning: false)
            }
            timer.withLock { $0 = task }
        }
        timer.withLock { $0?.cancel() }
        return done
    }
}

import ChildProcess
import Foundation
import Glibc
import JSON
import Network

/// A working set-up in which a test breaks one thing and then runs `relay check`.
final class CheckStand: Sendable {
    let directory: TemporaryDirectory
    let loop: EventLoop
    let apns: SimulatedAPNs
    /// The relay's settings.
    let environment: [String: String]
    private let port: ReservedPort

    private init(_ flags: [String]) async throws {
        directory = try TemporaryDirectory()
        loop = EventLoop(label: "check")
        // Like Apple's APNs, it doesn't know tokens that nobody registered.
        apns = try await SimulatedAPNs(in: directory, ["--unknown-tokens", "reject"] + flags, on: loop)
        port = try ReservedPort()
        environment = [
            "PORT": String(port.number), "RELAY_ADMIN_LISTEN": "127.0.0.1:0",
            "DATABASE_URL": "sqlite:" + directory.file("relay.db"), "APNS_CONNECT_TIMEOUT": "10s",
            "RELAY_DATABASE_TIMEOUT": "5s",
        ].merging(apns.environment) { $1 }
    }

    /// Starts a simulated APNs, passes the stand to `body` and shuts it down.
    static func run(simulator flags: [String] = [], _ body: (CheckStand) async throws -> Void) async throws {
        let stand = try await CheckStand(flags)
        let result: Result<Void, any Error>
        do { result = .success(try await body(stand)) } catch { result = .failure(error) }
        try await stand.apns.program.stop()
        await stand.loop.stop()
        try result.get()
    }

    /// Runs `relay check --json` with some settings changed, or removed if the new value is empty.
    func check(_ changes: [String: String] = [:], _ arguments: [String] = []) async throws -> CheckResult {
        let environment = environment.merging(changes) { $1 }
        return try await CheckResult(
            Program("relay", ["check", "--json"] + arguments, environment: environment))
    }

    /// Runs `relay serve`, which must refuse to start, and returns its status and what it printed.
    func refusedServe(_ changes: [String: String]) async throws -> (status: Int32, output: String) {
        let relay = try Program("relay", ["serve"], environment: environment.merging(changes) { $1 })
        let ended = try await relay.line("its end, or that it serves") {
            $0.contains("\"event\":\"start\"") || $0.contains("\"event\":\"fatal\"") || !$0.hasPrefix("{")
        }
        guard !ended.contains("\"event\":\"start\"") else {
            _ = try await relay.stop()
            return (0, relay.output)
        }
        return (try await relay.ended(), relay.output)
    }

    /// Writes a file and returns its path.
    func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws -> String {
        let path = directory.file(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        chmod(path, mode)
        return path
    }
}

/// The findings of `relay check --json`.
struct CheckResult: Sendable, CustomStringConvertible {
    let status: Int32
    let output: String
    let checks: [JSON.Value]

    init(_ program: Program) async throws {
        status = try await program.ended()
        output = program.output
        guard let json = try? JSON.parse(Array(output.utf8), maxBytes: 1 << 20),
            let checks = json["checks"]?.array,
            json["ok"]?.bool == (status == 0)
        else { throw Program.Failure(description: "no report (\(status)): \(output)") }
        self.checks = checks
    }

    /// The faults that failed, each once, in order.
    var failed: [String] { faults("failed") }

    /// The faults with warnings, each once, in order.
    var warned: [String] { faults("warning") }

    private func faults(_ status: String) -> [String] {
        var faults: [String] = []
        for check in checks where check["status"]?.string == status {
            guard let fault = check["fault"]?.string, !faults.contains(fault) else { continue }
            faults.append(fault)
        }
        return faults
    }

    /// The combined text about a fault, or about a part without faults.
    func text(_ name: String) -> String {
        checks.filter { $0["fault"]?.string == name || $0["check"]?.string == name && $0["fault"] == nil }
            .compactMap { "\($0["subject"]?.string ?? ""): \($0["text"]?.string ?? "")" }.joined(
                separator: "\n")
    }

    var description: String { "\(status): \(output)" }
}

/// A server on this machine that doesn't behave as it should.
final class FakeServer: Sendable {
    let port: UInt16
    private let listener: LoopBound<Listener>

    /// Listens, with TLS if a context is given, and sends `answer`, if any, to each client that sends something.
    init(on loop: EventLoop, tls: TLSServerContext? = nil, says answer: String = "") async throws {
        listener = try await loop.run { loop throws(NetworkError) in
            guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else {
                throw .badAddress("127.0.0.1")
            }
            var options = Listener.Options()
            options.tls = tls
            return LoopBound(
                try Listener(address, on: loop, options: options) { _ in Answerer(answer) }, on: loop)
        }
        port = await loop.run { [listener] _ in listener.value.localAddress.port }
    }

    private final class Answerer: ChannelHandler {
        private let answer: String

        init(_ answer: String) { self.answer = answer }

        func channelActive(_ channel: Channel) {}

        func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
            guard !answer.isEmpty else { return }
            channel.write(Array(answer.utf8))
            channel.closeAfterFlush(deadline: .seconds(1))
        }

        func channelReadEnded(_ channel: Channel) { channel.close() }

        func channelWritable(_ channel: Channel) {}

        func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {}
    }
}

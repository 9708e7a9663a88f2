import ChildProcess
import Foundation
import JSON
import Network
import PushSealing
import Testing

/// A stand-in for an OpenCode server, the bridge, the relay and the simulated APNs, each as a separate process.
final class Chain: Sendable {
    static let secret = "Kx3s0Q9-secret-of-the-chain"

    let stack: Stack
    /// The stand-in, `Support/opencode.py`.
    let server: Program
    private let serverHTTP: HTTPClient
    /// The secret that the phone registered under.
    let phoneSecret: String
    private let environment: [String: String]
    private let current: Lock<Program>

    /// The bridge that is running now.
    var bridge: Program { current.withLock { $0 } }

    private init(
        _ stack: Stack, _ server: Program, _ port: UInt16, _ environment: [String: String],
        _ phoneSecret: String
    )
        throws
    {
        self.phoneSecret = phoneSecret
        self.stack = stack
        self.server = server
        self.environment = environment
        serverHTTP = HTTPClient(endpoint: Endpoint(host: "127.0.0.1", port: port), loop: stack.loop)
        current = Lock(try Program("agent-bridge", ["serve"], environment: environment))
    }

    /// Starts everything with one registered phone, passes it to `body`, and stops the bridge, which must exit cleanly.
    ///
    /// - Parameters:
    ///   - isPreview: Whether a second-generation server is a preview release.
    ///   - settings: The bridge's settings.
    ///   - relaySettings: The relay's settings.
    ///   - key: The pairing's key, if texts are to be sealed. The simulated APNs uses it to open them.
    static func run(
        generation: Int, isPreview: Bool = false, _ settings: [String: String] = [:],
        relaySettings: [String: String] = [:],
        key: PairingSecret? = nil, _ body: (Chain) async throws -> Void
    ) async throws {
        let files = try TemporaryDirectory()
        var flags: [String] = []
        if let key {
            let pairing = try Pairing(relayURL: "https://r", hosts: ["http://127.0.0.1:4096"], key: key)
            try Data(pairing.json.utf8).write(to: URL(fileURLWithPath: files.file("pairing")))
            flags = ["--pairing-file", files.file("pairing")]
        }
        try await Stack.run(relaySettings, simulator: flags) { stack in
            try await stack.register(key?.relaySecret ?? secret, token(1))
            let server = try Program(script: "opencode", [isPreview ? "preview" : String(generation)])
            let line = try await server.line("its port") { $0.hasPrefix("port ") }
            let port = try #require(UInt16(line.dropFirst(5)))
            let secretFile = stack.directory.file("bridge-secret")
            try Data((key.map { "key:" + $0.base64URL } ?? secret).utf8).write(
                to: URL(fileURLWithPath: secretFile))
            let environment = [
                "BRIDGE_OPENCODE_URL": "http://127.0.0.1:\(port)",
                "BRIDGE_RELAY_URL": "http://\(stack.http.endpoint)", "BRIDGE_REQUEST_WAIT": "1",
                "BRIDGE_RELAY_SECRET_FILE": secretFile, "HOME": stack.directory.file("home"),
            ].merging(settings) { $1 }
            let chain = try Chain(stack, server, port, environment, key?.relaySecret ?? secret)
            do {
                try await chain.connected()
                try await body(chain)
            } catch {
                throw Program.Failure(description: "\(error)\nthe bridge printed:\n\(chain.bridge.output)")
            }
            let status = try await chain.bridge.stop()
            #expect(status == 0)
            #expect(!chain.bridge.output.contains("Fix auth"), "a title was logged")
            server.signal(SIGKILL)
        }
    }

    /// Starts the bridge again after it has exited.
    func restartBridge() async throws {
        let program = try Program("agent-bridge", ["serve"], environment: environment)
        current.withLock { $0 = program }
        try await connected()
    }

    /// Waits until the running bridge has connected `count` times.
    func connected(times count: Int = 1) async throws {
        _ = try await eventually {
            bridge.lines.count { $0.contains("connected to OpenCode") }
        } until: {
            $0 >= count
        }
    }

    /// Runs a bridge command with the same settings and waits until it has ended.
    func command(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let program = try Program("agent-bridge", arguments, environment: environment)
        return (try await program.ended(), program.output)
    }

    /// Triggers an event on the server.
    @discardableResult
    func does(_ name: String, _ arguments: JSON.Value = [:]) async throws -> JSON.Value {
        var call = arguments.object ?? JSON.Object()
        call["do"] = .string(name)
        let answer = try await serverHTTP.post("/_do", call)
        guard answer.status == 200 else { throw Program.Failure(description: server.output) }
        return try answer.json()
    }

    /// Triggers several events on the server with no time between them.
    func doesAtOnce(_ calls: JSON.Value) async throws { try await does("all", ["calls": calls]) }

    /// The titles of all notifications that reached the phone, in order, once there are at least `count`.
    func titles(atLeast count: Int) async throws -> [String] {
        try await eventually {
            try await stack.control.pushes(token: token(1)).compactMap {
                $0["payload"]?["aps"]?["alert"]?["title"]?.string
            }
        } until: {
            $0.count >= count
        }
    }

    /// The contents of the bridge's queue.
    func queueFile() throws -> String {
        let home = stack.directory.file("home")
        return try String(
            contentsOfFile: home + "/.local/state/agent-bridge/queue.jsonl", encoding: .utf8)
    }

    /// Runs a turn in a separate session, after which everything earlier has rung.
    func lastTurn(_ id: String = "ses_last") async throws {
        try await does("session", ["id": .string(id), "title": .string("Last " + id)])
        try await does("begin", ["id": .string(id)])
        try await does("end", ["id": .string(id), "outcome": "completed"])
    }
}

import ChildProcess
import Foundation
import JSON
import PushSealing
import Testing

/// A stand-in for an agent that runs its hooks, a relay, the simulated APNs, and a paired phone.
final class AgentStand: Sendable {
    let stack: Stack
    let key: PairingSecret
    private let environment: [String: String]
    private let clock: FakeClock

    private init(_ stack: Stack, _ key: PairingSecret, _ environment: [String: String], _ clock: FakeClock) {
        self.stack = stack
        self.key = key
        self.environment = environment
        self.clock = clock
    }

    /// Starts everything and passes it to `body`.
    ///
    /// - Parameter isKeyless: Whether the phone is paired with only a relay's secret.
    static func run(isKeyless: Bool = false, _ body: (AgentStand) async throws -> Void) async throws {
        let key = PairingSecret()
        let clock = try FakeClock()
        // Nobody has typed at this machine for an hour.
        try clock.set(ahead: 3600)
        try await Stack.run { stack in
            try await stack.register(isKeyless ? Chain.secret : key.relaySecret, token(1))
            let secretFile = stack.directory.file("bridge-secret")
            try Data((isKeyless ? Chain.secret : "key:" + key.base64URL).utf8).write(
                to: URL(fileURLWithPath: secretFile))
            let environment = [
                "BRIDGE_RELAY_URL": "http://\(stack.http.endpoint)", "BRIDGE_RELAY_SECRET_FILE": secretFile,
                "BRIDGE_STATE_DIRECTORY": stack.directory.file("state"), "HOME": stack.directory.file("home"),
            ]
            try await body(AgentStand(stack, key, environment, clock))
        }
    }

    // MARK: The agent

    /// A hook that has ended, and what it printed.
    struct Ended: Sendable {
        let status: Int
        let out: String
        let errors: String
    }

    /// Makes an agent call its hook.
    ///
    /// - Parameters:
    ///   - timeout: The agent's time limit in seconds.
    ///   - isSomeoneHere: Whether the hook uses the correct clock, by which typing here is recent.
    func starts(
        _ agent: String, _ input: JSON.Value, _ arguments: [String] = ["--answer"],
        _ settings: [String: String] = [:], timeout: Int = 600,
        isSomeoneHere: Bool = false
    ) async throws -> Program {
        let call: JSON.Value = ["input": input, "timeout": .int(timeout)]
        let bridge = Program.products.appendingPathComponent("agent-bridge").path
        let program = try Program(
            script: "agent",
            [String(decoding: call.encoded(), as: UTF8.self), "/usr/bin/env"]
                // Only the hook uses the shifted clock.
                + (isSomeoneHere ? [] : clock.environment.map { "\($0.key)=\($0.value)" })
                + [bridge, "hook", agent, "--debug"] + arguments,
            environment: environment.merging(settings) { $1 })
        _ = try await program.line("its start") { $0 == "started" }
        return program
    }

    /// Waits until a hook has ended.
    func ended(_ program: Program) async throws -> Ended {
        #expect(try await program.ended() == 0, "\(program.output)")
        let said = try JSON.parse(Array(try #require(program.lines.last).utf8), maxBytes: 1 << 20)
        return Ended(
            status: try #require(said["status"]?.int), out: try #require(said["out"]?.string),
            errors: try #require(said["errors"]?.string))
    }

    /// What the hook printed as JSON.
    func decision(_ program: Program) async throws -> JSON.Value {
        let ended = try await ended(program)
        #expect(ended.status == 0, "\(ended.errors)")
        return try JSON.parse(Array(ended.out.utf8), maxBytes: 1 << 20)
    }

    /// Whether the hook printed nothing, so that the terminal decides.
    func isUndecided(_ program: Program) async throws -> Bool {
        let ended = try await ended(program)
        return ended.status == 0 && ended.out.isEmpty
    }

    /// The decisions in the machine's log, without their times.
    func decisions() throws -> [String] {
        let text = try String(contentsOfFile: stack.directory.file("state/decisions.log"), encoding: .utf8)
        return text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return "\(words[1]) \(words[2]) \(words[4])"
        }
    }

    /// Advances the hooks' wall clock but not timers, as when a machine sleeps.
    func passes(seconds: Int) throws { try clock.set(ahead: 3600 + seconds) }

    // MARK: The phone

    /// The pushes that ring the phone.
    private func rings() async throws -> [JSON.Value] {
        try await stack.control.pushes(token: token(1)).compactMap { $0["payload"] }.filter {
            $0["clear"] == nil
        }
    }

    /// The text of push `number`, once it has arrived.
    func asked(_ number: Int) async throws -> SealedMessage {
        let pushes = try await eventually {
            try await rings()
        } until: {
            $0.count >= number
        }
        let sealed = try #require(pushes[number - 1]["sealed"]?.string)
        return try Envelope.open(sealed, type: "permission", with: [key.notificationKey])
    }

    /// Push `number` with its readable text, once it has arrived.
    func rang(_ number: Int) async throws -> JSON.Value {
        let pushes = try await eventually {
            try await rings()
        } until: {
            $0.count >= number
        }
        return pushes[number - 1]
    }

    /// A sealed reply to an event.
    func sealed(
        _ action: String, _ text: String? = nil, answers: [[String]]? = nil, for eventID: String
    ) throws -> JSON.Value {
        let reply = SealedReply(action: action, text: text, answers: answers, sentAt: 1)
        return ["sealed": .string(try reply.sealed(for: eventID, with: SealedReply.Key(key)))]
    }

    /// Sends a reply, waits for its result, and returns the outcome with its reason.
    func outcome(of reply: JSON.Value, to eventID: String) async throws -> String {
        var body = reply.object ?? JSON.Object()
        body["secret"] = .string(key.relaySecret)
        body["eventID"] = .string(eventID)
        body["timeout"] = 30
        let answer = try await stack.http.post("/v1/reply", body).json()
        let result = try #require(answer["result"], "\(answer)")
        guard let sealed = result["sealed"]?.string else {
            return [result["outcome"]?.string, result["reason"]?.string].compactMap(\.self).joined(
                separator: " ")
        }
        let opened = try SealedResult(
            opening: sealed, for: eventID, ofReply: reply["sealed"]?.string, with: [SealedResult.Key(key)])
        return [opened.outcome.rawValue, opened.reason].compactMap(\.self).joined(separator: " ")
    }
}

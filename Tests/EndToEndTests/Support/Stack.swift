import ChildProcess
import Foundation
import JSON
import Network
import PrometheusText

/// A relay and a simulated APNs as separate processes, with real TLS and HTTP/2 between them.
final class Stack: Sendable {
    static let teamID = "TEAM123456"
    static let keyID = "KEY1234567"
    static let bundleID = "com.example.app"

    let directory: TemporaryDirectory
    let loop: EventLoop
    let simulator: Program
    /// The relay's settings.
    let environment: [String: String]
    private let current: Lock<Program>
    private let address: Lock<Endpoint>
    let control: Control

    /// The relay that is running now.
    var relay: Program { current.withLock { $0 } }

    /// A client of the running relay.
    var http: HTTPClient { HTTPClient(endpoint: address.withLock { $0 }, loop: loop) }

    private init(
        directory: TemporaryDirectory, loop: EventLoop, simulator: Program, relay: Program, address: Endpoint,
        control: Control, environment: [String: String]
    ) {
        self.directory = directory
        self.loop = loop
        self.simulator = simulator
        self.environment = environment
        self.control = control
        current = Lock(relay)
        self.address = Lock(address)
    }

    /// Starts both, passes them to `body`, and stops them in order; the relay must exit with status 0.
    static func run(
        _ overrides: [String: String] = [:], simulator flags: [String] = [],
        _ body: (Stack) async throws -> Void
    ) async throws {
        let stack = try await start(overrides, flags)
        let result: Result<Void, any Error>
        do { result = .success(try await body(stack)) } catch { result = .failure(error) }
        let status = try await stack.relay.stop()
        try await stack.simulator.stop()
        await stack.loop.stop()
        guard case .success = result, status == 0 else {
            let said = "the relay ended with \(status) and printed:\n\(stack.relay.output)"
            if case .failure(let error) = result { throw Program.Failure(description: "\(error)\n\(said)") }
            throw Program.Failure(description: said)
        }
    }

    private static func start(_ overrides: [String: String], _ flags: [String]) async throws -> Stack {
        let directory = try TemporaryDirectory()
        let loop = EventLoop(label: "e2e")
        let apns = try await SimulatedAPNs(in: directory, flags, on: loop)
        let environment = [
            "PORT": "0", "RELAY_ADMIN_LISTEN": "127.0.0.1:0",
            "DATABASE_URL": "sqlite:" + directory.file("relay.db"), "RELAY_LOOPS": "2",
            "RELAY_EVENTS_PER_MINUTE": "1000000", "RELAY_REGISTRATIONS_PER_MINUTE": "1000000",
            "RELAY_UNKNOWN_SECRETS_PER_MINUTE": "1000000", "RELAY_DEVICE_PUSHES_PER_MINUTE": "1000000",
            "RELAY_DEVICE_SECRETS_PER_DAY": "1000000",
        ].merging(apns.environment) { $1 }.merging(overrides) { _, override in override }
        let relay = try Program("relay", ["serve"], environment: environment)
        return Stack(
            directory: directory, loop: loop, simulator: apns.program, relay: relay,
            address: try await listening(relay), control: apns.control, environment: environment)
    }

    /// Starts another relay on the same database after the first has exited.
    func restartRelay(_ overrides: [String: String] = [:]) async throws {
        let environment = environment.merging(overrides) { _, override in override }
        let relay = try Program("relay", ["serve"], environment: environment)
        let endpoint = try await Self.listening(relay)
        current.withLock { $0 = relay }
        address.withLock { $0 = endpoint }
    }

    /// The address in a relay's first log line.
    static func listening(_ relay: Program) async throws -> Endpoint {
        try await endpoint("listening", relay)
    }

    /// A client of the running relay's admin listener.
    var admin: HTTPClient {
        get async throws { HTTPClient(endpoint: try await Self.endpoint("admin", relay), loop: loop) }
    }

    /// The current metrics.
    func metrics() async throws -> PrometheusText {
        let answer = try await admin.get("/metrics")
        guard answer.status == 200 else { throw Program.Failure(description: "metrics: \(answer.text)") }
        return try PrometheusText(answer.text)
    }

    private static func endpoint(_ field: String, _ relay: Program) async throws -> Endpoint {
        let line = try await relay.line("it listens") { $0.contains("listening") }
        // The address is the same in JSON and in text: http://127.0.0.1:PORT.
        guard let name = line.range(of: field),
            let start = line[name.upperBound...].range(of: "://127.0.0.1:"),
            let port = UInt16(line[start.upperBound...].prefix { $0.isNumber })
        else { throw Program.Failure(description: "no address in: \(line)") }
        return Endpoint(host: "127.0.0.1", port: port)
    }

    // MARK: What clients do

    /// Registers a device, expects success, and returns in a later millisecond.
    func register(_ secret: String, _ token: String, environment: String? = nil, bundleID: String? = nil)
        async throws
    {
        var body = JSON.Object()
        body["secret"] = .string(secret)
        body["deviceToken"] = .string(token)
        body["apnsEnv"] = environment.map { .string($0) }
        body["bundleId"] = bundleID.map { .string($0) }
        let answer = try await http.post("/v1/device/register", body)
        guard answer.status == 200 else { throw Program.Failure(description: "register: \(answer.text)") }
        await Self.nextMillisecond()
    }

    /// Returns in a later millisecond: push services' reports only remove registrations older than the push.
    static func nextMillisecond() async {
        let now = milliseconds
        while milliseconds <= now { await Task.yield() }
    }

    private static var milliseconds: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    /// Posts an event and returns its result.
    func event(_ secret: String, _ more: JSON.Value = [:]) async throws -> EventResult {
        var body = JSON.Object()
        body["secret"] = .string(secret)
        body["eventType"] = "complete"
        body["sessionID"] = "ses_1"
        for member in more.object?.members ?? [] { body[member.name] = member.value }
        let answer = try await http.post("/v1/event", body)
        guard answer.status == 200 else { throw Program.Failure(description: "event: \(answer.text)") }
        return try EventResult(answer.json())
    }
}

/// A simulated APNs as a process, with a key that it accepts.
struct SimulatedAPNs {
    let program: Program
    let control: Control
    /// The settings with which a relay pushes to it.
    let environment: [String: String]

    /// Starts the simulator with its files in a directory.
    init(in directory: TemporaryDirectory, _ flags: [String], on loop: EventLoop) async throws {
        let key = directory.file("key.p8")
        let keyMaker = try Program("apns-simulator", ["key", "--out", key])
        _ = try await keyMaker.ended()
        program = try Program(
            "apns-simulator",
            [
                "--public-key", key + ".pub", "--key-id", Stack.keyID, "--team-id", Stack.teamID,
                "--certificate-file", directory.file("simulator.pem"), "--ready-file",
                directory.file("ready.json"),
                "--production-port", "0", "--sandbox-port", "0", "--control-port", "0",
            ] + flags)
        _ = try await program.line("it serves") { $0.contains("Control") || $0.contains("control") }
        let ready = try JSON.parse(
            Array(try Data(contentsOf: URL(fileURLWithPath: directory.file("ready.json")))), maxBytes: 65_536)
        func port(_ name: String) throws -> UInt16 {
            guard let port = ready[name]?.int else {
                throw Program.Failure(description: "no \(name) in \(ready)")
            }
            return UInt16(port)
        }
        control = Control(
            http: HTTPClient(endpoint: Endpoint(host: "127.0.0.1", port: try port("controlPort")), loop: loop)
        )
        var environment = [
            "APNS_TEAM_ID": Stack.teamID, "APNS_KEY_ID": Stack.keyID, "APNS_PRIVATE_KEY_FILE": key,
            "APNS_DEFAULT_BUNDLE_ID": Stack.bundleID, "APNS_CA_FILE": directory.file("simulator.pem"),
            "APNS_PRODUCTION_URL": "https://localhost:\(try port("productionPort"))",
            "APNS_SANDBOX_URL": "https://localhost:\(try port("sandboxPort"))",
        ]
        if let url = ready["webPushURL"]?.string {
            environment["RELAY_VAPID_SUBJECT"] = "mailto:push@example.org"
            environment["RELAY_WEBPUSH_CA_FILE"] = directory.file("simulator.pem")
            environment["RELAY_WEBPUSH_HOSTS"] = String(url.dropFirst("https://".count))
        }
        self.environment = environment
    }
}

extension HTTPClient {
    func post(_ path: String, _ body: JSON.Object) async throws -> Answer {
        try await post(path, String(decoding: JSON.Value.object(body).encoded(), as: UTF8.self))
    }
}

/// The response to an event.
struct EventResult: Sendable {
    let sent: Int
    let failed: Int
    let queued: Int
    /// The delivery for each device, by the token's last eight characters.
    let deliveries: [String: JSON.Value]

    init(_ json: JSON.Value) throws {
        guard let sent = json["sent"]?.int, let failed = json["failed"]?.int, let queued = json["queued"]?.int
        else { throw Program.Failure(description: "no counts in \(json)") }
        self.sent = sent
        self.failed = failed
        self.queued = queued
        deliveries = Dictionary(
            (json["deliveries"]?.array ?? []).map { ($0["device"]?.string ?? "", $0) },
            uniquingKeysWith: { $1 })
    }

    func status(_ token: String) -> String? { deliveries["…" + token.suffix(8)]?["status"]?.string }

    func reason(_ token: String) -> String? { deliveries["…" + token.suffix(8)]?["reason"]?.string }

    func isRemoved(_ token: String) -> Bool { deliveries["…" + token.suffix(8)]?["removed"]?.bool == true }
}

/// The simulator's control API.
struct Control: Sendable {
    let http: HTTPClient

    private func ok(_ answer: HTTPClient.Answer) throws -> JSON.Value {
        guard answer.status == 200 else { throw Program.Failure(description: "control: \(answer.text)") }
        return try answer.json()
    }

    @discardableResult
    func put(_ path: String, _ value: JSON.Value) async throws -> JSON.Value {
        let body = String(decoding: value.encoded(), as: UTF8.self)
        return try ok(try await http.send("PUT", path, body: body))
    }

    @discardableResult
    func post(_ path: String, _ value: JSON.Value = [:]) async throws -> JSON.Value {
        try ok(try await http.post(path, String(decoding: value.encoded(), as: UTF8.self)))
    }

    func delete(_ path: String) async throws { _ = try ok(try await http.send("DELETE", path)) }

    /// Every push that the simulator received, in order, for one device or for all.
    func pushes(token: String? = nil) async throws -> [JSON.Value] {
        var all: [JSON.Value] = []
        var cursor = 0
        while true {
            let filter = token.map { "&token=\($0)" } ?? ""
            let page = try ok(try await http.get("/pushes?limit=10000&since=\(cursor)\(filter)"))
            all += page["pushes"]?.array ?? []
            cursor = page["next"]?.int ?? 0
            guard page["more"]?.bool == true else { return all }
        }
    }

    /// The open connections.
    func connections() async throws -> [JSON.Value] {
        try ok(try await http.get("/connections"))["connections"]?.array ?? []
    }

    /// Counts of one environment, such as `accepted`, `acceptedTwice` and `connections`.
    func stats(_ environment: String = "production") async throws -> JSON.Value {
        try ok(try await http.get("/stats"))[environment] ?? .null
    }
}

/// A device token of 64 characters, the same for the same number.
func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "ab", count: 24) + String(repeating: "0", count: 16 - digits.count) + digits
}

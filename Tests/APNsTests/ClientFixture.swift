import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

/// A client, a scripted server, and everything that the client reported.
///
/// Confined to the loop.
final class ClientFixture {
    let server: ScriptedServer
    let client: Client
    let watch: Watch
    /// The outcomes by `apns-id`, in order; a push with two outcomes fails the test.
    private(set) var outcomes: [String: [Outcome]] = [:]
    private(set) var events: [ClientConnectionEvent] = []
    private(set) var sent = 0
    /// The client's wall clock in seconds since 1970; changing only this simulates setting the clock.
    var date: Int64 = 1_800_000_000
    private var monotonicSeconds: UInt64 = 1_000

    private final class Box {
        weak var fixture: ClientFixture?
    }

    init(
        on loop: isolated EventLoop, limits: ServerLimits = ServerLimits(),
        change: (inout ClientSettings) -> Void = { _ in }
    ) throws {
        let files = try CertificateFiles()
        let server = try ScriptedServer(on: loop, certificate: files, limits: { limits })
        self.server = server
        var settings = ClientSettings()
        settings.backoffBase = .milliseconds(10)
        // The machine may be slow; tests for deadlines set a shorter timeout.
        settings.pushTimeout = .seconds(60)
        change(&settings)
        let watch = Watch(on: loop)
        self.watch = watch
        let key = KeyText(try SelfSignedCertificate().privateKey)
        let box = Box()
        client = Client(
            endpoint: server.endpoint, tls: try TLSClientContext(caFile: files.certificate, alpn: ["h2"]),
            tokens: ProviderTokenSource(
                try ProviderCredentials(teamID: "TEAM567890", keyID: "KEY4567890", key: key)),
            on: loop, settings: settings, tokenTime: { box.fixture?.tokenTime ?? .current }, random: { 0.5 })
        box.fixture = self
        client.onEvent = { event in
            box.fixture?.events.append(event)
            watch.changed()
        }
    }

    private var tokenTime: TokenTime {
        TokenTime(
            epochSeconds: date, monotonic: MonotonicTime(nanoseconds: monotonicSeconds * 1_000_000_000))
    }

    /// Advances both clocks, which ages the provider tokens.
    func pass(seconds: Int) {
        date += Int64(seconds)
        monotonicSeconds += UInt64(seconds)
    }

    /// A push whose `apns-id` is `id`.
    static func push(_ id: String, collapseID: String? = nil) throws -> Push {
        let notification = Notification(
            topic: try #require(Topic("com.example.app")), expiration: 1_800_086_400,
            collapseID: collapseID.flatMap { CollapseID($0) }, payload: Array("{\"aps\":{}}".utf8))
        return Push(
            notification, to: try #require(DeviceToken("00112233445566778899aabbccddeeff")), id: id)
    }

    /// Sends pushes, numbered after the last one sent.
    func send(_ count: Int, then: @escaping (ClientFixture, Outcome) -> Void = { _, _ in }) throws {
        for _ in 0..<count {
            let id = "push-\(sent)"
            sent += 1
            client.send(try Self.push(id)) { [self] outcome in
                outcomes[id, default: []].append(outcome)
                then(self, outcome)
                watch.changed()
            }
        }
    }

    /// Waits until every sent push has an outcome.
    func settle(on loop: isolated EventLoop) async {
        let isSettled = await watch.wait(on: loop, limit: .seconds(90)) { self.outcomes.count == self.sent }
        #expect(isSettled, "\(sent - outcomes.count) of \(sent) pushes have no outcome")
    }

    /// All outcomes of all pushes.
    var tally: [Outcome.Kind: Int] {
        outcomes.values.joined().reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
    }

    /// Checks the invariants: each push has one outcome, none is handled twice, accepted ones are handled exactly once.
    func expectSound() {
        #expect(outcomes.count == sent)
        #expect(outcomes.values.allSatisfy { $0.count == 1 }, "a push had two outcomes")
        #expect(server.handled.values.allSatisfy { $0 == 1 }, "a push was taken twice")
        for (id, outcome) in outcomes {
            switch outcome.first?.kind {
            case .accepted, .rejected: #expect(server.handled[id] == 1)
            case .notSent: #expect(server.handled[id] == nil, "taken, and yet reported as not sent")
            case .unknown, nil: break
            }
        }
    }

    func end(on loop: isolated EventLoop) async {
        await client.stop(deadline: .seconds(2))
        server.close()
        _ = await server.watch.wait(on: loop) { self.server.connections.isEmpty }
        #expect(client.statistics.openConnections == 0)
    }
}

extension Outcome {
    /// An outcome without its details.
    enum Kind: Hashable {
        case accepted
        case rejected(Int)
        case notSent(Unreachable.Cause)
        case unknown(Unreachable.Cause)
    }

    var kind: Kind {
        switch self {
        case .accepted: .accepted
        case .rejected(let rejection): .rejected(rejection.status)
        case .unreachable(let unreachable):
            unreachable.processed == .notSent ? .notSent(unreachable.cause) : .unknown(unreachable.cause)
        }
    }
}

import HTTP2
import Network

/// The simulated APNs on one event loop: listeners and client connections.
///
/// Confined to the loop.
package final class PushServer {
    /// The time limit for a client's TLS handshake.
    static let handshakeTimeout = Duration.seconds(10)

    /// The limits for each connection, except the stream limit, which is set separately.
    static let limits: ServerLimits = {
        var limits = ServerLimits()
        // Many clients lose a response that is sent before the end of an oversized payload.
        limits.bodyBytes = 256 * 1024
        // Clients under test cancel thousands of stalled pushes at once, which is not an attack here.
        limits.resetBurst = 100_000
        limits.resetsPerSecond = 10_000
        return limits
    }()

    private struct Delayed {
        let connection: PushConnection
        let stream: StreamID
    }

    let loop: EventLoop
    let shared: Lock<Shared>
    private let printer: PushPrinter?
    var verifier: ProviderTokenVerifier
    var writer = AnswerWriter()
    private(set) var settings: SimulatorSettings
    private(set) var validator: PushValidator
    /// The environments whose new connections are stalled.
    private(set) var stallsNew: Set<PushEnvironment> = []
    private var listeners: [Listener] = []
    private var connections: [UInt64: PushConnection] = [:]
    private var delayed = DelayQueue<Delayed>()
    private var timer: Timer?

    /// Creates a server without listeners.
    ///
    /// Call it only on `loop`.
    init(on loop: EventLoop, shared: Lock<Shared>, keys: KeyPolicy, printer: PushPrinter?) {
        self.loop = loop
        self.shared = shared
        self.printer = printer
        verifier = ProviderTokenVerifier(keys)
        let settings = shared.withLock { $0.state.settings }
        self.settings = settings
        validator = settings.validator
        timer = Timer(on: loop) { [weak self] in self?.answerDue() }
    }

    /// Listens for connections to an environment and returns the address.
    func listen(
        _ environment: PushEnvironment, at address: SocketAddress, isShared: Bool, tls: TLSServerContext
    ) throws(NetworkError) -> SocketAddress {
        var options = Listener.Options()
        options.isShared = isShared
        options.tls = tls
        options.handshakeTimeout = Self.handshakeTimeout
        let listener = try Listener(address, on: loop, options: options) { [weak self] _ in
            self?.accept(environment)
        }
        listeners.append(listener)
        return listener.localAddress
    }

    private func accept(_ environment: PushEnvironment) -> (any ChannelHandler)? {
        guard settings.acceptsConnections else {
            count(environment) { $0.connectionsRefused += 1 }
            return nil
        }
        var limits = Self.limits
        limits.concurrentStreams = settings.initialStreams
        return try? HTTP2ServerConnection(
            limits: limits, handler: PushConnection(environment: environment, server: self))
    }

    /// Stops listening and closes all connections.
    func stop() {
        for listener in listeners { listener.close() }
        listeners = []
        timer = nil
        for connection in connections.values { connection.apply(.close) }
    }

    // MARK: Commands

    func apply(_ settings: SimulatorSettings) {
        let limitsDiffer =
            settings.streams != self.settings.streams
            || settings.initialStreams != self.settings.initialStreams
        self.settings = settings
        validator = settings.validator
        guard limitsDiffer else { return }
        for connection in connections.values { connection.applyStreamLimit() }
    }

    /// Applies a command and returns the number of connections it applied to.
    func apply(_ command: ConnectionCommand, to target: ConnectionTarget) -> Int {
        let environments = target.environment.map { [$0] } ?? PushEnvironment.allCases
        if command == .stall, target.includesNew { stallsNew.formUnion(environments) }
        if command == .resume, target.connection == nil { stallsNew.subtract(environments) }
        let meant = connections.values.filter { connection in
            environments.contains(connection.environment)
                && (target.connection == nil || target.connection == connection.id)
        }
        for connection in meant { connection.apply(command) }
        return meant.count
    }

    /// The connections that are open.
    var infos: [ConnectionInfo] { connections.values.map(\.info) }

    // MARK: Connections

    func opened(_ connection: PushConnection) -> UInt64 {
        let id = shared.withLock { shared in
            shared.state.statistics[connection.environment].connectionsOpened += 1
            shared.state.statistics[connection.environment].connectionsOpen += 1
            return shared.nextConnection()
        }
        connections[id] = connection
        return id
    }

    func closed(_ connection: PushConnection) {
        let wasOpen = connections.removeValue(forKey: connection.id) != nil
        count(connection.environment) { statistics in
            if wasOpen { statistics.connectionsOpen -= 1 } else { statistics.handshakesFailed += 1 }
        }
    }

    func seal(_ record: PushRecord, hasClientID: Bool) {
        shared.withLock { $0.seal(record, hasClientID: hasClientID) }
        printer?.print(record, on: loop)
    }

    /// Calls the connection's `due` for the stream after the delay.
    func delay(_ stream: StreamID, of connection: PushConnection, for delay: Duration) {
        let due = (loop.now + delay).nanoseconds
        let isFirst = due < delayed.firstDue ?? .max
        delayed.insert(Delayed(connection: connection, stream: stream), due: due)
        if isFirst { timer?.schedule(after: delay) }
    }

    private func answerDue() {
        let now = loop.now
        while let next = delayed.removeFirst(dueBy: now.nanoseconds) { next.connection.due(next.stream) }
        guard let due = delayed.firstDue else { return }
        timer?.schedule(after: MonotonicTime(nanoseconds: due).since(now))
    }

    private func count(_ environment: PushEnvironment, _ change: (inout Statistics) -> Void) {
        shared.withLock { change(&$0.state.statistics[environment]) }
    }
}

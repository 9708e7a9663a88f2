import APNs
import Network

/// What the process needs for APNs: the apps with their keys, trusted certificates, and clients on each loop.
final class APNsBackend: Sendable {
    private let servers: APNsServers
    private let tls: TLSClientContext
    private let log: Log
    private let current: Lock<Apps>

    /// Signs a first token with each key and loads the certificates, without connecting.
    init(_ configuration: APNsConfiguration, log: Log) throws(StartError) {
        servers = configuration.servers
        self.log = log
        current = Lock(configuration.apps)
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
        } catch {
            throw StartError(
                APNsCheck.unusableCertificates(servers, error), of: Precondition(.apnsCertificates))
        }
        guard checkCredentials() == nil else {
            throw StartError(.signingKeys, "APNS_PRIVATE_KEY: the key can't sign")
        }
    }

    var apps: Apps { current.withLock { $0 } }

    /// Replaces the apps.
    func use(_ apps: Apps) { current.withLock { $0 = apps } }

    /// Signs with each key that needs a new token; returns the fault in one word if a key can't sign.
    func checkCredentials() -> String? {
        let now = TokenTime.current
        return apps.keys.allSatisfy { (try? $0.tokens.token(at: now)) != nil } ? nil : "SigningFailed"
    }

    /// Creates the clients for one loop, on that loop, with the loop's share of the connections to each server.
    func clients(on loop: EventLoop, loops: Int, waitingMax: Int) -> LoopClients {
        var settings = ClientSettings()
        settings.connectionsMax = max(1, (servers.connectionsMax + loops - 1) / loops)
        settings.queuedPushesMax = waitingMax
        settings.pushTimeout = servers.pushTimeout
        settings.connectTimeout = servers.connectTimeout
        return LoopClients { [servers, tls, log, settings] key, environment in
            var settings = settings
            let origin = servers.origin(of: environment)
            settings.proxy = servers.proxy(for: origin)
            let client = Client(
                endpoint: Endpoint(host: origin.host, port: origin.port), tls: tls, tokens: key.tokens,
                on: loop, settings: settings)
            client.onEvent = { [log] event in log.note(event, environment, keyID: key.keyID) }
            return client
        }
    }
}

/// The clients for one loop: one per key and environment, created on first use.
///
/// APNs binds a connection to a team and a key at its first push. The clients are confined to the loop.
final class LoopClients: PushSenders {
    private let make: (AppKey, Environment) -> Client
    private var clients: [APNsHealth.Destination: Client] = [:]
    /// The most recently used client: nearly every push goes where the previous one went.
    private var last: Client?
    /// The last client's destination, kept separately so that a comparison copies neither.
    private var lastDestination: APNsHealth.Destination?
    /// Clients for removed keys, until APNs has responded to their pushes.
    private var leaving: [ObjectIdentifier: Client] = [:]

    /// Starts without clients.
    init(_ make: @escaping (AppKey, Environment) -> Client) {
        self.make = make
    }

    func sender(of key: AppKey, to environment: Environment) -> any PushSender {
        if let last, lastDestination?.key === key, lastDestination?.environment == environment { return last }
        let destination = APNsHealth.Destination(key: key, environment: environment)
        let client = clients[destination] ?? make(key, environment)
        clients[destination] = client
        (last, lastDestination) = (client, destination)
        return client
    }

    /// Keeps the clients for these keys; lets the others finish their pushes and then ends them.
    func keep(_ keys: [AppKey], on loop: EventLoop) {
        (last, lastDestination) = (nil, nil)
        for (destination, client) in clients where !keys.contains(where: { $0 === destination.key }) {
            clients[destination] = nil
            leaving[ObjectIdentifier(client)] = client
            nonisolated(unsafe) let clients = self  // why: confined to the loop that runs the task
            nonisolated(unsafe) let client = client  // why: the same
            loop.spawn { _ in
                await client.stop(deadline: Bounds.apnsLeavingDeadline)
                clients.leaving[ObjectIdentifier(client)] = nil
            }
        }
    }

    /// The clients' statistics, by destination.
    var statistics: [APNsGroup: ClientStatistics] {
        Dictionary(uniqueKeysWithValues: clients.map { (APNsGroup($0), $1.statistics) })
    }

    /// Ends all clients concurrently; none accepts another push.
    func stop(on loop: EventLoop, deadline: Duration) async {
        let stops = (Array(clients.values) + leaving.values).map { client in
            nonisolated(unsafe) let client = client  // why: confined to the loop that runs the task
            return loop.spawn { _ in await client.stop(deadline: deadline) }
        }
        for stop in stops { await stop.value }
    }
}

extension Client: PushSender {}

extension Log {
    /// Logs an event on a connection to APNs.
    fileprivate func note(_ event: ClientConnectionEvent, _ environment: Environment, keyID: String) {
        let destination = [LogField.note("environment", environment.rawValue), .note("key", keyID)]
        switch event {
        case .connected(let address):
            self(.info, "apns.connected", destination + [.note("address", address)])
        case .closed(let end, let unanswered):
            let level: LogLevel = unanswered > 0 ? .warning : .info
            self(level, "apns.closed", destination + [.reason("\(end)"), .count("unanswered", unanswered)])
        case .goAway(let code, let reason):
            self(.warning, "apns.goaway", destination + [.reason(reason?.rawValue ?? "\(code)")])
        case .replaced(.silent(let unanswered)):
            self(.warning, "apns.silent", destination + [.count("unanswered", unanswered)])
        case .replaced(.noStreams):
            self(.warning, "apns.no_streams", destination)
        case .replaced(.newToken):
            self(.info, "apns.token_renewed", destination)
        }
    }
}

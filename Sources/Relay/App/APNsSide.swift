import APNs
import Network

/// What the process has of APNs: the apps with their keys, trusted certificates, and clients on each loop.
final class APNsSide: Sendable {
    private let servers: APNsServers
    private let tls: TLSClientContext
    private let log: Log
    private let current: Lock<Apps>

    /// Signs a first token with each key and loads the certificates; connects to nobody yet.
    init(_ configuration: APNsConfiguration, log: Log) throws(StartFailure) {
        servers = configuration.servers
        self.log = log
        current = Lock(configuration.apps)
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
        } catch {
            let setting = servers.caFile == nil ? "the system's certificates" : "APNS_CA_FILE"
            throw StartFailure(.configuration, "\(setting): \(error.description)")
        }
        guard checkCredentials() == nil else {
            throw StartFailure(.configuration, "APNS_PRIVATE_KEY: it can't sign")
        }
    }

    /// The apps that are pushed to now.
    var apps: Apps { current.withLock { $0 } }

    /// Goes on with other apps.
    func use(_ apps: Apps) { current.withLock { $0 = apps } }

    /// Signs with each key if it is time for a new token; what is wrong when one can't, in one word.
    func checkCredentials() -> String? {
        let now = TokenTime.current
        return apps.keys.allSatisfy { (try? $0.tokens.token(at: now)) != nil } ? nil : "SigningFailed"
    }

    /// The clients of one loop, on that loop: its share of the connections to each server.
    func clients(on loop: EventLoop, loops: Int, waitingMax: Int) -> LoopClients {
        var settings = ClientSettings()
        settings.connectionsMax = max(1, (servers.connectionsMax + loops - 1) / loops)
        settings.queuedPushesMax = waitingMax
        settings.pushTimeout = servers.pushTimeout
        settings.connectTimeout = servers.connectTimeout
        return LoopClients { [servers, tls, log] key, environment in
            let origin = servers.origin(of: environment)
            let client = Client(
                endpoint: Endpoint(host: origin.host, port: origin.port), tls: tls, tokens: key.tokens,
                on: loop, settings: settings)
            client.onEvent = { [log] event in log.note(event, environment, keyID: key.keyID) }
            return client
        }
    }
}

/// The clients of one loop: one for each key and environment, made when it is first needed.
///
/// APNs binds a connection to team and key at its first push. Confined to the loop.
final class LoopClients: PushSenders {
    private let make: (AppKey, Environment) -> Client
    private var clients: [APNsHealth.Place: Client] = [:]
    /// The one that was asked for last: nearly every push goes where the one before went.
    private var last: Client?
    /// What it is for; beside it and not with it, so that looking copies neither.
    private var lastPlace: APNsHealth.Place?
    /// Clients of keys that are no longer used, until they have answered what they had.
    private var leaving: [ObjectIdentifier: Client] = [:]

    /// No clients yet.
    init(_ make: @escaping (AppKey, Environment) -> Client) {
        self.make = make
    }

    func sender(of key: AppKey, to environment: Environment) -> any PushSender {
        if let last, lastPlace?.key === key, lastPlace?.environment == environment { return last }
        let place = APNsHealth.Place(key: key, environment: environment)
        let client = clients[place] ?? make(key, environment)
        clients[place] = client
        (last, lastPlace) = (client, place)
        return client
    }

    /// Lets the clients of all keys but these finish what they have, and end.
    func keep(_ keys: [AppKey], on loop: EventLoop) {
        (last, lastPlace) = (nil, nil)
        for (place, client) in clients where !keys.contains(where: { $0 === place.key }) {
            clients[place] = nil
            leaving[ObjectIdentifier(client)] = client
            nonisolated(unsafe) let clients = self  // why: confined to the loop that runs the task
            nonisolated(unsafe) let client = client  // why: the same
            loop.spawn { _ in
                await client.stop(deadline: Bounds.apnsLeavingDeadline)
                clients.leaving[ObjectIdentifier(client)] = nil
            }
        }
    }

    /// How the clients stand, by what they are for.
    var statistics: [APNsGroup: ClientStatistics] {
        Dictionary(uniqueKeysWithValues: clients.map { (APNsGroup($0), $1.statistics) })
    }

    /// Ends all clients, at once: none takes another push.
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
    /// Notes what happened to a connection to APNs.
    fileprivate func note(_ event: ClientConnectionEvent, _ environment: Environment, keyID: String) {
        let place = [LogField.note("environment", environment.rawValue), .note("key", keyID)]
        switch event {
        case .connected(let address):
            self(.info, "apns.connected", place + [.note("address", address)])
        case .closed(let end, let unanswered):
            let level: LogLevel = unanswered > 0 ? .warning : .info
            self(level, "apns.closed", place + [.reason("\(end)"), .count("unanswered", unanswered)])
        case .goAway(let code, let reason):
            self(.warning, "apns.goaway", place + [.reason(reason?.rawValue ?? "\(code)")])
        case .replaced(.silent(let unanswered)):
            self(.warning, "apns.silent", place + [.count("unanswered", unanswered)])
        case .replaced(.noStreams):
            self(.warning, "apns.no_streams", place)
        case .replaced(.newToken):
            self(.info, "apns.token_renewed", place)
        }
    }
}

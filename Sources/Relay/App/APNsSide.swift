import APNs
import Network

/// What the process has of APNs: credentials, trusted certificates, and clients on each loop.
struct APNsSide: Sendable {
    private let configuration: APNsConfiguration
    private let tokens: ProviderTokenSource
    private let tls: TLSClientContext
    private let log: Log

    /// Signs a first token and loads the certificates; connects to nobody yet.
    init(_ configuration: APNsConfiguration, log: Log) throws(StartFailure) {
        self.configuration = configuration
        self.log = log
        tokens = ProviderTokenSource(configuration.credentials)
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: configuration.caFile, alpn: ["h2"])
        } catch {
            let setting = configuration.caFile == nil ? "the system's certificates" : "APNS_CA_FILE"
            throw StartFailure(.configuration, "\(setting): \(error.description)")
        }
        guard checkCredentials() == nil else {
            throw StartFailure(.configuration, "APNS_PRIVATE_KEY: it can't sign")
        }
    }

    /// Signs with the key if it is time for a new token; what is wrong when it can't, in one word.
    func checkCredentials() -> String? {
        let now = TokenTime(epochSeconds: WallClock.system.now / 1000, monotonic: MonotonicTime.current)
        return (try? tokens.token(at: now)) == nil ? "SigningFailed" : nil
    }

    /// The clients of one loop, on that loop: its share of the connections to each server.
    func clients(on loop: EventLoop, loops: Int, pushesMax: Int) -> LoopClients {
        var settings = ClientSettings()
        settings.connectionsMax = max(1, (configuration.connectionsMax + loops - 1) / loops)
        settings.queuedPushesMax = pushesMax
        settings.pushTimeout = configuration.pushTimeout
        settings.connectTimeout = configuration.connectTimeout
        func client(_ origin: APNsOrigin, _ environment: Environment) -> Client {
            let client = Client(
                endpoint: Endpoint(host: origin.host, port: origin.port), tls: tls, tokens: tokens, on: loop,
                settings: settings)
            client.onEvent = { [log] event in log.note(event, environment) }
            return client
        }
        return LoopClients(
            production: client(configuration.production, .production),
            sandbox: client(configuration.sandbox, .sandbox))
    }
}

/// The clients of one loop.
///
/// Confined to it.
struct LoopClients {
    let production: Client
    let sandbox: Client

    /// The clients as the routes see them.
    var senders: PushSenders { PushSenders(production: production, sandbox: sandbox) }
}

extension Client: PushSender {}

extension Log {
    /// Notes what happened to a connection to APNs.
    fileprivate func note(_ event: ClientConnectionEvent, _ environment: Environment) {
        let place = LogField.note("environment", environment.rawValue)
        switch event {
        case .connected(let address):
            self(.info, "apns.connected", [place, .note("address", address)])
        case .closed(let end, let unanswered):
            let level: LogLevel = unanswered > 0 ? .warning : .info
            self(level, "apns.closed", [place, .reason("\(end)"), .count("unanswered", unanswered)])
        case .goAway(let code, let reason):
            self(.warning, "apns.goaway", [place, .reason(reason?.rawValue ?? "\(code)")])
        case .replacedSilent(let unanswered):
            self(.warning, "apns.silent", [place, .count("unanswered", unanswered)])
        case .replacedExpired:
            self(.info, "apns.token_renewed", [place])
        }
    }
}

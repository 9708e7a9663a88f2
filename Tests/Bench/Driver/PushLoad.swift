import APNs
import Glibc
import JSON
import Network
import Storage

/// Keeps a number of pushes in flight over ``Client`` until a given number has completed.
///
/// Confined to the loop.
final class PushLoad {
    private let client: Client
    private let pushes: [Push]
    private let inFlight: Int
    private let count: Int
    private let finish: (PushLoad) -> Void
    private var started = 0
    private var ended = 0
    /// Outcomes other than `accepted`.
    private(set) var errors = 0
    private lazy var completion: (Outcome) -> Void = { [unowned self] outcome in ended(outcome) }

    /// Creates a load of `count` pushes, cycling through `pushes`; calls `finish` after the last outcome.
    init(
        _ client: Client, pushes: [Push], inFlight: Int, count: Int, finish: @escaping (PushLoad) -> Void
    ) {
        self.client = client
        self.pushes = pushes
        self.inFlight = inFlight
        self.count = count
        self.finish = finish
    }

    /// Sends the first pushes.
    func start() {
        for _ in 0..<min(inFlight, count) { sendNext() }
    }

    private func sendNext() {
        started += 1
        client.send(pushes[started % pushes.count], completion: completion)
    }

    private func ended(_ outcome: Outcome) {
        ended += 1
        if case .accepted = outcome {} else { errors += 1 }
        if started < count { sendNext() }
        if ended == count { finish(self) }
    }
}

/// Sends pushes over one client on one loop, prints the cost as JSON and exits.
///
/// Options: `port` (of 127.0.0.1), `ca` (PEM file), `key` (PEM file of the signing key), `in-flight`, `count`, `connections`,
/// `tokens` (file with one device token per line).
func sendPushes(_ options: Options) throws(BenchError) {
    let inFlight = try options.integer("in-flight")
    let count = try options.integer("count")
    let connections = try options.integer("connections")
    let endpoint = Endpoint(host: "127.0.0.1", port: try options.port())
    let pushes = try makePushes(tokens: try options.file("tokens").split(separator: "\n"))
    let tokens = ProviderTokenSource(try credentials(options))
    let tls = try options.trust("ca")
    var settings = ClientSettings()
    settings.connectionsMax = connections
    settings.streamsPerConnectionMax = (inFlight + connections - 1) / connections
    settings.queuedPushesMax = inFlight
    let chosen = settings
    let loop = EventLoop(label: "bench")
    loop.submit {
        let client = Client(endpoint: endpoint, tls: tls, tokens: tokens, on: loop, settings: chosen)
        let began = Usage.now
        let load = PushLoad(client, pushes: pushes, inFlight: inFlight, count: count) { load in
            report(Usage.now.since(began), count: count, errors: load.errors, client.statistics)
        }
        load.start()
        // The load lives as long as the process.
        _ = Unmanaged.passRetained(load)
    }
    while true { pause() }
}

private func report(_ usage: Usage, count: Int, errors: Int, _ statistics: ClientStatistics) {
    var writer = JSON.Writer(capacity: 200)
    writer.beginObject()
    writer.member("pushes", Int64(count))
    writer.member("errors", Int64(errors))
    writer.member("connections", Int64(statistics.connectionsOpened))
    writer.member("microseconds", usage.wallMicroseconds)
    writer.member("cpuMicroseconds", usage.cpuMicroseconds)
    writer.endObject()
    print(String(decoding: writer.finish(), as: UTF8.self))
    exit(errors == 0 ? 0 : 1)
}

/// Creates pushes like the relay's, with 300-byte payloads; enough that identifiers rarely repeat.
private func makePushes(tokens: [Substring]) throws(BenchError) -> [Push] {
    guard let topic = Topic("com.example.app") else { throw .failed("topic") }
    let frame = #"{"aps":{"alert":{"title":"Session complete","body":""}}}"#.utf8.count
    let body = String(repeating: "x", count: 300 - frame)
    let payload = Array(#"{"aps":{"alert":{"title":"Session complete","body":"\#(body)"}}}"#.utf8)
    let now = UInt64(time(nil))
    let notification = Notification(topic: topic, expiration: now + 86_400, payload: payload)
    var random = SystemRandomNumberGenerator()
    var pushes: [Push] = []
    for _ in 0..<8 {
        for token in tokens {
            guard let token = DeviceToken(String(token)) else { throw .failed("device token") }
            let id = UUIDv7(at: Int64(now) * 1000, using: &random).text
            pushes.append(Push(notification, to: token, id: id))
        }
    }
    return pushes
}

private func credentials(_ options: Options) throws(BenchError) -> ProviderCredentials {
    let key = KeyText(try options.file("key"))
    do {
        return try ProviderCredentials(teamID: "TEAM123456", keyID: "KEY1234567", key: key)
    } catch {
        throw .failed("--key: \(error)")
    }
}

import Glibc
import JSON
import Network
import WebPush

/// Keeps a number of pushes in flight over ``Sender`` until a given number has completed.
///
/// Confined to the loop.
final class WebPushLoad {
    private let sender: Sender
    private let pushes: [Push]
    private let inFlight: Int
    private let count: Int
    private let finish: (WebPushLoad) -> Void
    private var started = 0
    private var ended = 0
    /// Outcomes other than `accepted`.
    private(set) var errors = 0

    /// Creates a load of `count` pushes, cycling through `pushes`; calls `finish` after the last outcome.
    init(
        _ sender: Sender, pushes: [Push], inFlight: Int, count: Int, finish: @escaping (WebPushLoad) -> Void
    ) {
        self.sender = sender
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
        sender.send(pushes[started % pushes.count]) { [unowned self] in ended($0) }
    }

    private func ended(_ outcome: Outcome) {
        ended += 1
        if outcome != .accepted { errors += 1 }
        if started < count { sendNext() }
        if ended == count { finish(self) }
    }
}

/// Encrypts messages, sends pushes over one sender on one loop, prints the cost of both as JSON and exits.
///
/// Options: `port` (of localhost), `ca` (PEM file), `in-flight`, `count`, `connections`.
func sendWebPushes(_ options: Options) throws(BenchError) {
    let inFlight = try options.integer("in-flight")
    let count = try options.integer("count")
    let port = try options.port()
    var settings = SenderSettings()
    settings.caFile = try options.string("ca")
    settings.connectionsPerHostMax = try options.integer("connections")
    let chosen = settings
    let (pushes, hosts, tokens) = try makeWebPushes(port)
    let began = Usage.now
    for _ in 0..<count {
        guard
            (try? MessageEncryption.encrypt(pushes[0].message.payload, for: pushes[0].subscription.keys))
                != nil
        else { throw .failed("encryption") }
    }
    let encryption = Usage.now.since(began)
    let loop = EventLoop(label: "bench")
    loop.submit {
        let sender = Sender(tokens: tokens, hosts: hosts, on: loop, settings: chosen)
        let began = Usage.now
        let load = WebPushLoad(sender, pushes: pushes, inFlight: inFlight, count: count) { load in
            report(Usage.now.since(began), encryption, count: count, errors: load.errors, sender.statistics)
        }
        load.start()
        // The load lives as long as the process.
        _ = Unmanaged.passRetained(load)
    }
    while true { pause() }
}

private func report(
    _ usage: Usage, _ encryption: Usage, count: Int, errors: Int, _ statistics: SenderStatistics
) {
    var writer = JSON.Writer(capacity: 200)
    writer.beginObject()
    writer.member("pushes", Int64(count))
    writer.member("errors", Int64(errors))
    writer.member("connections", Int64(statistics.connectionsOpened))
    writer.member("microseconds", usage.wallMicroseconds)
    writer.member("cpuMicroseconds", usage.cpuMicroseconds)
    writer.member("encryptionCPUMicroseconds", encryption.cpuMicroseconds)
    writer.endObject()
    print(String(decoding: writer.finish(), as: UTF8.self))
    exit(errors == 0 ? 0 : 1)
}

/// Creates pushes of 300 bytes for 100 subscriptions.
private func makeWebPushes(_ port: UInt16) throws(BenchError) -> ([Push], HostRule, VAPIDTokenSource) {
    let message = Message(
        payload: [UInt8](repeating: UInt8(ascii: "x"), count: 300),
        handling: Handling(timeToLive: 86_400, urgency: .high))
    let key = VAPIDKey()
    do {
        let pushes = try (0..<100).map { number in
            let keys = try SubscriptionKeys(
                p256dh: VAPIDKey().publicKey, auth: [UInt8](repeating: 7, count: 16))
            let endpoint = try PushEndpoint("https://localhost:\(port)/push/\(number)")
            return Push(message, to: Subscription(endpoint: endpoint, keys: keys), key: key)
        }
        let subject = try VAPIDSubject("mailto:push@example.com")
        return (pushes, try HostRule(more: ["localhost:\(port)"]), VAPIDTokenSource(subject: subject))
    } catch {
        throw .failed("\(error)")
    }
}

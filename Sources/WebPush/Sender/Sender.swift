internal import Glibc
internal import HTTP2
package import Network

/// Sends pushes to push services over persistent connections, with HTTP/2 where the service offers it, on one event
/// loop.
///
/// Confined to the loop. Every push gets exactly one outcome within ``SenderSettings/pushTimeout``. ``SendQueue``
/// decides what to do; this class does it.
///
/// Usage, on the loop:
///
/// ```swift
/// let tokens = VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com"))
/// let sender = Sender(tokens: tokens, hosts: hosts, on: loop, settings: settings)
/// let message = Message(
///     payload: Array("Build finished".utf8), handling: Handling(timeToLive: 3_600, urgency: .high))
/// let outcome = await sender.send(Push(message, to: subscription, key: key))
/// switch outcome {
/// case .accepted: break
/// case .rejected(let rejection): print("Refused: \(rejection.name)")
/// case .unreachable(let unreachable): print("No answer: \(unreachable.cause.rawValue)")
/// }
/// await sender.stop(deadline: .seconds(5))
/// ```
package final class Sender {
    package let loop: EventLoop
    package let settings: SenderSettings

    let tokens: VAPIDTokenSource
    let hosts: HostRule
    let epochSeconds: () -> Int64
    let random: () -> Double

    var queue: SendQueue
    var connections: [UInt64: PushConnection] = [:]
    var connectionsOpened: UInt64 = 0
    /// Created for the first connection, because reading the certificate authorities takes a while.
    var tls: TLSClientContext?
    var entries: [UInt64: Entry] = [:]
    var lastPush: UInt64 = 0
    /// All pushes in order of arrival, which is also the order of their deadlines.
    var deadlines = Line<UInt64>()
    var deadlineTimer: Timer?
    var checkTimer: Timer?
    var stopTimer: Timer?
    var isPumping = false
    var isStopping = false
    var onStopped: [() -> Void] = []
    var counters = SenderStatistics()

    struct Entry {
        let push: Push
        let completion: (Outcome) -> Void
        let deadline: MonotonicTime
        /// Where and when the push was sent; nil while it is queued.
        var request: (connection: UInt64, slot: StreamSlot, at: MonotonicTime)?
        /// How many times the push was sent again.
        var moves = 0
    }

    /// How many pushes are encrypted, in about a millisecond, before the loop's other work gets its turn.
    static let startsPerTurn = 8

    /// Creates a sender without connections.
    ///
    /// Call it only on `loop`.
    ///
    /// - Parameters:
    ///   - tokens: Shared by all senders of the process.
    ///   - hosts: Checked for each push, because a subscription may be older than the rule.
    ///   - epochSeconds: Returns the current time, in seconds since 1970.
    ///   - random: Returns a number in 0 ..< 1, for back-off.
    package init(
        tokens: VAPIDTokenSource, hosts: HostRule, on loop: EventLoop,
        settings: SenderSettings = SenderSettings(),
        epochSeconds: @escaping () -> Int64 = { Int64(time(nil)) },
        random: @escaping () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.loop = loop
        self.settings = settings
        self.tokens = tokens
        self.hosts = hosts
        self.epochSeconds = epochSeconds
        self.random = random
        queue = SendQueue(settings)
        deadlineTimer = Timer(on: loop) { [unowned self] in expirePushes() }
        checkTimer = Timer(on: loop) { [unowned self] in checkConnections() }
    }

    /// Sends a push; calls `completion` exactly once with the outcome, on the loop, possibly before returning.
    package func send(_ push: Push, completion: @escaping (Outcome) -> Void) {
        guard !isStopping else { return refuse(completion, .shuttingDown) }
        let endpoint = push.subscription.endpoint
        guard hosts.permission(for: endpoint) != nil else { return refuse(completion, .hostNotAllowed) }
        let now = loop.now
        lastPush += 1
        switch queue.arrive(lastPush, host: endpoint.authority, bytes: push.bytes, at: now) {
        case .full: return refuse(completion, .queueFull)
        case .unreachable(let cause): return refuse(completion, cause)
        case .queued: break
        }
        let deadline = now + settings.pushTimeout
        entries[lastPush] = Entry(push: push, completion: completion, deadline: deadline)
        deadlines.append(lastPush)
        if let deadlineTimer, !deadlineTimer.isScheduled {
            deadlineTimer.schedule(after: settings.pushTimeout)
        }
        pumpSoon()
    }

    /// Sends a push and waits for its outcome.
    ///
    /// Call it only on the loop.
    package func send(_ push: Push) async -> Outcome {
        await withCheckedContinuation { continuation in
            send(push) { continuation.resume(returning: $0) }
        }
    }

    /// Refuses new pushes, waits up to `deadline` for outstanding responses, and closes all connections.
    ///
    /// Pushes that have no response by then fail with ``Unreachable/Cause/shuttingDown``. Call it only on the loop.
    package func stop(deadline: Duration) async {
        isStopping = true
        if stopTimer == nil {
            let timer = Timer(on: loop) { [unowned self] in cutOff() }
            timer.schedule(after: deadline)
            stopTimer = timer
        }
        await withCheckedContinuation { continuation in
            onStopped.append { continuation.resume() }
            // Deferred, because the caller's continuation must not resume while it is being created.
            loop.atTurnEnd { [self] in stopIfDone() }
        }
    }

    /// The sender's counters and current state.
    ///
    /// Use it only on the loop.
    package var statistics: SenderStatistics {
        var snapshot = counters
        snapshot.connectionsOpen = connections.count
        snapshot.connectionsOpened = connectionsOpened
        snapshot.pushesWaiting = queue.waiting
        snapshot.pushesUnderWay = queue.underWay
        return snapshot
    }
}

internal import Glibc
package import Network

/// Sends pushes to push services over kept connections, HTTP/2 where the service offers it, on one event loop.
///
/// Confined to the loop. Every push gets exactly one outcome within ``SenderSettings/pushTimeout``. ``SendQueue`` decides
/// which pushes start; libcurl makes the requests.
///
/// On the loop:
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

    private let tokens: VAPIDTokenSource
    private let hosts: HostRule
    private let epochSeconds: () -> Int64
    private let random: () -> Double

    private let multi: Multi
    private var queue: SendQueue
    private var entries: [UInt64: Entry] = [:]
    private var lastPush: UInt64 = 0
    /// All pushes in order of arrival, so of deadlines.
    private var deadlines = Line<UInt64>()
    private var freeTransfers: [Transfer] = []
    private var deadlineTimer: Timer?
    private var stopTimer: Timer?
    private var isPumping = false
    private var isStopping = false
    private var onStopped: [() -> Void] = []
    private var counters = SenderStatistics()

    private struct Entry {
        let push: Push
        let completion: (Outcome) -> Void
        let deadline: MonotonicTime
        /// The request; nil while the push is queued.
        var transfer: Transfer?
    }

    /// How many pushes are encrypted before other work of the loop gets its turn: about a millisecond.
    private static let startsPerTurn = 8
    /// The maximum number of handles kept for later requests.
    private static let freeTransfersMax = 64

    /// Creates a sender without connections.
    ///
    /// Only on `loop`.
    ///
    /// - Parameters:
    ///   - tokens: Shared by all senders of the process.
    ///   - hosts: Checked for each push: a subscription may be older than the rule.
    ///   - epochSeconds: The date, in seconds since 1970.
    ///   - random: A number in 0 ..< 1, for back-off.
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
        multi = Multi(settings, on: loop)
        queue = SendQueue(settings)
        multi.onFinished = { [unowned self] in finished($0, $0.outcome($1)) }
        deadlineTimer = Timer(on: loop) { [unowned self] in expirePushes() }
    }

    deinit {
        for entry in entries.values { entry.transfer.map(multi.cancel) }
        multi.close()
    }

    /// Sends a push; `completion` gets its outcome once, on the loop, possibly before this call returns.
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
    /// Only on the loop.
    package func send(_ push: Push) async -> Outcome {
        await withCheckedContinuation { continuation in
            send(push) { continuation.resume(returning: $0) }
        }
    }

    /// Refuses new pushes, waits until `deadline` for outstanding answers, and closes all connections.
    ///
    /// Pushes without an answer by then get ``Unreachable/Cause/shuttingDown``. Only on the loop.
    package func stop(deadline: Duration) async {
        isStopping = true
        if stopTimer == nil {
            let timer = Timer(on: loop) { [unowned self] in cutOff() }
            timer.schedule(after: deadline)
            stopTimer = timer
        }
        await withCheckedContinuation { continuation in
            onStopped.append { continuation.resume() }
            // Not at once: the caller's continuation must not resume inside its own creation.
            loop.atTurnEnd { [self] in stopIfDone() }
        }
    }

    /// The sender's counters and current state.
    ///
    /// Only on the loop.
    package var statistics: SenderStatistics {
        var snapshot = counters
        snapshot.connectionsOpen = multi.connectionCount
        snapshot.connectionsOpened = multi.connectionsOpened
        snapshot.pushesWaiting = queue.waiting
        snapshot.pushesUnderWay = queue.underWay
        return snapshot
    }
}

// MARK: Starting pushes

extension Sender {
    private func pumpSoon() {
        guard !isPumping, queue.mayStart else { return }
        isPumping = true
        loop.atNextTurn { [weak self] in
            guard let self else { return }
            isPumping = false
            pump()
        }
    }

    private func pump() {
        let now = loop.now
        for _ in 0..<Self.startsPerTurn {
            guard let push = queue.next() else { return }
            start(push, at: now)
        }
        pumpSoon()
    }

    private func start(_ number: UInt64, at now: MonotonicTime) {
        guard let entry = entries[number] else { return }
        let push = entry.push
        let endpoint = push.subscription.endpoint
        guard let permission = hosts.permission(for: endpoint),
            let body = try? MessageEncryption.encrypt(push.message.payload, for: push.subscription.keys),
            let authorization = try? tokens.authorization(
                for: endpoint.origin, key: push.key, at: epochSeconds()),
            let transfer = freeTransfers.popLast() ?? Transfer(settings, multi)
        else {
            queue.ended(host: endpoint.authority)
            return settle(number, .unreachable(Unreachable(processed: .notSent, cause: .notEncrypted)))
        }
        transfer.prepare(
            number, to: endpoint,
            fields: RequestHeaders.fields(
                for: push.message.handling, authorization: authorization,
                service: PushService(host: endpoint.host)),
            body: body, permission: permission, at: now)
        entries[number]?.transfer = transfer
        guard multi.start(transfer) else {
            queue.ended(host: endpoint.authority)
            return settle(number, .unreachable(Unreachable(processed: .notSent, cause: .connectFailed)))
        }
    }
}

// MARK: Outcomes

extension Sender {
    private func refuse(_ completion: (Outcome) -> Void, _ cause: Unreachable.Cause) {
        let outcome = Outcome.unreachable(Unreachable(processed: .notSent, cause: cause))
        counters.count(outcome)
        completion(outcome)
    }

    private func settle(_ number: UInt64, _ outcome: Outcome) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        counters.count(outcome)
        entry.completion(outcome)
    }

    private func finished(_ transfer: Transfer, _ outcome: Outcome) {
        let number = transfer.push
        guard let entry = entries[number] else { return }
        let host = entry.push.subscription.endpoint.authority
        var failed: [UInt64] = []
        var cause: Unreachable.Cause?
        switch outcome {
        case .accepted, .rejected: queue.answered(host: host, at: loop.now)
        case .unreachable(let unreachable) where unreachable.cause.isConnecting:
            cause = unreachable.cause
            failed = queue.failed(host: host, unreachable.cause, at: loop.now, random: random())
        case .unreachable(let unreachable):
            queue.ended(host: host)
            guard unreachable.cause == .timeout else { break }
            multi.breakConnections(
                to: host, openedBefore: transfer.startedAt,
                onlySilent: queue.hasAnswered(host, since: transfer.startedAt))
        }
        entries[number]?.transfer = nil
        if freeTransfers.count < Self.freeTransfersMax { freeTransfers.append(transfer) }
        settle(number, outcome)
        if let cause {
            for push in failed {
                settle(push, .unreachable(Unreachable(processed: .notSent, cause: cause)))
            }
        }
        pumpSoon()
        stopIfDone()
    }

    /// Fails the pushes whose time is over: queued, waiting for a connection in libcurl, or under way.
    private func expirePushes() {
        let now = loop.now
        while let number = deadlines.first {
            if let entry = entries[number] {
                guard entry.deadline <= now else { break }
                if let transfer = entry.transfer {
                    let outcome = transfer.outcomeOfTimeout
                    multi.cancel(transfer)
                    finished(transfer, outcome)
                } else if queue.remove(number) {
                    settle(number, .unreachable(Unreachable(processed: .notSent, cause: .timeout)))
                }
            }
            _ = deadlines.popFirst()
        }
        if let number = deadlines.first, let entry = entries[number] {
            deadlineTimer?.schedule(after: max(.milliseconds(1), entry.deadline.since(now)))
        }
        stopIfDone()
    }

    private func stopIfDone() {
        guard isStopping, entries.isEmpty, !onStopped.isEmpty else { return }
        stopTimer = nil
        freeTransfers.removeAll()
        multi.close()
        let waiting = onStopped
        onStopped = []
        for resume in waiting { resume() }
    }

    /// Ends everything at the stop deadline.
    private func cutOff() {
        for (number, entry) in entries {
            var processed = Unreachable.Processed.notSent
            if let transfer = entry.transfer {
                multi.cancel(transfer)
                queue.ended(host: entry.push.subscription.endpoint.authority)
                processed = .unknown
            } else {
                _ = queue.remove(number)
            }
            settle(number, .unreachable(Unreachable(processed: processed, cause: .shuttingDown)))
        }
        stopIfDone()
    }
}

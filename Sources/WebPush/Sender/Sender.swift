internal import Glibc
internal import HTTP2
package import Network

/// Sends pushes to push services over kept connections, HTTP/2 where the service offers it, on one event loop.
///
/// Confined to the loop. Every push gets exactly one outcome within ``SenderSettings/pushTimeout``. ``SendQueue`` decides
/// what to do; this class does it.
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

    private var queue: SendQueue
    private var connections: [UInt64: PushConnection] = [:]
    private var connectionsOpened: UInt64 = 0
    /// Made for the first connection: reading the authorities takes a while.
    private var tls: TLSClientContext?
    private var entries: [UInt64: Entry] = [:]
    private var lastPush: UInt64 = 0
    /// All pushes in order of arrival, so of deadlines.
    private var deadlines = Line<UInt64>()
    private var deadlineTimer: Timer?
    private var checkTimer: Timer?
    private var stopTimer: Timer?
    private var isPumping = false
    private var isStopping = false
    private var onStopped: [() -> Void] = []
    private var counters = SenderStatistics()

    private struct Entry {
        let push: Push
        let completion: (Outcome) -> Void
        let deadline: MonotonicTime
        /// Where and when it was sent; nil while it is queued.
        var request: (connection: UInt64, slot: StreamSlot, at: MonotonicTime)?
        /// How often it was sent again.
        var moves = 0
    }

    /// How many pushes are encrypted before other work of the loop gets its turn: about a millisecond.
    private static let startsPerTurn = 8

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
        queue = SendQueue(settings)
        deadlineTimer = Timer(on: loop) { [unowned self] in expirePushes() }
        checkTimer = Timer(on: loop) { [unowned self] in checkConnections() }
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
        snapshot.connectionsOpen = connections.count
        snapshot.connectionsOpened = connectionsOpened
        snapshot.pushesWaiting = queue.waiting
        snapshot.pushesUnderWay = queue.underWay
        return snapshot
    }
}

// MARK: Starting pushes

extension Sender {
    private func pumpSoon() {
        guard !isPumping, queue.mayGoOn else { return }
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
            switch queue.next(at: now) {
            case .start(let push, let connection): start(push, on: connection, at: now)
            case .open(let connection, let push, let idle):
                if let idle { connections[idle]?.close() }
                open(connection, for: push, at: now)
            case nil: return
            }
        }
        pumpSoon()
    }

    private func start(_ number: UInt64, on connection: UInt64, at now: MonotonicTime) {
        guard let push = entries[number]?.push else { return }
        let endpoint = push.subscription.endpoint
        guard hosts.permission(for: endpoint) != nil,
            let body = try? MessageEncryption.encrypt(push.message.payload, for: push.subscription.keys),
            let authorization = try? tokens.authorization(
                for: endpoint.origin, key: push.key, at: epochSeconds())
        else {
            queue.ended(on: connection, .unanswered, at: now)
            return settle(number, .notSent, .notEncrypted)
        }
        let fields = RequestHeaders.fields(
            for: push.message.handling, to: endpoint, authorization: authorization, bodyBytes: body.count)
        do throws(HTTP2Error) {
            guard let wire = connections[connection] else { throw .noNewStreams }
            let slot = try wire.send(fields, body, for: number)
            entries[number]?.request = (connection, slot, now)
        } catch {
            queue.ended(on: connection, .refused, at: now)
            switch error {
            case .streamLimit: move(number)
            case .noNewStreams:
                queue.leave(connection)
                move(number)
            case .outOfMemory, .sessionFailed, .invalidHeader: settle(number, .notSent, .protocolError)
            }
            if queue.isDone(connection) { connections[connection]?.finish() }
        }
    }

    /// Sends a push again: the service did not process it.
    private func move(_ number: UInt64) {
        guard let entry = entries[number] else { return }
        guard entry.moves < settings.movesMax else { return settle(number, .notSent, .connectionClosed) }
        entries[number]?.moves += 1
        entries[number]?.request = nil
        queue.wait(number, host: entry.push.subscription.endpoint.authority, bytes: entry.push.bytes)
    }
}

// MARK: Connections

extension Sender {
    private func open(_ number: UInt64, for push: UInt64, at now: MonotonicTime) {
        guard let endpoint = entries[push]?.push.subscription.endpoint else { return }
        let proxy = settings.bypassesProxy(endpoint.host, endpoint.port) ? nil : settings.proxy
        let connection = PushConnection(number, of: self, usesProxy: proxy != nil)
        connections[number] = connection
        guard let tls = tls ?? (try? TLSClientContext(caFile: settings.caFile, alpn: ["h2", "http/1.1"]))
        else { return closed(connection, .tlsFailed, hadSocket: false) }
        self.tls = tls
        connection.connect(
            to: Endpoint(host: endpoint.host, port: endpoint.port), through: proxy,
            onlyPublic: hosts.permission(for: endpoint) != .anyAddress, tls: tls, on: loop,
            timeout: settings.connectTimeout)
        if let checkTimer, !checkTimer.isScheduled { checkTimer.schedule(after: settings.checkInterval) }
    }

    func opened(_ connection: PushConnection, isHTTP2: Bool) {
        connectionsOpened += 1
        queue.opened(connection.number, isHTTP2: isHTTP2, at: loop.now)
        pumpSoon()
    }

    func limitChanged(_ connection: PushConnection, to limit: Int) {
        queue.limitChanged(connection.number, to: limit, at: loop.now)
        pumpSoon()
    }

    func ponged(_ connection: PushConnection) {
        queue.ponged(connection.number, at: loop.now)
        pumpSoon()
    }

    /// A connection takes no more pushes.
    func leaves(_ connection: PushConnection) {
        queue.leave(connection.number)
        if queue.isDone(connection.number) { connection.finish() }
        pumpSoon()
    }

    /// - Parameter hadSocket: False if no address was found to connect to.
    func closed(_ connection: PushConnection, _ cause: Unreachable.Cause, hadSocket: Bool) {
        if !connection.isOpen, hadSocket { connectionsOpened += 1 }
        connections[connection.number] = nil
        for push in queue.closed(connection.number, cause, at: loop.now, random: random()) {
            settle(push, .notSent, cause)
        }
        pumpSoon()
        stopIfDone()
    }

    /// A request ended; its push is `nil` if it was cancelled.
    func ended(_ push: UInt64?, on connection: PushConnection, _ end: PushConnection.End) {
        let now = loop.now
        switch end {
        case .response(let response):
            queue.ended(on: connection.number, .answered, at: now)
            if let push { settle(push, response) }
        case .failure(let failure):
            let isRefusal = failure == .notProcessed(.refusedStream)
            queue.ended(on: connection.number, isRefusal ? .refused : .unanswered, at: now)
            if let push { settle(push, failure) }
        }
        if queue.isDone(connection.number) { connection.finish() }
        pumpSoon()
        stopIfDone()
    }

    private func checkConnections() {
        for care in queue.check(at: loop.now) {
            switch care {
            case .ping(let number): connections[number]?.ping()
            case .close(let number): connections[number]?.close()
            }
        }
        if !connections.isEmpty { checkTimer?.schedule(after: settings.checkInterval) }
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

    private func settle(
        _ number: UInt64, _ processed: Unreachable.Processed, _ cause: Unreachable.Cause
    ) {
        settle(number, .unreachable(Unreachable(processed: processed, cause: cause)))
    }

    private func settle(_ number: UInt64, _ response: ClientResponse) {
        guard let host = entries[number]?.push.subscription.endpoint.host else { return }
        let retryAfter = response.fields.string("retry-after")
        let answer = Answer(
            status: response.status, service: PushService(host: host),
            retryAfter: retryAfter.flatMap { RetryAfter.seconds($0, at: epochSeconds()) },
            body: response.body)
        settle(number, answer.outcome)
    }

    private func settle(_ number: UInt64, _ failure: StreamFailure) {
        switch failure {
        case .notProcessed: move(number)
        case .reset: settle(number, .unknown, .protocolError)
        case .connectionLost: settle(number, .unknown, .connectionClosed)
        }
    }

    /// Fails the pushes whose time is over, queued or under way.
    private func expirePushes() {
        let now = loop.now
        while let number = deadlines.first {
            if let entry = entries[number] {
                guard entry.deadline <= now else { break }
                if let request = entry.request {
                    timedOut(number, request.connection, request.slot, sentAt: request.at)
                } else if queue.remove(number) {
                    settle(number, .notSent, .timeout)
                }
            }
            _ = deadlines.popFirst()
        }
        if let number = deadlines.first, let entry = entries[number] {
            deadlineTimer?.schedule(after: max(.milliseconds(1), entry.deadline.since(now)))
        }
        stopIfDone()
    }

    private func timedOut(
        _ number: UInt64, _ connection: UInt64, _ slot: StreamSlot, sentAt: MonotonicTime
    ) {
        if let response = connections[connection]?.cancel(slot) { return settle(number, response) }
        // One that answers nothing is left, even if it answers PINGs.
        if !queue.hasAnswered(connection, since: sentAt) { connections[connection]?.close() }
        settle(number, .unknown, .timeout)
    }

    private func stopIfDone() {
        guard isStopping, entries.isEmpty, !onStopped.isEmpty else { return }
        for connection in connections.values { connection.close() }
        guard connections.isEmpty else { return }
        stopTimer = nil
        let waiting = onStopped
        onStopped = []
        for resume in waiting { resume() }
    }

    /// Ends everything at the stop deadline.
    private func cutOff() {
        for (number, entry) in entries {
            if let request = entry.request {
                _ = connections[request.connection]?.cancel(request.slot)
            } else {
                _ = queue.remove(number)
            }
            settle(number, entry.request == nil ? .notSent : .unknown, .shuttingDown)
        }
        stopIfDone()
    }
}

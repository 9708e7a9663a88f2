internal import HTTP2
package import Network

/// Sends pushes for one team and key to one APNs environment, over several HTTP/2 connections on one event loop.
///
/// Confined to the loop. Opens connections as the load requires, keeps them open and replaces them when necessary;
/// every push gets exactly one outcome within ``ClientSettings/pushTimeout``. ``PoolState`` makes the decisions; this
/// class carries them out.
///
/// Usage, on the loop:
///
/// ```swift
/// let credentials = try ProviderCredentials(teamID: "ABCDE12345", keyID: "KEY1234567", key: key)
/// let client = Client(
///     endpoint: endpoint, tls: tls, tokens: ProviderTokenSource(credentials), on: loop)
/// let notification = Notification(
///     topic: topic, expiration: 0, payload: Array(#"{"aps":{"alert":"Build finished"}}"#.utf8))
/// let outcome = await client.send(Push(notification, to: deviceToken, id: id))
/// switch outcome {
/// case .accepted: break
/// case .rejected(let rejection): print("APNs refused the push: \(rejection.name)")
/// case .unreachable(let unreachable): print("APNs did not answer: \(unreachable.cause.rawValue)")
/// }
/// await client.stop(deadline: .seconds(5))
/// ```
package final class Client {
    package let loop: EventLoop
    package let endpoint: Endpoint
    package let settings: ClientSettings
    /// Called for connection events.
    package var onEvent: (ClientConnectionEvent) -> Void = { _ in }

    let tls: TLSClientContext
    let tokens: ProviderTokenSource
    let authority: String
    let tokenTime: () -> TokenTime
    let random: () -> Double

    var state: PoolState
    var pushes = PushTable()
    var connections: [PoolConnection?] = []
    var counters = ClientStatistics()
    /// Why the last connection failed, if none has answered a push since.
    var lastFailure: Failure?
    /// The `date` of the last response that had one, if the settings say to keep it.
    package internal(set) var answerDate: String?
    private var token: ProviderToken?
    private var tokenCheckedAt = MonotonicTime(nanoseconds: 0)
    private var tickTimer: Timer?
    private var tickDue = MonotonicTime(nanoseconds: 0)
    private var deadlineTimer: Timer?
    private var stopTimer: Timer?
    private var onStopped: [() -> Void] = []

    // The timers hold unowned references to the client: weak ones would slow down every retain.

    /// Creates a client without connections; the first push opens one.
    ///
    /// Call it only on `loop`.
    ///
    /// - Parameters:
    ///   - endpoint: APNs or a simulator.
    ///   - tls: A context that trusts the server and offers `h2` in ALPN.
    ///   - tokens: Shared by all clients for the same team and key.
    ///   - tokenTime: Returns the current time, for computing the age of provider tokens.
    ///   - random: Returns a number in 0 ..< 1, for back-off.
    package init(
        endpoint: Endpoint, tls: TLSClientContext, tokens: ProviderTokenSource, on loop: EventLoop,
        settings: ClientSettings = ClientSettings(), tokenTime: @escaping () -> TokenTime = { .current },
        random: @escaping () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.settings = settings
        self.tls = tls
        self.tokens = tokens
        self.tokenTime = tokenTime
        self.random = random
        authority = endpoint.port == 443 ? endpoint.authorityHost : endpoint.description
        state = PoolState(settings)
        tickTimer = Timer(on: loop) { [unowned self] in tick() }
        deadlineTimer = Timer(on: loop) { [unowned self] in expirePushes() }
    }

    /// Sends a push; calls `completion` exactly once with the outcome, on the loop, possibly before returning.
    package func send(_ push: Push, completion: @escaping (Outcome) -> Void) {
        guard !state.isStopping else { return settle(completion, .notSent, .shuttingDown) }
        let now = loop.now
        refreshToken(at: now)
        switch state.arrive(at: now) {
        case .connection(let index):
            put(insert(push, completion, at: now), push, on: index, at: now)
        case .queue:
            pushes.wait(insert(push, completion, at: now), first: false)
        case .queueFull:
            settle(completion, .notSent, .queueFull)
        case .unreachable:
            settle(completion, .notSent, lastFailure?.cause ?? .connectFailed, lastFailure?.detail ?? "")
        }
        resume(at: now)
    }

    /// Sends a push and waits for its outcome.
    ///
    /// Call it only on the loop.
    package func send(_ push: Push) async -> Outcome {
        await withCheckedContinuation { continuation in
            send(push) { continuation.resume(returning: $0) }
        }
    }

    /// Refuses new pushes, waits up to `deadline` for outstanding responses, and closes all connections cleanly.
    ///
    /// Pushes that have no response by then fail with ``Unreachable/Cause/shuttingDown``. Call it only on the loop.
    package func stop(deadline: Duration) async {
        state.isStopping = true
        if stopTimer == nil {
            let timer = Timer(on: loop) { [unowned self] in cutOff() }
            timer.schedule(after: deadline)
            stopTimer = timer
        }
        await withCheckedContinuation { continuation in
            onStopped.append { continuation.resume() }
            resume(at: loop.now)
        }
    }

    /// The client's counters and current state.
    ///
    /// Use it only on the loop.
    package var statistics: ClientStatistics {
        var snapshot = counters
        for case let connection? in state.connections {
            switch connection.phase {
            case .connecting: snapshot.connectingConnections += 1
            case .open: snapshot.openConnections += 1
            case .retiring, .closing: snapshot.retiringConnections += 1
            }
        }
        snapshot.pushesWaiting = state.queued
        snapshot.pushesUnderWay = pushes.count - state.queued
        return snapshot
    }
}

// MARK: Pushes

extension Client {
    private func insert(
        _ push: Push, _ completion: @escaping (Outcome) -> Void, at now: MonotonicTime
    ) -> Int {
        if let deadlineTimer, !deadlineTimer.isScheduled {
            deadlineTimer.schedule(after: settings.pushTimeout)
        }
        return pushes.insert(
            PushTable.Entry(
                push: push, completion: completion, deadline: now + settings.pushTimeout, sentAt: now))
    }

    /// Sends a push on the connection that the state has chosen; the state has already counted the push.
    private func put(_ place: Int, _ push: Push, on index: Int, at now: MonotonicTime) {
        guard let connection = connections[index] else { return }
        guard let token else {
            state.ended(index, .broken, at: now, jitter: 0)
            return finish(place, .notSent, .noProviderToken)
        }
        do {
            let slot = try connection.send(push, place: place, token: token)
            pushes.sent(place, on: index, stream: slot, token: token.serial, at: now)
        } catch {
            state.ended(index, .broken, at: now, jitter: 0)
            switch error {
            case .streamLimit:
                // The limit has dropped, but the event that reports it has not been handled yet.
                state.limitChanged(index, to: connection.streamLimit, at: now)
                pushes.wait(place, first: true)
                state.requeue(at: now)
            case .noNewStreams:
                state.retire(index, at: now, jitter: random())
                move(place, at: now)
            case .outOfMemory, .sessionFailed, .invalidHeader:
                finish(place, .notSent, .protocolError, "\(error)")
            }
        }
    }

    /// Requeues a push that the server did not process, to be sent on another connection or later on the same one.
    func move(_ place: Int, at now: MonotonicTime) {
        guard let moves = pushes[place]?.moves, moves < settings.movesMax else {
            return finish(place, .notSent, .streamRefused)
        }
        counters.moved += 1
        pushes[place]?.moves = moves + 1
        pushes.wait(place, first: true)
        state.requeue(at: now)
    }

    /// Performs the state's actions, sends queued pushes on connections that have room, and updates the timers.
    func resume(at now: MonotonicTime) {
        guard !state.isQuiet else { return }
        var hasActed = false
        repeat {
            let actions = state.takeActions()
            hasActed = hasActed || !actions.isEmpty
            for action in actions { perform(action, at: now) }
            if state.queued > 0 { refreshToken(at: now) }
            while let index = state.next(at: now), let place = pushes.popWaiting(),
                let push = pushes[place]?.push
            {
                put(place, push, on: index, at: now)
            }
        } while state.hasActions
        if state.takeNewDuty() || hasActed { armTick(at: now) }
        if state.isStopping { goOnStopping(at: now) }
    }

    /// Reports the outcome of a push without a response.
    func finish(
        _ place: Int, _ processed: Unreachable.Processed, _ cause: Unreachable.Cause, _ detail: String = ""
    ) {
        guard let entry = pushes.remove(place) else { return }
        settle(entry.completion, processed, cause, detail)
    }

    private func settle(
        _ completion: (Outcome) -> Void, _ processed: Unreachable.Processed, _ cause: Unreachable.Cause,
        _ detail: String = ""
    ) {
        counters.unreachable[cause.rawValue, default: 0] += 1
        completion(.unreachable(Unreachable(processed: processed, cause: cause, detail: detail)))
    }

    /// Gets the current token from the source, unless it did so a moment ago.
    ///
    /// Called before placing a push, because getting a new token retires the connections that can't use it.
    private func refreshToken(at now: MonotonicTime) {
        if token != nil, now.since(tokenCheckedAt) < settings.tokenCheckInterval { return }
        let old = token?.serial
        tokenCheckedAt = now
        token = try? tokens.token(at: tokenTime())
        if let token, let old, token.serial != old { tokenChanged(to: token, at: now) }
    }

    /// Makes the next push get the token from the source again.
    func forgetToken() {
        tokenCheckedAt = MonotonicTime(nanoseconds: 0)
    }

    /// The current token if it has this serial.
    func token(serial: UInt64) -> ProviderToken? {
        token?.serial == serial ? token : nil
    }
}

// MARK: Timers

extension Client {
    func armTick(at now: MonotonicTime) {
        guard let tickTimer, let due = state.nextTick, !tickTimer.isScheduled || due < tickDue else { return }
        tickDue = due
        tickTimer.schedule(after: max(.milliseconds(1), due.since(now)))
    }

    private func tick() {
        let now = loop.now
        state.tick(at: now, jitter: random())
        resume(at: now)
        armTick(at: now)
    }

    /// Fails the pushes that have timed out.
    private func expirePushes() {
        let now = loop.now
        while let place = pushes.byDeadline.first, let entry = pushes[place], entry.deadline <= now {
            if let index = entry.connection {
                state.timedOut(index, sentAt: entry.sentAt, at: now, jitter: random())
                connections[index]?.cancel(entry.stream)
                finish(place, .unknown, .timeout)
            } else {
                state.unqueue()
                finish(place, .notSent, lastFailure?.cause ?? .timeout, lastFailure?.detail ?? "")
            }
        }
        if let place = pushes.byDeadline.first, let entry = pushes[place] {
            deadlineTimer?.schedule(after: max(.milliseconds(1), entry.deadline.since(now)))
        }
        resume(at: now)
    }

    private func goOnStopping(at now: MonotonicTime) {
        guard pushes.count == 0, !onStopped.isEmpty else { return }
        state.retireAll(at: now)
        for action in state.takeActions() { perform(action, at: now) }
        guard !connections.contains(where: { $0 != nil }) else { return }
        stopTimer = nil
        let waiting = onStopped
        onStopped = []
        for resume in waiting { resume() }
    }

    /// Fails all pushes and closes all connections at the stop deadline.
    private func cutOff() {
        for place in pushes.waiting.all {
            state.unqueue()
            finish(place, .notSent, .shuttingDown)
        }
        for place in pushes.byDeadline.all {
            if let entry = pushes[place], let index = entry.connection {
                connections[index]?.cancel(entry.stream)
            }
            finish(place, .unknown, .shuttingDown)
        }
        for case let connection? in connections { connection.close() }
        resume(at: loop.now)
    }
}

extension Endpoint {
    /// The host as `:authority` contains it, with IPv6 addresses in brackets.
    fileprivate var authorityHost: String { host.contains(":") ? "[\(host)]" : host }
}

internal import Delays

/// Decides which of a pool's connections serves which call, without using connections, threads or clocks itself.
///
/// It receives events with their times, and returns actions. A pool has a bounded number of slots, each for one
/// connection. Calls are served in order of arrival. If there is no connection and the last attempt to connect failed,
/// the server counts as down: calls fail immediately, and the pool keeps trying to connect, doubling the delay up to a
/// maximum.
package struct PoolState: Sendable {
    /// A call's number within the pool.
    package typealias CallID = UInt64
    /// A point in time, counted from an origin that the pool chooses.
    package typealias Time = Duration

    /// An action for the pool to carry out.
    package enum Action: Hashable, Sendable {
        /// Run the call on the slot's connection; if `checking`, first test that the connection works.
        case run(CallID, slot: Int, checking: Bool)
        /// Connect, then report `opened` or `openFailed`.
        case open(slot: Int)
        /// Close the slot's connection; nothing needs to be reported.
        case close(slot: Int)
        /// Answer the call with an error.
        case fail(CallID, StorageError)
    }

    enum Slot: Hashable, Sendable {
        case empty
        case opening
        case idle(since: Time, retireAt: Time)
        /// `since` is when the slot last became idle, before the current call.
        case busy(since: Time, retireAt: Time)

        var isLive: Bool {
            switch self {
            case .idle, .busy: true
            case .empty, .opening: false
            }
        }
    }

    struct Waiter: Sendable {
        let call: CallID
        let deadline: Time
    }

    struct Outage: Sendable {
        var failures: Int
        var retryAt: Time
        var error: StorageError

        /// Whether the server is up but has no connection left.
        var isCrowded: Bool {
            if case .crowded = error { true } else { false }
        }
    }

    let options: ServerOptions
    private(set) var slots: [Slot]
    private(set) var waiting: ArraySlice<Waiter> = []
    private(set) var outage: Outage?
    private(set) var isClosed = false
    private(set) var openedCount: UInt64 = 0
    private(set) var failedCount: UInt64 = 0
    private(set) var lostCount: UInt64 = 0
    // When a connection was last lost; connections last used before then may be lost too.
    private var suspectBefore: Time?

    /// Creates a pool without connections.
    package init(options: ServerOptions) {
        self.options = options
        slots = Array(repeating: .empty, count: max(options.connectionsMax, 1))
    }

    /// When `tick` must be called next; nil if nothing is scheduled.
    package var nextTick: Time? {
        guard !isClosed else { return nil }
        var next = waiting.first?.deadline
        func consider(_ time: Time) { next = next.map { min($0, time) } ?? time }
        if let outage, !slots.contains(.opening), wantsConnections { consider(outage.retryAt) }
        guard !isCrowded else { return next }
        for case .idle(_, let retireAt) in slots { consider(retireAt) }
        return next
    }

    /// The numbers of connections by state, and totals of past connections.
    package var connections: StorageLoad.Connections {
        var connections = StorageLoad.Connections()
        connections.max = slots.count
        for slot in slots {
            switch slot {
            case .empty: break
            case .opening: connections.opening += 1
            case .idle: connections.idle += 1
            case .busy: connections.busy += 1
            }
        }
        connections.opened = openedCount
        connections.failed = failedCount
        connections.lost = lostCount
        return connections
    }

    /// Whether to replace a lost connection even if no call is waiting for it.
    private var wantsConnections: Bool { !waiting.isEmpty || !slots.contains(where: \.isLive) }

    /// Whether calls fail immediately.
    ///
    /// If the server is up but has no free connection, calls wait instead.
    private var isDown: Bool {
        outage != nil && !isCrowded && !slots.contains(where: \.isLive)
    }

    /// Whether the server has no more connections for this pool, so that the existing ones are kept.
    private var isCrowded: Bool { outage?.isCrowded == true }
}

// MARK: - Events

extension PoolState {
    /// A call needs a connection by `deadline`.
    package mutating func add(_ call: CallID, deadline: Time, now: Time) -> [Action] {
        guard !isClosed else { return [.fail(call, .closed)] }
        if let outage, isDown { return [.fail(call, outage.error)] }
        guard waiting.count < options.waitingCallsMax else {
            let detail = "\(options.waitingCallsMax) calls are already waiting for a connection"
            return [.fail(call, .unavailable(logDetail: detail))]
        }
        waiting.append(Waiter(call: call, deadline: deadline))
        return serve(now: now)
    }

    /// Requeues a call whose connection was lost, ahead of all others.
    ///
    /// - Parameter error: How the connection was lost: the call's error if it has no time left or the pool is closed.
    package mutating func addAgain(
        _ call: CallID, deadline: Time, error: StorageError, now: Time
    ) -> [Action] {
        guard !isClosed, deadline > now else { return [.fail(call, error)] }
        // Why connecting fails says more than how the last connection ended.
        if let outage, isDown { return [.fail(call, outage.error)] }
        waiting.insert(Waiter(call: call, deadline: deadline), at: waiting.startIndex)
        return serve(now: now)
    }

    /// A slot's connection was opened; `youth` in 0..<1 determines the random part of its lifetime.
    package mutating func opened(slot: Int, now: Time, youth: Double) -> [Action] {
        openedCount += 1
        guard !isClosed else { return [.close(slot: slot)] }
        outage = nil
        slots[slot] = .idle(since: now, retireAt: now + options.lifetime * (0.9 + 0.1 * youth))
        return serve(now: now)
    }

    /// A slot's connection couldn't be opened; `chance` in 0..<1 determines the random part of the wait.
    package mutating func openFailed(
        slot: Int, error: StorageError, now: Time, chance: Double
    ) -> [Action] {
        failedCount += 1
        slots[slot] = .empty
        guard !isClosed else { return [] }
        let failures = (outage?.failures ?? 0) + 1
        let backOff = BackOff(from: options.reconnectDelayMin, to: options.reconnectDelayMax)
        let delay = backOff.delay(after: failures) * (0.5 + 0.5 * chance)
        outage = Outage(failures: failures, retryAt: now + delay, error: error)
        return failIfDown() + serve(now: now)
    }

    /// A call has ended, and its connection can be used again.
    package mutating func released(slot: Int, now: Time) -> [Action] {
        guard !isClosed, case .busy(_, let retireAt) = slots[slot], now < retireAt || isCrowded else {
            slots[slot] = .empty
            return [.close(slot: slot)] + serve(now: now)
        }
        slots[slot] = .idle(since: now, retireAt: retireAt)
        return serve(now: now)
    }

    /// A connection was lost, along with any call it was running; the pool has closed it.
    package mutating func lost(slot: Int, now: Time) -> [Action] {
        lostCount += 1
        slots[slot] = .empty
        suspectBefore = now
        // No call has needed another connection since, so the old failure says nothing about the server now.
        if let outage, now >= outage.retryAt, !slots.contains(.opening) { self.outage = nil }
        return failIfDown() + serve(now: now)
    }

    /// A slot's idle connection was found to be dead; the pool has closed it.
    ///
    /// Connections that have been idle for longer are closed without a test: if the network dropped them, each test
    /// would wait for a timeout.
    package mutating func foundDead(slot: Int, now: Time) -> [Action] {
        guard case .busy(let since, _) = slots[slot] else { return lost(slot: slot, now: now) }
        var actions: [Action] = []
        for index in slots.indices {
            guard case .idle(let other, _) = slots[index], other <= since else { continue }
            lostCount += 1
            slots[index] = .empty
            actions.append(.close(slot: index))
        }
        return actions + lost(slot: slot, now: now)
    }

    /// Time has passed: ends expired waits, closes old connections and tries again to connect if the server was down.
    package mutating func tick(now: Time) -> [Action] {
        guard !isClosed else { return [] }
        var actions: [Action] = []
        for index in slots.indices {
            guard case .idle(_, let retireAt) = slots[index], now >= retireAt, !isCrowded else { continue }
            slots[index] = .empty
            actions.append(.close(slot: index))
        }
        if waiting.contains(where: { $0.deadline <= now }) {
            let late = StorageError.timeout(logDetail: "no connection to the database was free in time")
            let error = outage.map { $0.isCrowded ? $0.error : late } ?? late
            for waiter in waiting where waiter.deadline <= now { actions.append(.fail(waiter.call, error)) }
            waiting.removeAll { $0.deadline <= now }
        }
        return actions + serve(now: now)
    }

    /// Refuses new calls, fails waiting ones and closes connections as soon as they are free.
    package mutating func close() -> [Action] {
        isClosed = true
        var actions: [Action] = waiting.map { .fail($0.call, .closed) }
        waiting = []
        for index in slots.indices {
            guard case .idle = slots[index] else { continue }
            slots[index] = .empty
            actions.append(.close(slot: index))
        }
        return actions
    }
}

// MARK: - Decisions

extension PoolState {
    /// Assigns connections to waiting calls, and opens as many as are still needed.
    private mutating func serve(now: Time) -> [Action] {
        guard !isClosed else { return [] }
        var actions: [Action] = []
        var served = 0
        while served < waiting.count, let (slot, since, retireAt) = freshestIdle() {
            slots[slot] = .busy(since: since, retireAt: retireAt)
            let isSuspect = suspectBefore.map { since < $0 } ?? false
            let doubtful = isSuspect || now - since >= options.checkAfterIdle
            actions.append(.run(waiting[waiting.startIndex + served].call, slot: slot, checking: doubtful))
            served += 1
        }
        waiting.removeFirst(served)
        return actions + open(now: now)
    }

    /// The most recently used idle connection: it is warm, and the others can age out.
    private func freshestIdle() -> (slot: Int, since: Time, retireAt: Time)? {
        var found: (slot: Int, since: Time, retireAt: Time)?
        for (index, slot) in slots.enumerated() {
            guard case .idle(let since, let retireAt) = slot else { continue }
            if let best = found, best.since >= since { continue }
            found = (index, since, retireAt)
        }
        return found
    }

    /// Fails all waiting calls if the server is down, unless an attempt to connect is in progress.
    private mutating func failIfDown() -> [Action] {
        guard let outage, isDown, !slots.contains(.opening) else { return [] }
        defer { waiting = [] }
        return waiting.map { .fail($0.call, outage.error) }
    }

    private mutating func open(now: Time) -> [Action] {
        var opening = slots.count { $0 == .opening }
        var wanted = min(waiting.count, options.openingMax)
        if let outage {
            // After a failure, opens one connection at a time, even if no call is waiting, to notice when the server is
            // back.
            guard now >= outage.retryAt, opening == 0, wantsConnections else { return [] }
            wanted = 1
        }
        var actions: [Action] = []
        while opening < wanted, let free = slots.firstIndex(of: .empty) {
            slots[free] = .opening
            opening += 1
            actions.append(.open(slot: free))
        }
        return actions
    }
}

internal import Instruments

/// A bounded number of connections, each on its own thread, and the calls waiting for a connection.
///
/// `PoolState` makes the decisions and this class carries them out. Callers wait without blocking a thread, at most
/// until their call's deadline.
///
/// It isn't generic over the connection: the compiler can't specialise it for drivers in other modules, and looking up
/// generic types at run time took a tenth of the processor time per event.
final class ConnectionPool: Sendable {
    private struct Shared {
        var state: PoolState
        var calls: [PoolState.CallID: any PoolCall] = [:]
        var lastCall: PoolState.CallID = 0
        var durations = DurationHistogram()
    }

    private typealias Event = (inout PoolState, PoolState.Time) -> [PoolState.Action]

    private let options: ServerOptions
    private let origin = ContinuousClock.now
    private let shared: Guarded<Shared>
    /// Opens a connection on the thread that will use it.
    private let connect: @Sendable () throws(SQLFailure) -> any ServerConnection
    private let lanes: [Lane]
    private let timer = Guarded<PoolTimer?>(nil)

    /// Creates a pool of a driver's connections.
    init<Connection: ServerConnection>(
        of _: Connection.Type, to location: Connection.Location, options: ServerOptions
    ) {
        self.options = options
        connect = { () throws(SQLFailure) in try Connection.open(location, options: options) }
        let state = PoolState(options: options)
        shared = Guarded(Shared(state: state))
        lanes = state.slots.indices.map { Lane(label: "relay.db.\($0)") }
        let started = PoolTimer { [weak self] in self?.tick() }
        timer.withLock { $0 = started }
    }

    deinit {
        timer.withLock { $0?.end() }
    }

    /// Runs `body` on a connection's thread and returns to the caller's executor.
    ///
    /// `body` runs again after a conflict, and once more on another connection if its connection was lost. That run
    /// must return the same result as the first one; to do so, it can check `session.isRepeated`.
    ///
    /// - Parameter isChange: Whether to throw `unconfirmed` if `body` fails but may have changed something.
    func perform<Output: Sendable>(
        within timeout: Duration, isChange: Bool = false,
        _ body: @escaping @Sendable (SQLSession, any ServerConnection) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        let outcome = await withCheckedContinuation { continuation in
            start(within: timeout, isChange: isChange, body) { continuation.resume(returning: $0) }
        }
        return try outcome.get()
    }

    /// Like `perform`, but returns immediately; `completion` is called with the outcome on a connection's thread or on
    /// the caller's thread.
    func start<Output: Sendable>(
        within timeout: Duration, isChange: Bool = false,
        _ body: @escaping @Sendable (SQLSession, any ServerConnection) throws(SQLFailure) -> Output,
        completion: @escaping @Sendable (Result<Output, StorageError>) -> Void
    ) {
        add(
            PendingPoolCall<Output>(
                within: timeout, options: options, isChange: isChange, body, completion: completion))
    }

    /// Finishes running calls, fails waiting ones, and ends all threads.
    func close() async {
        react { state, _ in state.close() }
        for lane in lanes { await lane.shutdown() }
        timer.withLock { $0?.end() }
    }

    /// The numbers of connections and waiting calls, and the durations of calls.
    var load: StorageLoad {
        shared.withLock { shared in
            var load = StorageLoad()
            load.connections = shared.state.connections
            load.waitingCalls = shared.state.waiting.count
            load.durations = shared.durations
            return load
        }
    }

    /// The number of connections, including those being opened; for tests.
    var connectionCount: Int {
        shared.withLock { $0.state.slots.count { $0 != .empty } }
    }
}

// MARK: - Actions

extension ConnectionPool {
    private func add(_ call: any PoolCall) {
        let identifier = shared.withLock { shared in
            shared.lastCall += 1
            shared.calls[shared.lastCall] = call
            return shared.lastCall
        }
        // Half of the call's time is reserved for the work: a call that gets its connection at the last moment would
        // time out, which would cost the connection.
        let deadline = time(min(call.deadline, .now + options.callTimeout / 2))
        react { state, now in state.add(identifier, deadline: deadline, now: now) }
    }

    private func tick() -> ContinuousClock.Instant? {
        react { state, now in state.tick(now: now) }
        return shared.withLock { $0.state.nextTick }.map { origin + $0 }
    }

    private func time(_ instant: ContinuousClock.Instant) -> PoolState.Time {
        origin.duration(to: instant)
    }

    /// Passes an event to the state and carries out the resulting actions.
    ///
    /// Work is passed to the lanes while the state is locked, so that each lane receives it in the order of the state's
    /// decisions.
    private func react(_ event: Event) {
        let (failed, nextTick) = shared.withLock { shared in
            var failed: [(any PoolCall, StorageError)] = []
            for action in event(&shared.state, time(.now)) {
                switch action {
                case .run(let identifier, let slot, let checking):
                    guard let call = shared.calls.removeValue(forKey: identifier) else { continue }
                    lanes[slot].submit { self.run(call, identifier, on: slot, checking: checking) }
                case .open(let slot):
                    lanes[slot].submit { self.open(slot) }
                case .close(let slot):
                    let lane = lanes[slot]
                    lane.submit { lane.connection = nil }
                case .fail(let identifier, let error):
                    guard let call = shared.calls.removeValue(forKey: identifier) else { continue }
                    failed.append((call, error))
                }
            }
            return (failed, shared.state.nextTick)
        }
        for (call, error) in failed { call.fail(error) }
        if let nextTick { timer.withLock { $0 }?.wake(by: origin + nextTick) }
    }

    private func open(_ slot: Int) {
        let chance = Double.random(in: 0..<1)
        do throws(SQLFailure) {
            lanes[slot].connection = try connect()
            react { state, now in state.opened(slot: slot, now: now, youth: chance) }
        } catch {
            react { state, now in
                state.openFailed(slot: slot, error: error.error, now: now, chance: chance)
            }
        }
    }

    private func run(
        _ call: any PoolCall, _ identifier: PoolState.CallID, on slot: Int, checking: Bool
    ) {
        let lane = lanes[slot]
        guard let connection = lane.connection, !checking || isAlive(connection, call.deadline) else {
            let detail = "the connection was lost while it was idle"
            return repeatElsewhere(
                call, identifier, .unavailable(logDetail: detail), after: slot, wasIdle: true)
        }
        switch call.run(connection) {
        case .again(let error):
            repeatElsewhere(call, identifier, error, after: slot)
        case .done where connection.isUsable && !connection.isInTransaction:
            react { state, now in state.released(slot: slot, now: now) }
            finish(call)
        case .done:
            lane.connection = nil
            react { state, now in state.lost(slot: slot, now: now) }
            finish(call)
        }
    }

    private func finish(_ call: any PoolCall) {
        let (seconds, attoseconds) = call.began.duration(to: .now).components
        let nanoseconds = UInt64(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
        shared.withLock { $0.durations.observe(nanoseconds: nanoseconds) }
        call.finish()
    }

    private func isAlive(_ connection: any ServerConnection, _ deadline: ContinuousClock.Instant) -> Bool {
        connection.deadline = min(deadline, .now + min(options.checkTimeout, options.callTimeout / 4))
        return (try? connection.integer("SELECT 1")) != nil && connection.isUsable
    }

    private func repeatElsewhere(
        _ call: any PoolCall, _ identifier: PoolState.CallID, _ error: StorageError,
        after slot: Int, wasIdle: Bool = false
    ) {
        lanes[slot].connection = nil
        shared.withLock { $0.calls[identifier] = call }
        let deadline = time(call.deadline)
        react { state, now in
            (wasIdle ? state.foundDead(slot: slot, now: now) : state.lost(slot: slot, now: now))
                + state.addAgain(identifier, deadline: deadline, error: error, now: now)
        }
    }
}

/// A slot for one connection: its thread and, if there is one, the connection.
private final class Lane: @unchecked Sendable {  // why: see `connection`
    /// Used only on the executor's thread.
    var connection: (any ServerConnection)?
    private let label: String
    private let executor = Guarded<BlockingExecutor?>(nil)

    init(label: String) {
        self.label = label
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        let started = executor.withLock { executor in
            let started = executor ?? BlockingExecutor(label: label)
            executor = started
            return started
        }
        started.submit(work)
    }

    /// Runs the submitted work and ends the thread, if it was started.
    func shutdown() async {
        await executor.withLock { $0 }?.shutdown()
    }
}

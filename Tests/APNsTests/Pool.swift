import Network

@testable import APNs

/// A pool state with a manual clock and shorthand for events.
struct Pool {
    var state: PoolState
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var jitter = 1.0

    init(_ change: (inout ClientSettings) -> Void = { _ in }) {
        var settings = ClientSettings()
        change(&settings)
        state = PoolState(settings)
    }

    mutating func pass(_ time: Duration) { now = now + time }
    mutating func push() -> PoolState.Placement { state.arrive(at: now) }
    mutating func next() -> Int? { state.next(at: now) }
    mutating func actions() -> [PoolState.Action] { state.takeActions() }
    mutating func opened(_ index: Int) { state.opened(index, at: now) }
    mutating func limit(_ index: Int, _ limit: Int) { state.limitChanged(index, to: limit, at: now) }
    mutating func answer(_ index: Int, _ kind: PoolState.AnswerKind = .accepted) {
        state.answered(index, kind, at: now)
    }
    mutating func end(_ index: Int, _ end: PoolState.StreamEnd) {
        state.ended(index, end, at: now, jitter: jitter)
    }
    mutating func goAway(_ index: Int) { state.retire(index, at: now, jitter: jitter) }
    mutating func closed(_ index: Int) { state.closed(index, at: now, jitter: jitter) }
    mutating func tick() { state.tick(at: now, jitter: jitter) }

    /// The number of pushes sent now, by connection.
    mutating func sendAll() -> [Int: Int] {
        var sent: [Int: Int] = [:]
        while let index = next() { sent[index, default: 0] += 1 }
        return sent
    }

    /// A pool with one primed, idle connection that allows `limit` streams.
    static func primed(limit: Int = 100, _ change: (inout ClientSettings) -> Void = { _ in }) -> Pool {
        var pool = Pool(change)
        _ = pool.push()
        _ = pool.actions()
        pool.opened(0)
        pool.limit(0, limit)
        _ = pool.next()
        pool.answer(0)
        return pool
    }
}

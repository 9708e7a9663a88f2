import Network
import Storage

/// Keeps a clock that is set from holding pushes back, or from having them sent twice.
///
/// Confined to the loop of the worker whose it is.
final class QueueClock {
    private let queue: PushQueue
    private var watch = ClockWatch()
    private var lateLeases = LateLeases()
    /// The clock was set forward, and leases have not been renewed since.
    private var hasShortLeases = false
    private var checkedAt: MonotonicTime?

    /// A clock that has not been looked at.
    init(_ queue: PushQueue) {
        self.queue = queue
    }

    /// Looks at the clock; before each claim, whose time this is.
    ///
    /// A lease is longer than its work by as much as clocks may differ: smaller steps do no harm.
    func look(at wall: EpochMilliseconds, _ monotonic: MonotonicTime) {
        let step = watch.step(to: wall, at: monotonic)
        guard step >= Bounds.clockSkewMax || step <= .zero - Bounds.clockSkewMax else { return }
        queue.log(.warning, "clock.set", [.note("seconds", "\(step.components.seconds)")])
        guard step > .zero else {
            checkedAt = nil
            return
        }
        hasShortLeases = true
        queue.clockSetForward(at: monotonic)
    }

    /// Puts right in the database what a clock that was set left behind there, before something is claimed.
    func prepareClaim(
        at now: EpochMilliseconds, _ monotonic: MonotonicTime
    ) async throws(StorageError) {
        if hasShortLeases {
            try await queue.renewLeases(at: now)
            hasShortLeases = false
        }
        if let checkedAt, monotonic.since(checkedAt) < Bounds.dueCheckInterval { return }
        checkedAt = monotonic
        let leases = try await queue.endMisdatedWaits(at: now)
        let over = lateLeases.over(leases, after: queue.options.leaseTime, at: monotonic)
        if !over.isEmpty { try await queue.makeDue(over, at: now) }
    }
}

/// Leases that end later than any may, because the clock was ahead when they were taken.
///
/// Whoever holds one may be at work, and its end says nothing. So each is given a whole lease's time from when it was
/// first seen, by the monotonic clock of the process that sees it: after that nobody can be at work any more, whatever
/// the clocks of relays say.
struct LateLeases {
    private var seen: [DuePush: MonotonicTime] = [:]

    /// Those among the leases that are there now which have been there for a time; the others are remembered.
    mutating func over(
        _ found: [DuePush], after time: Duration, at now: MonotonicTime
    ) -> [DuePush] {
        let before = seen
        seen = Dictionary(found.map { ($0, before[$0] ?? now) }, uniquingKeysWith: { first, _ in first })
        return found.filter { lease in seen[lease].map { now.since($0) >= time } ?? false }
    }
}

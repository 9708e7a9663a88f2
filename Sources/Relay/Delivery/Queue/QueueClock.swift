import Network
import Programs
import Storage

/// Prevents clock changes from delaying pushes or causing them to be sent twice.
///
/// Confined to the loop of its worker.
final class QueueClock {
    private let queue: PushQueue
    private var watch = ClockWatch()
    private var lateLeases = LateLeases()
    /// Whether the clock was set forward and leases haven't been renewed since.
    private var hasShortLeases = false
    private var checkedAt: MonotonicTime?
    /// Whether the clock was set back and waits haven't been checked since.
    private var isSetBack = false
    /// The latest step forward, when it happened, and until when it is remembered.
    private var skipped: (step: EpochMilliseconds, at: EpochMilliseconds, until: MonotonicTime)?

    /// A clock that has not been read yet.
    init(_ queue: PushQueue) {
        self.queue = queue
    }

    /// Checks for clock changes; call it before comparing times.
    ///
    /// A lease outlasts its work by the allowed clock skew, so smaller steps are harmless.
    func look(at wall: EpochMilliseconds, _ monotonic: MonotonicTime) {
        let step = watch.step(to: wall, at: monotonic)
        guard step >= Bounds.clockSkewMax || step <= .zero - Bounds.clockSkewMax else { return }
        queue.log(.warning, "clock.set", [.note("seconds", "\(step.components.seconds)")])
        guard step > .zero else {
            checkedAt = nil
            isSetBack = true
            skipped = nil
            return
        }
        hasShortLeases = true
        skipped = (step.inMilliseconds, wall, monotonic + Bounds.clockStepMemory)
        queue.clockSetForward(at: monotonic)
    }

    /// When a push expires, by the current clock.
    ///
    /// Setting the clock forward doesn't shorten the life of pushes that were stored before: no push is lost,
    /// regardless of which time was right.
    func end(of push: PendingPush, at wall: EpochMilliseconds, _ monotonic: MonotonicTime)
        -> EpochMilliseconds
    {
        look(at: wall, monotonic)
        guard let skipped, monotonic < skipped.until, push.createdAt < skipped.at else {
            return push.expiresAt
        }
        return push.expiresAt + skipped.step
    }

    /// Repairs times in the database that are wrong because of clock changes; call it before each claim.
    func prepareClaim(
        at now: EpochMilliseconds, _ monotonic: MonotonicTime
    ) async throws(StorageError) {
        if hasShortLeases {
            try await queue.renewLeases(at: now)
            hasShortLeases = false
        }
        if let checkedAt, monotonic.since(checkedAt) < Bounds.dueCheckInterval { return }
        let leases = try await queue.endMisdatedWaits(at: now, isSetBack: isSetBack)
        checkedAt = monotonic
        isSetBack = false
        let over = lateLeases.over(leases, after: queue.options.leaseTime, at: monotonic)
        if !over.isEmpty { try await queue.makeDue(over, at: now) }
    }
}

/// Leases that end later than any valid lease, because the clock was fast when they were taken.
///
/// Their owners may still be working, which the end time doesn't show. Each lease is therefore left alone for a full
/// lease time, on this process's monotonic clock, after it was first seen; then no owner can still be working.
struct LateLeases {
    private var seen: [DuePush: MonotonicTime] = [:]

    /// Returns the leases that were first seen long enough ago; remembers the others.
    mutating func over(
        _ found: [DuePush], after time: Duration, at now: MonotonicTime
    ) -> [DuePush] {
        let before = seen
        seen = Dictionary(found.map { ($0, before[$0] ?? now) }, uniquingKeysWith: { first, _ in first })
        return found.filter { lease in seen[lease].map { now.since($0) >= time } ?? false }
    }
}

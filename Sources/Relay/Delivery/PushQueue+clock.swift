import APNs
import Network
import Storage

/// What the queue does about a clock that is set while pushes wait.
extension PushQueue {
    /// Notes that the clock was set forward: what waits seems older than it is.
    func clockSetForward(at now: MonotonicTime) {
        state.withLock { $0.clockSetForwardAt = now }
    }

    /// Whether something can have waited for so long, as the clock says it has.
    func mayHaveWaited(_ time: Duration, at now: MonotonicTime) -> Bool {
        state.withLock { $0.clockSetForwardAt }.map { now.since($0) > time } ?? true
    }

    /// Begins every lease anew.
    ///
    /// After the clock was set forward leases seem to have run out whose pushes are still in flight. One whose holder is
    /// dead lasts longer for it.
    func renewLeases(at now: EpochMilliseconds) async throws(StorageError) {
        let end = now + options.leaseTime.inMilliseconds
        let leases = try await storage.pushes(
            dueAfter: .min, leased: true, limit: Bounds.leasesRenewedMax)
        _ = try await storage.setDue(leases.filter { $0.dueAt < end }, to: end)
    }

    /// Makes pushes due that are due later than any may be: a clock that was ahead has put them there.
    ///
    /// - Returns: The leases that end later than any may, to be ended when they have been there for a whole lease's time.
    func endMisdatedWaits(at now: EpochMilliseconds) async throws(StorageError) -> [DuePush] {
        let horizon = now + options.waitMax.inMilliseconds
        let limit = Bounds.dueCheckRowsPerStep
        while true {
            let found = try await storage.pushes(dueAfter: horizon, leased: false, limit: limit)
            let count = try await makeDue(found, at: now)
            // Where others were faster there is nothing left to do, or there is at the next look.
            guard found.count == limit, count > 0 else { break }
        }
        return try await storage.pushes(dueAfter: horizon, leased: true, limit: limit)
    }

    /// Makes pushes due, whatever their rows said, and says how many had not changed since.
    @discardableResult
    func makeDue(_ pushes: [DuePush], at now: EpochMilliseconds) async throws(StorageError) -> Int {
        let count = try await storage.setDue(pushes, to: now)
        if count > 0 { log(.warning, "queue.misdated", [.count("pushes", count)]) }
        return count
    }
}

extension PushQueue.Options {
    /// The longest that anything waits, for its next attempt or for the end of a lease, by clocks that may differ.
    var waitMax: Duration {
        max(schedule.delayMax, .seconds(Answer.retryAfterMax), leaseTime) + Bounds.clockSkewMax
    }
}

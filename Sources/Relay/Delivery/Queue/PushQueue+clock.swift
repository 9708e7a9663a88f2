import APNs
import Network
import Programs
import Storage

/// Handles clock changes while pushes are queued.
extension PushQueue {
    /// Records that the clock was set forward, which makes queued pushes seem older than they are.
    func clockSetForward(at now: MonotonicTime) {
        writer.withBuffer { $0.clockSetForwardAt = now }
    }

    /// Whether a push can really have waited as long as the wall clock suggests.
    func mayHaveWaited(_ time: Duration, at now: MonotonicTime) -> Bool {
        writer.withBuffer { $0.clockSetForwardAt }.map { now.since($0) > time } ?? true
    }

    /// Renews every lease.
    ///
    /// After the clock is set forward, leases of pushes in flight seem to have expired. Renewing also prolongs
    /// the leases of dead processes.
    func renewLeases(at now: EpochMilliseconds) async throws(StorageError) {
        let end = now + options.leaseTime.inMilliseconds
        let leases = try await storage.pushes(
            dueAfter: .min, leased: true, limit: Bounds.leasesRenewedMax)
        _ = try await storage.setDue(leases.filter { $0.dueAt < end }, to: end)
    }

    /// Makes pushes due now if a fast clock set their due time beyond the longest possible wait.
    ///
    /// - Parameter isSetBack: Whether this process's clock was just set back. The intended waits are then unknown, so
    ///   all pushes become due.
    /// - Returns: The leases that end later than any valid lease, to be ended once they have been seen for a whole
    ///   lease time.
    func endMisdatedWaits(
        at now: EpochMilliseconds, isSetBack: Bool
    ) async throws(StorageError) -> [DuePush] {
        let horizon = isSetBack ? now : now + options.waitMax.inMilliseconds
        let limit = Bounds.dueCheckRowsPerStep
        while true {
            let found = try await storage.pushes(dueAfter: horizon, leased: false, limit: limit)
            let count = try await makeDue(found, at: now)
            // If other relays were faster, nothing is left or the next round handles the rest.
            guard found.count == limit, count > 0 else { break }
        }
        let leaseEnd = now + (options.leaseTime + Bounds.clockSkewMax).inMilliseconds
        return try await storage.pushes(dueAfter: leaseEnd, leased: true, limit: limit)
    }

    /// Makes pushes due now, unless they have changed since they were read, and returns how many were unchanged.
    @discardableResult
    func makeDue(_ pushes: [DuePush], at now: EpochMilliseconds) async throws(StorageError) -> Int {
        let count = try await storage.setDue(pushes, to: now)
        if count > 0 { log(.warning, "queue.misdated", [.count("pushes", count)]) }
        return count
    }
}

extension PushQueue.Options {
    /// The longest possible wait for the next attempt, including clock skew.
    var waitMax: Duration {
        max(schedule.delayMax, .seconds(Answer.retryAfterMax), Bounds.queuedQuietLook) + Bounds.clockSkewMax
    }
}

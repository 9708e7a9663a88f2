import Storage

/// Limits the stored pushes in flight so that new events go first.
struct RetryBudget: Hashable, Sendable {
    /// Maximum stored pushes in flight while the loop has nothing else to send.
    var inFlightMax = Bounds.retriesInFlightMax
    /// Maximum stored pushes in flight per destination until it has accepted most of its pushes.
    var inFlightFirst: Int { min(Bounds.retriesInFlightFirst, inFlightMax) }
    /// Minimum stored pushes in flight per destination, regardless of new events.
    var perDestinationMin = Bounds.retriesPerDestinationMin
    /// Number of unwritten ends above which nothing is claimed.
    var unwrittenMax = Bounds.endsUnwrittenMax

    /// How many pushes may be claimed, given the slots, the claimed pushes and the unwritten ends.
    ///
    /// The result is enough that sending needn't wait for the database, but no more than the database can keep up with.
    func room(slots: Int, claimed: Int, unwritten: Int) -> Int {
        max(0, min(2 * slots - claimed, unwrittenMax - unwritten))
    }

    /// The minimum batch worth claiming for these slots while other pushes are waiting to be sent.
    func claimMin(slots: Int) -> Int { max(1, slots / 2) }
}

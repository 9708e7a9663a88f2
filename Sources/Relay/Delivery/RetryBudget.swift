import Storage

/// How many pushes that were stored may be on their way, so that new events go first.
struct RetryBudget: Hashable, Sendable {
    /// In flight while the loop has nothing else to send.
    var inFlightMax = Bounds.retriesInFlightMax
    /// In flight to each destination however many pushes of new events there are.
    var perPlaceMin = Bounds.retriesPerPlaceMin
    /// Ends that are not written yet beyond which none is claimed.
    var unwrittenMax = Bounds.settlementsUnwrittenMax

    /// How many may be claimed for so many places while so many are held and so many ends are not written: enough that
    /// sending needn't wait for the database, and no more than it keeps up with.
    func room(places: Int, held: Int, unwritten: Int) -> Int {
        max(0, min(2 * places - held, unwrittenMax - unwritten))
    }

    /// Fewer than these are not claimed for so many places while there are others to send.
    func claimMin(places: Int) -> Int { max(1, places / 2) }
}

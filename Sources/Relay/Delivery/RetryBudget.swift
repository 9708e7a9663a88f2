import Storage

/// How many pushes that were stored may be on their way, so that new events go first.
struct RetryBudget: Hashable, Sendable {
    /// In flight while the loop has nothing else to send.
    var inFlightMax = Bounds.retriesInFlightMax
    /// In flight to each destination however many pushes of new events there are.
    var perPlaceMin = Bounds.retriesPerPlaceMin
    /// Ends that are not written yet beyond which none is claimed.
    var unwrittenMax = Bounds.settlementsUnwrittenMax

    /// How many may be claimed while so many are held and so many ends are not written: enough that sending needn't wait
    /// for the database, and no more than it keeps up with.
    func room(held: Int, unwritten: Int) -> Int {
        max(0, min(2 * inFlightMax - held, unwrittenMax - unwritten))
    }

    /// Fewer than these are not claimed while there are others to send.
    var claimMin: Int { max(1, inFlightMax / 2) }
}

/// Who has the places for stored pushes in flight.
///
/// A destination is a key's connections to one environment. One may have as many places as are left beside all that are
/// taken, and always a few: alone it has half of them, two have a third each, and one that doesn't answer
/// can't keep another waiting.
struct RetryPlaces {
    private struct Use {
        var inFlight = 0
        /// When it last answered, or when it was first sent to again.
        var answeredAt: EpochMilliseconds
    }

    private let budget: RetryBudget
    private var uses: [APNsHealth.Place: Use] = [:]
    /// Pushes in flight to all destinations.
    private(set) var inFlight = 0

    /// Places of which none is taken.
    init(_ budget: RetryBudget) {
        self.budget = budget
    }

    /// Whether one more may be sent there beside so many pushes of new events.
    func hasPlace(in place: APNsHealth.Place, besides eventPushes: Int) -> Bool {
        let free = budget.inFlightMax - eventPushes - inFlight
        return (uses[place]?.inFlight ?? 0) < max(free, budget.perPlaceMin)
    }

    /// Takes a place; there may be more than there should.
    mutating func take(in place: APNsHealth.Place, at now: EpochMilliseconds) {
        inFlight += 1
        uses[place, default: Use(answeredAt: now)].inFlight += 1
    }

    /// Gives a place back; `isAnswered` says whether APNs said anything.
    mutating func giveBack(_ place: APNsHealth.Place, isAnswered: Bool, at now: EpochMilliseconds) {
        guard var use = uses[place] else { return }
        inFlight -= 1
        use.inFlight -= 1
        if isAnswered { use.answeredAt = now }
        uses[place] = use.inFlight > 0 ? use : nil
    }

    /// The destinations that have no place left and have not answered for a while.
    func silent(besides eventPushes: Int, at now: EpochMilliseconds) -> Set<APNsHealth.Place> {
        let silent = uses.filter { place, use in
            now >= use.answeredAt + Bounds.retryStallTime.inMilliseconds
                && !hasPlace(in: place, besides: eventPushes)
        }
        return Set(silent.keys)
    }
}

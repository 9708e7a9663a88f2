import Network

/// Who has the places for stored pushes in flight.
///
/// A destination is a key's connections to one environment. One may have as many places as are left beside all that are
/// taken, and always a few: alone it has half of them, two have a third each, and one that doesn't answer
/// can't keep another waiting. One that takes little of what it is sent has fewer and fewer, down to those few, and
/// more again when it takes most.
struct RetryPlaces {
    /// What a push came to, as far as its destination goes.
    enum Answer {
        /// It took the push, or refused it for good.
        case ended
        /// It can't take pushes now.
        case putOff
        /// It said nothing.
        case none
        /// It refused the provider token, so that it will refuse every push.
        case tokenRefused
    }

    private struct Use {
        var inFlight = 0
        /// When it last answered, or when it was first sent to again.
        var answeredAt: MonotonicTime
        /// When it last gave a place back.
        var usedAt: MonotonicTime
        /// It refused the token: until then it gets nothing, and from then on one push at a time.
        var restsUntil: MonotonicTime?
        /// How many may be in flight.
        var window: Int
        /// Pushes that came back since the window was last looked at, and those among them that it did not take.
        var returned = 0
        var putOff = 0
    }

    private let budget: RetryBudget
    private var uses: [APNsHealth.Place: Use] = [:]
    /// Pushes in flight to all destinations.
    private(set) var inFlight = 0

    /// Places of which none is taken.
    init(_ budget: RetryBudget) {
        self.budget = budget
    }

    /// How many pushes are worth being claimed for: those that the destination with the widest window may have.
    var width: Int { uses.values.map(\.window).max() ?? budget.inFlightMax }

    /// Whether one more may be sent there beside so many pushes of new events.
    func hasPlace(in place: APNsHealth.Place, besides eventPushes: Int, at now: MonotonicTime) -> Bool {
        let free = budget.inFlightMax - eventPushes - inFlight
        guard let use = uses[place] else { return max(free, budget.perPlaceMin) > 0 }
        if let restsUntil = use.restsUntil { return now >= restsUntil && use.inFlight == 0 }
        return use.inFlight < min(use.window, max(free, budget.perPlaceMin))
    }

    /// Takes a place; there may be more than there should.
    mutating func take(in place: APNsHealth.Place, at now: MonotonicTime) {
        inFlight += 1
        if (uses[place]?.inFlight ?? 0) == 0 { forget(at: now) }
        var use = uses[place] ?? Use(answeredAt: now, usedAt: now, window: budget.inFlightMax)
        if use.inFlight == 0 { use.answeredAt = now }
        use.inFlight += 1
        uses[place] = use
    }

    /// Gives a place back.
    mutating func giveBack(_ place: APNsHealth.Place, _ answer: Answer, at now: MonotonicTime) {
        guard var use = uses[place] else { return }
        inFlight -= 1
        use.inFlight -= 1
        use.usedAt = now
        if answer != .none { use.answeredAt = now }
        switch answer {
        case .tokenRefused: use.restsUntil = now + Bounds.tokenRefusedRest
        case .ended: use.restsUntil = nil
        case .putOff, .none: break
        }
        use.returned += 1
        if answer != .ended { use.putOff += 1 }
        if use.returned >= use.window {
            let isRefusing = 2 * use.putOff > use.returned
            use.window =
                isRefusing
                ? max(use.window / 2, min(budget.perPlaceMin, use.window))
                : min(use.window * 2, budget.inFlightMax)
            (use.returned, use.putOff) = (0, 0)
        }
        uses[place] = use
    }

    /// The destinations that have no place left and have not answered for a while, or refuse the token; and what to
    /// wait for there.
    func stalled(
        besides eventPushes: Int, at now: MonotonicTime
    ) -> [APNsHealth.Place: OutcomePolicy.RetryLater.Trouble] {
        var stalled: [APNsHealth.Place: OutcomePolicy.RetryLater.Trouble] = [:]
        for (place, use) in uses where !hasPlace(in: place, besides: eventPushes, at: now) {
            if use.restsUntil != nil {
                stalled[place] = .token
            } else if use.inFlight > 0, now.since(use.answeredAt) >= Bounds.retryStallTime {
                stalled[place] = .unreachable
            }
        }
        return stalled
    }

    /// Forgets what is not in use and hasn't been for a while.
    private mutating func forget(at now: MonotonicTime) {
        uses = uses.filter { $1.inFlight > 0 || now.since($1.usedAt) < Bounds.retryWindowMemory }
    }
}

extension RetryPlaces.Answer {
    /// What the step after an outcome says of the destination.
    init(_ step: OutcomePolicy.Step) {
        self = .ended
        guard case .retryLater(let retry) = step else { return }
        switch retry.trouble {
        case .unreachable: self = .none
        case .server: self = .putOff
        // One device has had too much, not the destination.
        case .tooMany: self = .ended
        case .token: self = .tokenRefused
        }
    }
}

import Network

/// Limits the stored pushes in flight, in total and per destination.
///
/// A destination is a key's connections to one of APNs' environments, or a push service. It may use no more slots than
/// remain free, but always a small minimum. A single destination thus gets half of the slots and two get a third each,
/// and a destination that doesn't respond can't block another. A destination's window grows while the destination can
/// handle most pushes, and shrinks to the minimum while it can't.
struct ConcurrencyLimiter {
    /// The meaning of a push's outcome for its destination.
    enum Answer {
        /// APNs accepted the push or rejected it permanently.
        case ended
        /// APNs can't accept pushes now.
        case putOff
        /// APNs didn't respond.
        case none
        /// APNs rejected the provider token, which says nothing about capacity.
        case tokenRefused
    }

    private struct Use {
        var inFlight = 0
        /// When the destination last responded, or when pushes to it resumed.
        var answeredAt: MonotonicTime
        /// When the destination last released a slot.
        var usedAt: MonotonicTime
        /// Maximum pushes in flight to the destination.
        var window: Int
        /// Pushes with an outcome since the window was last adjusted, and how many of them APNs couldn't accept.
        var returned = 0
        var putOff = 0

        /// Adjusts the window; a wide one is halved before all its pushes return, so that a failing APNs gets fewer.
        mutating func adjustWindow(_ budget: RetryBudget) {
            guard returned >= min(window, budget.inFlightFirst) else { return }
            if 2 * putOff > returned {
                window = max(window / 2, min(budget.perDestinationMin, window))
            } else if returned >= window {
                window = min(window * 2, budget.inFlightMax)
            } else {
                return
            }
            (returned, putOff) = (0, 0)
        }
    }

    private let budget: RetryBudget
    private var uses: [PushDestination: Use] = [:]
    /// Pushes in flight to all destinations.
    private(set) var inFlight = 0
    /// When idle destinations were last forgotten; forgetting them keeps tenants from filling the memory with push
    /// services' hosts.
    private var forgotAt = MonotonicTime(nanoseconds: 0)

    /// Creates a limiter whose slots are all free.
    init(_ budget: RetryBudget) {
        self.budget = budget
    }

    /// How many pushes are worth claiming: the widest window of any destination.
    var width: Int { uses.values.map(\.window).max() ?? budget.inFlightFirst }

    /// Whether one more push may be sent to a destination while this many pushes of new events are in flight.
    func hasSlot(in destination: PushDestination, besides eventPushes: Int) -> Bool {
        let free = budget.inFlightMax - eventPushes - inFlight
        guard let use = uses[destination] else { return max(free, budget.perDestinationMin) > 0 }
        return use.inFlight < min(use.window, max(free, budget.perDestinationMin))
    }

    /// Takes a slot, even above the limit.
    mutating func take(in destination: PushDestination, at now: MonotonicTime) {
        inFlight += 1
        if (uses[destination]?.inFlight ?? 0) == 0 { forget(at: now) }
        var use = uses[destination] ?? Use(answeredAt: now, usedAt: now, window: budget.inFlightFirst)
        if use.inFlight == 0 { use.answeredAt = now }
        use.inFlight += 1
        uses[destination] = use
    }

    /// Releases a slot.
    mutating func giveBack(_ destination: PushDestination, _ answer: Answer, at now: MonotonicTime) {
        guard var use = uses[destination] else { return }
        inFlight -= 1
        use.inFlight -= 1
        use.usedAt = now
        if answer != .none { use.answeredAt = now }
        switch answer {
        case .tokenRefused: break
        case .ended: use.returned += 1
        case .putOff, .none:
            use.returned += 1
            use.putOff += 1
        }
        use.adjustWindow(budget)
        uses[destination] = use
    }

    /// The destinations that have no free slot and haven't responded for a while.
    func silent(besides eventPushes: Int, at now: MonotonicTime) -> Set<PushDestination> {
        let silent = uses.filter { destination, use in
            use.inFlight > 0 && now.since(use.answeredAt) >= Bounds.retryStallTime
                && !hasSlot(in: destination, besides: eventPushes)
        }
        return Set(silent.keys)
    }

    /// Pushes in flight to destinations that have responded recently; silent destinations must not block the queue.
    func inFlightToAnswering(at now: MonotonicTime) -> Int {
        uses.values.reduce(0) { sum, use in
            now.since(use.answeredAt) < Bounds.retryStallTime ? sum + use.inFlight : sum
        }
    }

    /// Occasionally forgets destinations that have been idle for a while.
    private mutating func forget(at now: MonotonicTime) {
        guard now.since(forgotAt) >= Bounds.retryForgetInterval else { return }
        forgotAt = now
        uses = uses.filter { $1.inFlight > 0 || now.since($1.usedAt) < Bounds.retryWindowMemory }
    }
}

extension ConcurrencyLimiter.Answer {
    /// The meaning of a push's end for the destination.
    init(_ end: PushEnd) {
        self = .ended
        guard case .retryLater(let retry) = end else { return }
        switch retry.cause {
        case .unreachable: self = .none
        case .server: self = .putOff
        // A single device received too many pushes; the destination is fine.
        case .tooMany: self = .ended
        case .token: self = .tokenRefused
        }
    }
}

import Storage

extension Schedule {
    /// Returns the schedule with new times after the clock that wrote it was set back: a pure function.
    ///
    /// The schedule's latest recorded time, ``createdAt`` or ``lastAt``, lies in the future, so times derived from it
    /// are too late. Delays after its creation or last occurrence now start from the current time. Times of day stay
    /// the same but are re-evaluated now: the rule determines the next occurrence, and the sender determines whether
    /// the device still has quiet hours.
    ///
    /// - Parameter isDelay: Whether the only occurrence is sent a fixed time after the schedule's creation.
    func redated(at now: EpochMilliseconds, isDelay: Bool) -> Schedule {
        let ahead = max(0, max(createdAt, lastAt ?? createdAt) - now)
        let isCounted = isDelay || kind == .async || kind == .repeat
        let next = isCounted ? nextAt - ahead : kind == .held ? min(nextAt, now) : nextAt
        var redated = Schedule(
            id: id, secretHash: secretHash, kind: kind, name: name, rule: rule, content: content,
            nextAt: next, endsAt: isCounted ? endsAt.map { $0 - max(0, createdAt - now) } : endsAt,
            lateBy: lateBy, window: window, createdAt: min(createdAt, now))
        redated.lastAt = lastAt.map { min($0, now) }
        redated.lastOutcome = lastOutcome
        redated.skipped = skipped
        if isCounted {
            redated.dueAt = dueAt - ahead
        } else if rule != nil || kind == .held {
            redated.dueAt = min(dueAt, now)
        } else {
            redated.dueAt = dueAt
        }
        return redated
    }
}

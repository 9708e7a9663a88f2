import Programs
import Storage

/// The action to take for a due schedule: a pure function of the row, its rule and the time.
struct OccurrencePlan: Equatable {
    /// The nominal time of the occurrence to send; `nil` if there is none.
    var send: EpochMilliseconds?
    /// The number of occurrences that will never be sent.
    var skipped = 0
    /// The nominal time of the next occurrence; `nil` if there is none.
    var next: EpochMilliseconds?
}

extension OccurrencePlan {
    /// Plans to send the newest due occurrence, if it isn't too late, and to skip the others.
    ///
    /// - Parameters:
    ///   - next: Returns the first occurrence after a time.
    ///   - now: The current time.
    init(
        of schedule: Schedule, at now: EpochMilliseconds,
        next: (EpochMilliseconds) -> EpochMilliseconds?
    ) {
        func following(_ time: EpochMilliseconds) -> EpochMilliseconds? {
            // A rule whose occurrences don't advance would never end.
            next(time).flatMap { $0 > time && $0 <= schedule.endsAt ?? .max ? $0 : nil }
        }
        // Each occurrence is sent this long after its nominal time.
        let delay = schedule.spread(0)
        let time = now - delay
        guard schedule.nextAt <= time else {
            // The row was due only for re-evaluation, because the rule's times may have changed.
            let first = following(min(time, schedule.nextAt - 1))
            self.next = schedule.rule == nil ? schedule.nextAt : first
            return
        }
        let late = max(schedule.lateBy, Bounds.scheduleLateMin.inMilliseconds)
        var newest = schedule.nextAt
        var steps = 0
        self.next = following(newest)
        while let upcoming = self.next, upcoming <= time {
            steps += 1
            newest = upcoming
            // After a long outage, counting all occurrences of a frequent schedule would take too long; only those that
            // may still be sent are evaluated.
            switch steps {
            case ..<Bounds.scheduleStepsMax: self.next = following(upcoming)
            case ..<(2 * Bounds.scheduleStepsMax): self.next = following(max(upcoming, time - late - 1))
            default: self.next = following(time)
            }
        }
        let isLate = time - newest > late
        send = isLate ? nil : newest
        skipped = isLate ? steps + 1 : steps
    }
}

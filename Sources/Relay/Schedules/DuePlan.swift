import Programs
import Storage

/// The action to take for a due schedule, given the time zones that its rule depends on: a pure function.
enum DuePlan: Equatable {
    /// - Parameter zones: The names of the zones whose devices get the occurrence; `nil` for all devices.
    case plan(OccurrencePlan, zones: Set<String>?)
    /// This relay doesn't know the zone, or no device has a known zone.
    case unknownZone

    /// - Parameters:
    ///   - zones: The names of the devices' zones, if the rule uses them.
    ///   - timeZones: The system's time zones.
    init(
        of schedule: Schedule, _ rule: ScheduleRule, zones: [String], _ timeZones: TimeZones,
        at now: EpochMilliseconds
    ) {
        let recurrence: Recurrence
        switch rule {
        case .once:
            self = .plan(OccurrencePlan(of: schedule, at: now) { _ in nil }, zones: nil)
            return
        case .interval(let interval):
            self = .plan(OccurrencePlan(of: schedule, at: now) { $0 + interval }, zones: nil)
            return
        case .recurrence(let given): recurrence = given
        }
        func next(_ time: EpochMilliseconds, in zones: [String]) -> EpochMilliseconds? {
            guard case .at(let next) = recurrence.next(after: time, zones: zones, timeZones) else {
                return nil
            }
            return next
        }
        guard recurrence.next(after: schedule.nextAt - 1, zones: zones, timeZones) != .unknownZone else {
            self = .unknownZone
            return
        }
        guard recurrence.usesDeviceZones else {
            var current = schedule
            // Hourly recurrences don't depend on zones.
            if recurrence.zone != nil {
                guard let first = next(schedule.lastHandled, in: []) else {
                    self = .plan(OccurrencePlan(), zones: nil)
                    return
                }
                current.nextAt = first
            }
            self = .plan(OccurrencePlan(of: current, at: now) { next($0, in: []) }, zones: nil)
            return
        }
        // An occurrence missed in one zone isn't replaced by one in another zone.
        let plans = zones.compactMap { zone -> (zone: String, plan: OccurrencePlan)? in
            guard let first = next(schedule.nextAt - 1, in: [zone]) else { return nil }
            var own = schedule
            own.nextAt = first
            return (zone, OccurrencePlan(of: own, at: now) { next($0, in: [zone]) })
        }
        guard let send = plans.compactMap(\.plan.send).min() else {
            var plan = OccurrencePlan(skipped: plans.map(\.plan.skipped).max() ?? 0)
            plan.next = plans.compactMap(\.plan.next).min()
            self = .plan(plan, zones: nil)
            return
        }
        let chosen = plans.filter { $0.plan.send == send }
        let plan = OccurrencePlan(
            send: send, skipped: chosen.map(\.plan.skipped).max() ?? 0, next: next(send, in: zones))
        self = .plan(plan, zones: Set(chosen.map(\.zone)))
    }
}

extension Schedule {
    /// A time before ``nextAt`` after which no occurrence has been sent or skipped yet.
    ///
    /// According to the zone data at the time when the row was written, no occurrence lies between the two times. New
    /// data may have moved the next occurrence later, so that it isn't due, or earlier, even to a time before the row
    /// was last evaluated.
    fileprivate var lastHandled: EpochMilliseconds {
        min(nextAt - 1, max(lastAt ?? 0, nextAt - Bounds.scheduleShiftMax.inMilliseconds))
    }
}

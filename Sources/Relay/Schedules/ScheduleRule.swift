import JSON
import Storage

/// The rule for a schedule's occurrences, read from its row.
enum ScheduleRule: Sendable, Equatable {
    /// A single occurrence.
    case once
    /// Occurrences at equal intervals, in milliseconds.
    case interval(EpochMilliseconds)
    /// A recurrence: every few hours, or at local times.
    case recurrence(Recurrence)

    /// Reads a row's rule; `nil` if this relay doesn't understand it.
    init?(_ schedule: Schedule) {
        guard let rule = schedule.rule else {
            self = .once
            return
        }
        switch schedule.kind {
        case .repeat:
            guard let value = try? JSON.parse(Array(rule.utf8), maxBytes: StorageLimits.scheduleRuleBytes),
                let seconds = value["seconds"]?.int, seconds > 0, seconds <= Self.secondsMax
            else { return nil }
            self = .interval(EpochMilliseconds(seconds) * 1_000)
        case .schedule:
            guard let recurrence = Recurrence(stored: rule) else { return nil }
            self = .recurrence(recurrence)
        case .held, .async: return nil
        }
    }

    /// Whether the occurrences depend on the devices' time zones.
    var usesDeviceZones: Bool {
        if case .recurrence(let recurrence) = self { recurrence.usesDeviceZones } else { false }
    }

    /// The longest interval that is accepted, in seconds.
    private static let secondsMax = 86_400
}

import JSON
import Storage

/// When a schedule's occurrences are, read from its row.
enum ScheduleRule: Sendable, Equatable {
    /// Once.
    case once
    /// After equal intervals, in milliseconds.
    case interval(EpochMilliseconds)

    /// Reads a row's rule; `nil` if this relay doesn't understand it.
    init?(_ schedule: Schedule) {
        guard let rule = schedule.rule else {
            self = .once
            return
        }
        guard schedule.kind == .repeat,
            let value = try? JSON.parse(Array(rule.utf8), maxBytes: StorageLimits.scheduleRuleBytes),
            let seconds = value["seconds"]?.int, seconds > 0, seconds <= Self.secondsMax
        else { return nil }
        self = .interval(EpochMilliseconds(seconds) * 1_000)
    }

    /// The longest interval that is read.
    private static let secondsMax = 86_400

    /// The first occurrence after another one; `nil` without one.
    func next(after time: EpochMilliseconds) -> EpochMilliseconds? {
        switch self {
        case .once: nil
        case .interval(let interval): time + interval
        }
    }
}

import Network
import Storage

/// Stores scheduled sends, wakes the worker for them, and counts their outcomes.
final class ScheduleQueue: Sendable {
    /// The outcome of an occurrence; the raw value is shown in lists, logs and metrics.
    enum Outcome: String, CaseIterable, Sendable {
        /// A push was sent or queued.
        case sent
        /// Every device's preferences suppressed the push.
        case muted
        /// No push was sent.
        case failed
        /// There was no device to send a push to.
        case noDevices = "no_devices"
        /// It was too late to send the occurrence.
        case skipped
        /// The operator has blocked the secret.
        case blocked
        /// This relay can't interpret the content or the rule.
        case invalid
        /// This relay doesn't know the time zone.
        case unknownTimeZone = "unknown_time_zone"
    }

    /// Why an occurrence is postponed.
    enum Postponement: String, CaseIterable, Sendable {
        /// The secret sends too many events.
        case rateLimited = "rate_limited"
        /// The relay has too many pushes in flight, or another relay is sending the occurrence.
        case overloaded
        /// The database isn't responding.
        case storage
    }

    /// The counters.
    struct Figures: Sendable, Equatable {
        /// Occurrences by ``Outcome``.
        var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
        /// Postponements by ``Postponement``.
        var postponed = [UInt64](repeating: 0, count: Postponement.allCases.count)
        /// When the schedule that has waited longest became due, as of the last check; `nil` if none is due.
        var oldestDue: EpochMilliseconds?
    }

    private let storage: any ScheduleStorage
    private let counted = Lock(Figures())
    /// Wakes the worker for schedules that it would otherwise send late.
    let alarm = DueAlarm()

    /// Creates a queue for a database's schedules.
    init(storage: any ScheduleStorage) {
        self.storage = storage
    }

    /// Stores a schedule and wakes the worker if it is due before the worker's next check.
    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation {
        let creation = try await storage.create(schedule, under: key, limit: limit)
        switch creation {
        case .created, .replaced: alarm.ring(at: schedule.dueAt)
        case .limitReached, .noDevices: break
        }
        return creation
    }

    // MARK: Counting

    var figures: Figures { counted.withLock { $0 } }

    /// Counts occurrences.
    func count(_ outcome: Outcome, times: Int = 1) {
        guard let number = Outcome.allCases.firstIndex(of: outcome) else { return }
        counted.withLock { $0.outcomes[number] += UInt64(times) }
    }

    func count(_ postponement: Postponement) {
        guard let number = Postponement.allCases.firstIndex(of: postponement) else { return }
        counted.withLock { $0.postponed[number] += 1 }
    }

    /// Records when the schedule that has waited longest became due.
    func noteOldestDue(_ time: EpochMilliseconds?) {
        counted.withLock { $0.oldestDue = time }
    }
}

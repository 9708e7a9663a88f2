import Network
import Storage

/// The scheduled sends: stores them, wakes the worker, and counts their outcomes.
final class ScheduleQueue: Sendable {
    /// The outcome of an occurrence; the raw value is shown by lists, logs and metrics.
    enum Outcome: String, CaseIterable, Sendable {
        /// A push was sent or queued.
        case sent
        /// Every device's preferences suppressed it.
        case muted
        /// No push was sent.
        case failed
        /// There was no device to send it to.
        case noDevices = "no_devices"
        /// It was too late.
        case skipped
        /// The operator has blocked the secret.
        case blocked
        /// This relay can't interpret the content or the rule.
        case invalid
        /// This relay doesn't know the time zone.
        case unknownTimeZone = "unknown_time_zone"
    }

    /// Why an occurrence is sent later.
    enum Postponement: String, CaseIterable, Sendable {
        /// The secret sends too many events.
        case rateLimited = "rate_limited"
        /// The relay has too many pushes in flight, or another one is sending it.
        case overloaded
        /// The database doesn't answer.
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

    private struct State {
        var figures = Figures()
        var nextLook: EpochMilliseconds = .max
        var wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?
    }

    private let storage: any ScheduleStorage
    private let state = Lock(State())

    /// The schedules of a database.
    init(storage: any ScheduleStorage) {
        self.storage = storage
    }

    /// Stores a schedule and wakes the worker if it is due before the worker's next check.
    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation {
        let creation = try await storage.create(schedule, under: key, limit: limit)
        switch creation {
        case .created, .replaced: wake(at: schedule.dueAt)
        case .limitReached, .noDevices: break
        }
        return creation
    }

    private func wake(at due: EpochMilliseconds) {
        let wakeWorker = state.withLock { state -> (@Sendable (EpochMilliseconds) -> Void)? in
            guard due < state.nextLook else { return nil }
            state.nextLook = due
            return state.wakeWorker
        }
        wakeWorker?(due)
    }

    /// Registers a callback for schedules that are due before the worker's next check.
    func onEarlierSchedule(_ wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?) {
        state.withLock { $0.wakeWorker = wakeWorker }
    }

    /// Records when the worker will check next.
    func workerLooks(at time: EpochMilliseconds) {
        state.withLock { $0.nextLook = time }
    }

    // MARK: Counting

    /// The counters.
    var figures: Figures { state.withLock(\.figures) }

    /// Counts occurrences.
    func count(_ outcome: Outcome, times: Int = 1) {
        guard let number = Outcome.allCases.firstIndex(of: outcome) else { return }
        state.withLock { $0.figures.outcomes[number] += UInt64(times) }
    }

    /// Counts a postponement.
    func count(_ postponement: Postponement) {
        guard let number = Postponement.allCases.firstIndex(of: postponement) else { return }
        state.withLock { $0.figures.postponed[number] += 1 }
    }

    /// Records when the schedule that has waited longest became due.
    func noteOldestDue(_ time: EpochMilliseconds?) {
        state.withLock { $0.figures.oldestDue = time }
    }
}

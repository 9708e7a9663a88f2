import Network
import Storage

/// Wakes a ``DueWorker`` when a row becomes due before the worker's next poll; callable from any thread.
final class DueAlarm: Sendable {
    private struct State {
        /// When the worker polls next.
        var nextLook: EpochMilliseconds = .max
        var wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?
    }

    private let state = Lock(State())

    /// When the worker polls next; `.max` if no poll is scheduled.
    var nextLook: EpochMilliseconds { state.withLock(\.nextLook) }

    /// Registers the worker's callback for rows that become due before its next poll.
    func onEarlier(_ wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?) {
        state.withLock { $0.wakeWorker = wakeWorker }
    }

    /// Records when the worker polls next.
    func workerLooks(at time: EpochMilliseconds) {
        state.withLock { $0.nextLook = time }
    }

    /// Wakes the worker if its next poll is later than `due`.
    func ring(at due: EpochMilliseconds) {
        let wakeWorker = state.withLock { state -> (@Sendable (EpochMilliseconds) -> Void)? in
            guard due < state.nextLook else { return nil }
            state.nextLook = due
            return state.wakeWorker
        }
        wakeWorker?(due)
    }
}

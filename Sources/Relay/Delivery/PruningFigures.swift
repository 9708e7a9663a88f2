import Network
import Storage

/// The expired rows that this process has removed, and those that it has left.
final class PruningFigures: Sendable {
    private struct State {
        var removed: [ExpiringTable: UInt64] = [:]
        var oldest: [ExpiringTable: EpochMilliseconds] = [:]
    }

    private let state = Lock(State())

    /// Removed rows.
    var removed: [ExpiringTable: UInt64] { state.withLock(\.removed) }

    /// When the oldest row expired that the last step in a table left; missing if none was left.
    var oldest: [ExpiringTable: EpochMilliseconds] { state.withLock(\.oldest) }

    /// Records a step.
    func note(_ pruning: Pruning, of step: PruneRound.Step, at now: EpochMilliseconds) {
        state.withLock { state in
            state.removed[step.table, default: 0] += UInt64(pruning.removed)
            state.oldest[step.table] = pruning.next.map { $0 + (now - step.end) }
        }
    }
}

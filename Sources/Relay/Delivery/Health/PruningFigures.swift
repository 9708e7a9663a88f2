import Network
import Storage

/// Figures about expired rows: how many this process has removed, and the expiry of the oldest ones left.
final class PruningFigures: Sendable {
    private struct State {
        var removed: [ExpiringTable: UInt64] = [:]
        var oldest: [ExpiringTable: EpochMilliseconds] = [:]
    }

    private let state = Lock(State())

    /// The number of removed rows, per table.
    var removed: [ExpiringTable: UInt64] { state.withLock(\.removed) }

    /// Expiry of the oldest row that the last step left, per table; absent if none.
    var oldest: [ExpiringTable: EpochMilliseconds] { state.withLock(\.oldest) }

    /// Records a step.
    func note(_ pruning: Pruning, of step: PruneRound.Step, at now: EpochMilliseconds) {
        state.withLock { state in
            state.removed[step.table, default: 0] += UInt64(pruning.removed)
            state.oldest[step.table] = pruning.next.map { $0 + (now - step.end) }
        }
    }
}

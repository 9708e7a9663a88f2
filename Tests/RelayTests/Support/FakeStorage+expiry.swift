import Network
import Storage

extension FakeStorage {
    /// The row after each step has the time of the step's number.
    func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Pruning {
        try checked { state throws(StorageError) in
            state.prunes.append(PruneRound.Step(table: table, start: start, end: end, limit: limit))
            if let failure = state.pruneFailures[table] { throw failure }
            if table == .history {
                let old = state.history.filter { $0.createdAt < end }.sorted { $0.id < $1.id }.prefix(limit)
                state.history.removeAll { old.contains($0) }
                return Pruning(removed: old.count)
            }
            let count = min(limit, state.expired[table] ?? 0)
            state.expired[table, default: 0] -= count
            let isOver = state.expired[table] == 0
            return Pruning(removed: count, next: isOver ? nil : EpochMilliseconds(state.prunes.count))
        }
    }
}

/// A due schedule, as read by the scan for the next claim.
struct DueSchedule: Hashable {
    let secretHash: SecretHash
    let id: String
    /// When the schedule became due; a claim succeeds only if this hasn't changed.
    let dueAt: EpochMilliseconds
}

/// Chooses the due schedules that a claim takes: the logic shared by all drivers, without SQL.
struct ScheduleScan {
    /// The part of the table with which the claim begins.
    let start: Int
    let limit: Int

    /// The parts of the table, in the order in which this claim searches them.
    var buckets: [Int] {
        (0..<StorageLimits.scheduleBucketsPerClaim).map { (start + $0) % StorageLimits.buckets }
    }

    /// The schedules to claim: one per secret in turn, the nearest parts of the table first.
    func chosen(from rows: [DueSchedule]) -> [DueSchedule] {
        var turns: [SecretHash: Int] = [:]
        let oldestFirst = rows.sorted { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }
        let placed = oldestFirst.map { row in
            let turn = turns[row.secretHash, default: 0]
            turns[row.secretHash] = turn + 1
            return (row: row, turn: turn, distance: distance(of: row.secretHash))
        }
        return placed.sorted {
            ($0.turn, $0.distance, $0.row.dueAt, $0.row.id) < ($1.turn, $1.distance, $1.row.dueAt, $1.row.id)
        }.prefix(max(limit, 0)).map(\.row)
    }

    private func distance(of hash: SecretHash) -> Int {
        let count = StorageLimits.buckets
        return (hash.bucket - start % count + count) % count
    }
}

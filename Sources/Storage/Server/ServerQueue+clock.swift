/// Due times that a clock which was ahead has left behind.
extension ServerQueue {
    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) throws(SQLFailure) -> [DuePush] {
        var found: [DuePush] = []
        try session.query(
            """
            SELECT secret_hash, id, due_at FROM pending_push
            WHERE due_at > ? AND lease_owner IS \(leased ? "NOT NULL" : "NULL") ORDER BY due_at DESC LIMIT ?
            """, [.integer(horizon), .integer(Int64(max(limit, 0)))]
        ) { row throws(SQLFailure) in
            found.append(
                DuePush(secretHash: try row.hash(0), id: try row.text(1), dueAt: try row.integer(2)))
        }
        return found
    }

    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) throws(SQLFailure) -> Int {
        // In the order in which they are claimed.
        let inOrder = pushes.sorted { ($0.secretHash.hex, $0.id) < ($1.secretHash.hex, $1.id) }
        return try session.transaction { () throws(SQLFailure) in
            var count = 0
            for chunk in Insertion.chunks(of: inOrder) {
                let rows = Self.anyOf("secret_hash = ? AND id = ? AND due_at = ?", chunk.count)
                var values: [SQLValue] = [.integer(time)]
                for push in chunk {
                    values += [.hash(push.secretHash), .text(push.id), .integer(push.dueAt)]
                }
                count += try session.execute("UPDATE pending_push SET due_at = ? WHERE \(rows)", values)
            }
            return count
        }
    }
}

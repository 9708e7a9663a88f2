extension SQLSession {
    /// Finds and locks the pushes still leased to the caller, then ends the leases.
    ///
    /// Uses few statements for any number of pushes, because each statement is a round trip.
    func settle(_ settlements: [Settlement], logging: Bool) throws(SQLFailure) -> [Bool] {
        guard !settlements.isEmpty else { return [] }
        // Sorted in the same order as in claims.
        let inOrder = settlements.sorted { ($0.secretHash, $0.id) < ($1.secretHash, $1.id) }
        return try transaction { () throws(SQLFailure) in
            var held = try self.held(inOrder)
            var ends: [Settlement] = []
            var results: [Bool] = []
            results.reserveCapacity(settlements.count)
            for settlement in settlements {
                let isHeld = held.remove(settlement.hold) != nil
                if isHeld { ends.append(settlement) }
                results.append(isHeld)
            }
            try end(ends, logging: logging)
            guard isRepeated, results.contains(false) else { return results }
            let others = zip(settlements, results).filter { !$0.1 }.map(\.0)
            let ended = try self.ended(others, logging: logging)
            return zip(settlements, results).map { $0.1 || ended.contains($0.0.hold) }
        }
    }

    /// The pushes still leased to the caller; no other caller can claim them before the transaction ends.
    private func held(_ inOrder: [Settlement]) throws(SQLFailure) -> Set<Hold> {
        var held: Set<Hold> = []
        let groups = try connection.shardsBySecret() ? Self.bySecret(inOrder) : [inOrder]
        for chunk in groups.flatMap({ Insertion.chunks(of: $0) }) {
            let sql = """
                SELECT secret_hash, id, lease_owner FROM pending_push
                WHERE \(Self.anyOf(Hold.condition, chunk.count))\(statements.lockRows)
                """
            try query(sql, chunk.flatMap(\.hold.values)) { row throws(SQLFailure) in
                held.insert(Hold(hash: try row.hash(0), id: try row.text(1), owner: try row.text(2)))
            }
        }
        return held
    }

    private static func bySecret(_ inOrder: [Settlement]) -> [[Settlement]] {
        var groups: [[Settlement]] = []
        for settlement in inOrder {
            if groups.last?.last?.secretHash == settlement.secretHash {
                groups[groups.count - 1].append(settlement)
            } else {
                groups.append([settlement])
            }
        }
        return groups
    }

    private func end(_ settlements: [Settlement], logging: Bool) throws(SQLFailure) {
        var over: [(hold: Hold, delivery: Delivery)] = []
        var again: [(hold: Hold, dueAt: EpochMilliseconds, attempts: Int)] = []
        for settlement in settlements {
            switch settlement.end {
            case .over(let delivery): over.append((settlement.hold, delivery))
            case .again(let dueAt, let attempts): again.append((settlement.hold, dueAt, attempts))
            }
        }
        for chunk in Insertion.chunks(of: over) {
            _ = try execute(
                "DELETE FROM pending_push WHERE \(Self.anyOf(Hold.condition, chunk.count))",
                chunk.flatMap { $0.hold.values })
        }
        for chunk in Insertion.chunks(of: again) {
            let places = Array(repeating: "WHEN secret_hash = ? AND id = ? THEN ?", count: chunk.count)
            let cases = places.joined(separator: " ")
            let dueAt = chunk.flatMap { $0.hold.place + [.integer($0.dueAt)] }
            let attempts = chunk.flatMap { $0.hold.place + [.integer(Int64($0.attempts))] }
            _ = try execute(
                """
                UPDATE pending_push SET lease_owner = NULL, due_at = CASE \(cases) ELSE due_at END,
                    attempts = CASE \(cases) ELSE attempts END
                WHERE \(Self.anyOf(Hold.condition, chunk.count))
                """, dueAt + attempts + chunk.flatMap { $0.hold.values })
        }
        guard logging else { return }
        try appendUnlessPresent(over.map { $0.delivery })
    }

    /// The pushes whose leases this call ended before its connection was lost.
    ///
    /// Without log rows, an ended push can't be distinguished from one that another caller took; such a push counts as
    /// not leased.
    private func ended(_ settlements: [Settlement], logging: Bool) throws(SQLFailure) -> Set<Hold> {
        var over: [Settlement] = []
        var again: [Settlement] = []
        for settlement in settlements {
            if case .over = settlement.end { over.append(settlement) } else { again.append(settlement) }
        }
        let logged = "secret_hash = ? AND id = ? AND created_at = ?"
        let waiting = "secret_hash = ? AND id = ? AND due_at = ? AND attempts = ? AND lease_owner IS NULL"
        let postponed = try found(again, in: "pending_push", waiting)
        return logging ? try found(over, in: "delivery_log", logged).union(postponed) : postponed
    }

    private func found(
        _ settlements: [Settlement], in table: String, _ condition: String
    ) throws(SQLFailure) -> Set<Hold> {
        var found: Set<Hold> = []
        for chunk in Insertion.chunks(of: settlements) {
            var holds: [PlaceOfPush: Hold] = [:]
            var values: [SQLValue] = []
            for settlement in chunk {
                let hold = settlement.hold
                holds[PlaceOfPush(hash: hold.hash, id: hold.id)] = hold
                values += hold.place
                switch settlement.end {
                case .over(let delivery): values.append(.integer(delivery.createdAt))
                case .again(let dueAt, let attempts):
                    values += [.integer(dueAt), .integer(Int64(attempts))]
                }
            }
            let sql = "SELECT secret_hash, id FROM \(table) WHERE \(Self.anyOf(condition, chunk.count))"
            try query(sql, values) { row throws(SQLFailure) in
                let place = PlaceOfPush(hash: try row.hash(0), id: try row.text(1))
                if let hold = holds[place] { found.insert(hold) }
            }
        }
        return found
    }
}

/// A queued push and the owner of its lease.
private struct Hold: Hashable {
    static let condition = "secret_hash = ? AND id = ? AND lease_owner = ?"

    let hash: SecretHash
    let id: String
    let owner: String

    /// The push's primary key.
    var place: [SQLValue] { [.hash(hash), .text(id)] }
    /// The parameters of `condition`.
    var values: [SQLValue] { place + [.text(owner)] }
}

extension Settlement {
    fileprivate var hold: Hold { Hold(hash: secretHash, id: id, owner: owner.text) }
}

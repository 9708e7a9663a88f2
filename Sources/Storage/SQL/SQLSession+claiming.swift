extension SQLSession {
    /// Takes, in its own transaction, the chosen pushes that no other caller has taken since they were read.
    package func claim(
        _ chosen: [DuePush], dueAt now: EpochMilliseconds, _ lease: PushLease
    ) throws(SQLFailure) -> [ClaimedPush] {
        guard !chosen.isEmpty || isRepeated else { return [] }
        // One transaction, so that a claim repeated after a conflict leaves no push leased to an unknown owner.
        return try transaction { () throws(SQLFailure) in
            try take(chosen, lease)
            return try held(lease, chosen, now)
        }
    }

    /// Leases the chosen pushes that no other caller has taken since they were read; within a transaction.
    func take(_ chosen: [DuePush], _ lease: PushLease) throws(SQLFailure) {
        // All claims use the same order, so that concurrent claims wait for each other less often.
        let inOrder = chosen.sorted { ($0.secretHash, $0.id) < ($1.secretHash, $1.id) }
        for chunk in Insertion.chunks(of: inOrder) { try take(chunk, lease) }
    }

    private func take(_ chosen: ArraySlice<DuePush>, _ lease: PushLease) throws(SQLFailure) {
        let rows = Self.anyOf("secret_hash = ? AND id = ? AND due_at = ?", chosen.count)
        var values: [SQLValue] = [.text(lease.owner.text), .integer(lease.until)]
        for due in chosen { values += [.hash(due.secretHash), .text(due.id), .integer(due.dueAt)] }
        _ = try execute(
            "UPDATE pending_push SET lease_owner = ?, due_at = ? WHERE \(rows)", values)
    }

    /// The pushes under the lease; the owner's ID is unique to this call.
    func held(
        _ lease: PushLease, _ chosen: [DuePush], _ now: EpochMilliseconds
    ) throws(SQLFailure) -> [ClaimedPush] {
        let columns = SQLStatements.pushColumns.map { "p." + $0 }.joined(separator: ", ")
        var claimed: [PlaceOfPush: ClaimedPush] = [:]
        let places = Dictionary(
            chosen.map { (PlaceOfPush(hash: $0.secretHash, id: $0.id), $0.dueAt) }, uniquingKeysWith: { $1 })
        try query(
            """
            SELECT \(columns), r.acked_at, \(Device.columnsOfD) FROM pending_push p
            LEFT JOIN device_registration d ON d.secret_hash = p.secret_hash AND d.id = p.device_id
            LEFT JOIN event_reply r
                ON r.secret_hash = p.secret_hash AND r.event_id = p.event_id AND r.expires_at > ?
            WHERE p.due_at = ? AND p.lease_owner = ?
            """, [.integer(now), .integer(lease.until), .text(lease.owner.text)]
        ) { row throws(SQLFailure) in
            let push = try PendingPush(row)
            let place = PlaceOfPush(hash: push.secretHash, id: push.id)
            claimed[place] = ClaimedPush(
                push: push.due(at: places[place] ?? now),
                device: try Self.device(row, from: SQLStatements.pushColumns.count + 1),
                isAcknowledged: !row.isNull(SQLStatements.pushColumns.count))
        }
        try addTokens(to: &claimed)
        let inOrder = chosen.compactMap { due in
            claimed.removeValue(forKey: PlaceOfPush(hash: due.secretHash, id: due.id))
        }
        // Includes pushes that an earlier attempt took before its connection was lost.
        return inOrder + claimed.values
    }

    /// Finds the recipients of the few pushes that don't go to a device's own token.
    private func addTokens(to claimed: inout [PlaceOfPush: ClaimedPush]) throws(SQLFailure) {
        for (place, found) in claimed where found.device == nil && found.push.isForToken {
            let token = try token(id: found.push.deviceID, found.push.secretHash)
            claimed[place] = ClaimedPush(push: found.push, device: token?.recipient)
        }
    }

    /// The row's device; nil if there is none or it is unreadable: one such row must not stop all other pushes.
    private static func device(_ row: SQLRow, from first: Int) throws(SQLFailure) -> Device? {
        guard !row.isNull(first) else { return nil }
        do throws(SQLFailure) {
            return try Device(row, from: first)
        } catch {
            guard case .corrupt = error.error else { throw error }
            return nil
        }
    }
}

/// The pushes that wait, on a database server.
struct ServerQueue<Connection: SQLConnection> {
    let session: ServerSession<Connection>
    let statements: ServerStatements

    /// A row with what the lease adds to the push.
    private struct Row {
        let push: PendingPush
        let leaseOwner: String?
    }

    func enqueue(
        _ pushes: [PendingPush], _ lease: PushLease?, limitPerSecret: Int
    ) throws(SQLFailure) -> [EnqueueResult] {
        guard !pushes.isEmpty else { return [] }
        return try session.transaction { () throws(SQLFailure) in
            var results: [EnqueueResult] = []
            results.reserveCapacity(pushes.count)
            var rows: [Row] = []
            var secrets: [SecretHash: Backlog] = [:]
            for push in pushes {
                var backlog: Backlog
                if let known = secrets[push.secretHash] {
                    backlog = known
                } else {
                    let count = pushes.count { $0.secretHash == push.secretHash }
                    backlog = try self.backlog(of: push.secretHash, adding: count, limit: limitPerSecret)
                }
                let result = backlog.add(push, limit: limitPerSecret)
                if case .queued = result, !backlog.stored.contains(push.id) {
                    rows.append(Row(push: push, leaseOwner: lease?.owner.text))
                }
                secrets[push.secretHash] = backlog
                results.append(result)
            }
            try insert(rows, statements.insertPushesUnlessPresent, dueAt: lease?.until)
            return results
        }
    }

    /// Takes the chosen pushes that nobody took since they were read: each update says what it expects to find.
    func claim(
        dueAt now: EpochMilliseconds, _ lease: PushLease, limit: Int, _ scope: ClaimScope
    ) throws(SQLFailure) -> [ClaimedPush] {
        let chosen = try choose(dueAt: now, limit: limit, scope)
        guard !chosen.isEmpty || session.isRepeated else { return [] }
        // In the same order everywhere, so that those who claim together wait for one another less often.
        let inOrder = chosen.sorted { ($0.secretHash.hex, $0.id) < ($1.secretHash.hex, $1.id) }
        // All or none, so that one which is begun again after a conflict leaves none leased to nobody.
        return try session.transaction { () throws(SQLFailure) in
            for chunk in Insertion.chunks(of: inOrder) { try take(chunk, lease) }
            return try held(lease, chosen, now)
        }
    }

    /// Moves a secret's rows to another hash; a worker that holds one waits and then finds it gone.
    ///
    /// As delete and insert: engines that shard by `secret_hash` refuse to change it.
    func move(from old: SecretHash, to new: SecretHash) throws(SQLFailure) {
        var found: [Row] = []
        let columns = ServerStatements.pushColumns.joined(separator: ", ")
        try session.query(
            "SELECT \(columns) FROM pending_push WHERE secret_hash = ? FOR UPDATE", [.hash(old)]
        ) {
            row throws(SQLFailure) in
            found.append(try Self.row(row))
        }
        for chunk in Insertion.chunks(of: found) {
            let rows = Self.anyOf("secret_hash = ? AND id = ?", chunk.count)
            let values = chunk.flatMap { [.hash(old), .text($0.push.id)] as [SQLValue] }
            _ = try session.execute("DELETE FROM pending_push WHERE \(rows)", values)
        }
        let moved = found.map { Row(push: $0.push.under(new), leaseOwner: $0.leaseOwner) }
        try insert(moved, statements.insertPushes, dueAt: nil)
    }
}

// MARK: - Storing

extension ServerQueue {
    /// What a secret has when pushes are added to it.
    private struct Backlog {
        var waiting: Int
        let devices: Set<String>
        /// Ids that this very call stored before its connection was lost.
        let stored: Set<String>

        mutating func add(_ push: PendingPush, limit: Int) -> EnqueueResult {
            if stored.contains(push.id) { return .queued }
            guard devices.contains(push.deviceID) else { return .deviceGone }
            guard waiting < limit else { return .secretFull }
            waiting += 1
            return .queued
        }
    }

    private func backlog(
        of secret: SecretHash, adding count: Int, limit: Int
    ) throws(SQLFailure) -> Backlog {
        var waiting = try countPushes(of: secret)
        if waiting + count > limit / 2 {
            // Near the bound callers count one after the other; far from it none of them can pass it.
            try session.lock(secret, statements)
            waiting = try countPushes(of: secret)
        }
        let devices = try ids("SELECT id FROM device_registration WHERE secret_hash = ?", secret)
        let stored =
            session.isRepeated ? try ids("SELECT id FROM pending_push WHERE secret_hash = ?", secret) : []
        return Backlog(waiting: waiting, devices: devices, stored: stored)
    }

    private func countPushes(of secret: SecretHash) throws(SQLFailure) -> Int {
        let sql = "SELECT count(*) FROM pending_push WHERE secret_hash = ?"
        return Int(try session.connection.integer(sql, [.hash(secret)]) ?? 0)
    }

    private func ids(_ sql: String, _ secret: SecretHash) throws(SQLFailure) -> Set<String> {
        var ids: Set<String> = []
        try session.query(sql, [.hash(secret)]) { row throws(SQLFailure) in ids.insert(try row.text(0)) }
        return ids
    }

    private func insert(
        _ rows: [Row], _ insertion: Insertion, dueAt: EpochMilliseconds?
    ) throws(SQLFailure) {
        for chunk in Insertion.chunks(of: rows) {
            var values: [SQLValue] = []
            values.reserveCapacity(chunk.count * ServerStatements.pushColumns.count)
            for row in chunk {
                let push = row.push
                values += [
                    .hash(push.secretHash), .text(push.id), .text(push.deviceID), .text(push.eventType),
                    .text(push.sessionID), .blob(push.payload), .text(push.pushType),
                    .integer(Int64(push.priority)), .text(push.collapseID), .integer(Int64(push.attempts)),
                    .integer(dueAt ?? push.dueAt), .text(row.leaseOwner), .integer(push.createdAt),
                    .integer(push.expiresAt),
                ]
            }
            _ = try session.execute(insertion.sql(rows: chunk.count), values)
        }
    }
}

// MARK: - Claiming

extension ServerQueue {
    private func choose(
        dueAt now: EpochMilliseconds, limit: Int, _ scope: ClaimScope
    ) throws(SQLFailure) -> [DuePush] {
        var scan = DueScan(limit: limit, scope: scope)
        let excludedMax = StorageLimits.claimExcludedSecretsMax
        let places = Array(repeating: "?", count: excludedMax).joined(separator: ", ")
        let sql = """
            SELECT secret_hash, id, due_at FROM pending_push
            WHERE due_at <= ? AND secret_hash NOT IN (\(places))
            ORDER BY due_at LIMIT \(StorageLimits.claimWindow)
            """
        while let excluded = scan.excluded {
            var values: [SQLValue] = [.integer(now)]
            values += excluded.map { .hash($0) }
            values += Array(repeating: .text(""), count: excludedMax - excluded.count)
            var window: [DuePush] = []
            try session.query(sql, values) { row throws(SQLFailure) in
                window.append(
                    DuePush(secretHash: try row.hash(0), id: try row.text(1), dueAt: try row.integer(2)))
            }
            scan.add(window)
        }
        return scan.chosen
    }

    private func take(_ chosen: ArraySlice<DuePush>, _ lease: PushLease) throws(SQLFailure) {
        let rows = Self.anyOf("secret_hash = ? AND id = ? AND due_at = ?", chosen.count)
        var values: [SQLValue] = [.text(lease.owner.text), .integer(lease.until)]
        for due in chosen { values += [.hash(due.secretHash), .text(due.id), .integer(due.dueAt)] }
        _ = try session.execute(
            "UPDATE pending_push SET lease_owner = ?, due_at = ? WHERE \(rows)", values)
    }

    /// What the lease holds now; its owner's id belongs to this call alone.
    private func held(
        _ lease: PushLease, _ chosen: [DuePush], _ now: EpochMilliseconds
    ) throws(SQLFailure) -> [ClaimedPush] {
        let columns = ServerStatements.pushColumns.map { "p." + $0 }.joined(separator: ", ")
        var claimed: [PlaceOfPush: ClaimedPush] = [:]
        let places = Dictionary(
            chosen.map { (PlaceOfPush(hash: $0.secretHash, id: $0.id), $0.dueAt) }, uniquingKeysWith: { $1 })
        try session.query(
            """
            SELECT \(columns), \(ServerDevices<Connection>.columns(of: "d.")) FROM pending_push p
            LEFT JOIN device_registration d ON d.secret_hash = p.secret_hash AND d.id = p.device_id
            WHERE p.due_at = ? AND p.lease_owner = ?
            """, [.integer(lease.until), .text(lease.owner.text)]
        ) { row throws(SQLFailure) in
            let push = try Self.row(row).push
            let place = PlaceOfPush(hash: push.secretHash, id: push.id)
            claimed[place] = ClaimedPush(
                push: push.due(at: places[place] ?? now),
                device: try Self.device(row, from: ServerStatements.pushColumns.count))
        }
        let inOrder = chosen.compactMap { due in
            claimed.removeValue(forKey: PlaceOfPush(hash: due.secretHash, id: due.id))
        }
        // Those that a first attempt took whose connection was lost.
        return inOrder + claimed.values
    }

    /// A row that nobody can read must not stop every other push with it.
    private static func device(_ row: SQLRow, from first: Int) throws(SQLFailure) -> Device? {
        guard !row.isNull(first) else { return nil }
        do throws(SQLFailure) {
            return try ServerDevices<Connection>.device(row, from: first)
        } catch {
            guard case .corrupt = error.error else { throw error }
            return nil
        }
    }

    /// A condition that one of so many rows meets.
    static func anyOf(_ row: String, _ count: Int) -> String {
        Array(repeating: row, count: count).joined(separator: " OR ")
    }

    private static func row(_ row: SQLRow) throws(SQLFailure) -> Row {
        let push = PendingPush(
            id: try row.text(1), secretHash: try row.hash(0), deviceID: try row.text(2),
            eventType: try row.text(3), sessionID: try row.text(4), payload: try row.blob(5),
            pushType: try row.text(6), priority: Int(try row.integer(7)),
            collapseID: try row.optionalText(8), attempts: Int(try row.integer(9)),
            dueAt: try row.integer(10), createdAt: try row.integer(12), expiresAt: try row.integer(13))
        return Row(push: push, leaseOwner: try row.optionalText(11))
    }
}

/// The primary key of a waiting push.
struct PlaceOfPush: Hashable {
    let hash: SecretHash
    let id: String
}

extension PendingPush {
    /// The same push under another hash.
    fileprivate func under(_ hash: SecretHash) -> PendingPush { copy(secretHash: hash, dueAt: dueAt) }

    /// The same push, due at another time.
    fileprivate func due(at time: EpochMilliseconds) -> PendingPush {
        copy(secretHash: secretHash, dueAt: time)
    }

    private func copy(secretHash: SecretHash, dueAt: EpochMilliseconds) -> PendingPush {
        PendingPush(
            id: id, secretHash: secretHash, deviceID: deviceID, eventType: eventType, sessionID: sessionID,
            payload: payload, pushType: pushType, priority: priority, collapseID: collapseID,
            attempts: attempts, dueAt: dueAt, createdAt: createdAt, expiresAt: expiresAt)
    }
}

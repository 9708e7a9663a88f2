extension SQLSession {
    /// A push's row, including the lease's columns.
    private struct Row {
        let push: PendingPush
        let leaseOwner: String?
    }

    func enqueue(
        _ pushes: [PendingPush], _ lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) throws(SQLFailure) -> [EnqueueResult] {
        guard !pushes.isEmpty else { return [] }
        let isRepeated = isRepeated || self.isRepeated
        return try transaction { () throws(SQLFailure) in
            var results: [EnqueueResult] = []
            results.reserveCapacity(pushes.count)
            var rows: [Row] = []
            var secrets: [SecretHash: Backlog] = [:]
            let ended = isRepeated ? try ended(pushes) : []
            for push in pushes {
                guard !ended.contains(push.place) else {
                    results.append(.queued)
                    continue
                }
                var backlog: Backlog
                if let known = secrets[push.secretHash] {
                    backlog = known
                } else {
                    let count = pushes.count { $0.secretHash == push.secretHash }
                    backlog = try self.backlog(
                        of: push.secretHash, adding: count, limit: limitPerSecret, isRepeated: isRepeated,
                        withTokens: pushes.contains(where: \.isForToken))
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

    /// Moves a secret's pushes to another hash; a worker that has leased one of them waits for the move and then loses
    /// the lease.
    ///
    /// Deletes and inserts rows, because engines that shard by `secret_hash` refuse to change it.
    ///
    /// - Parameter devices: For each dropped device, the ID of the device that gets its pushes.
    func movePushes(
        from old: SecretHash, to new: SecretHash, replacing devices: [String: String]
    ) throws(SQLFailure) {
        var found: [Row] = []
        let columns = SQLStatements.pushColumns.joined(separator: ", ")
        try query(
            "SELECT \(columns) FROM pending_push WHERE secret_hash = ?\(statements.lockRows)", [.hash(old)]
        ) {
            row throws(SQLFailure) in
            found.append(Row(push: try PendingPush(row), leaseOwner: try row.optionalText(11)))
        }
        for chunk in Insertion.chunks(of: found) {
            let rows = Self.anyOf("secret_hash = ? AND id = ?", chunk.count)
            let values = chunk.flatMap { [.hash(old), .text($0.push.id)] as [SQLValue] }
            _ = try execute("DELETE FROM pending_push WHERE \(rows)", values)
        }
        let moved = found.map { row in
            let device = devices[row.push.deviceID] ?? row.push.deviceID
            return Row(push: row.push.moved(to: new, for: device), leaseOwner: row.leaseOwner)
        }
        try insert(moved, statements.insertPushes, dueAt: nil)
    }
}

// MARK: - Storing

extension SQLSession {
    /// The state of a secret's queue before pushes are added.
    private struct Backlog {
        var waiting: Int
        let devices: Set<String>
        /// The IDs of pushes that are already stored; looked up only when needed.
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
        of secret: SecretHash, adding count: Int, limit: Int, isRepeated: Bool, withTokens: Bool
    ) throws(SQLFailure) -> Backlog {
        var waiting = try countPushes(of: secret)
        let isNearLimit = waiting + count > limit / 2
        if isNearLimit {
            // Near the limit, only one caller counts at a time. Far below it, no caller can exceed the limit.
            try lock(secret)
            waiting = try countPushes(of: secret)
        }
        // Locked, so that a concurrent move or removal of the devices either sees these pushes or happens first.
        var devices = try ids(
            "SELECT id FROM device_registration WHERE secret_hash = ?\(statements.lockRows)", secret)
        if withTokens {
            devices.formUnion(
                try ids("SELECT id FROM push_token WHERE secret_hash = ?\(statements.lockRows)", secret))
        }
        let stored =
            isNearLimit || isRepeated
            ? try ids("SELECT id FROM pending_push WHERE secret_hash = ?", secret) : []
        return Backlog(waiting: waiting, devices: devices, stored: stored)
    }

    /// The pushes that got a log row after they were created.
    private func ended(_ pushes: [PendingPush]) throws(SQLFailure) -> Set<PlaceOfPush> {
        var ended: Set<PlaceOfPush> = []
        for chunk in Insertion.chunks(of: pushes) {
            let rows = Self.anyOf("secret_hash = ? AND created_at >= ? AND id = ?", chunk.count)
            let values = chunk.flatMap { push in
                [.hash(push.secretHash), .integer(push.createdAt), .text(push.id)] as [SQLValue]
            }
            try query("SELECT secret_hash, id FROM delivery_log WHERE \(rows)", values) {
                row throws(SQLFailure) in
                ended.insert(PlaceOfPush(hash: try row.hash(0), id: try row.text(1)))
            }
        }
        return ended
    }

    private func countPushes(of secret: SecretHash) throws(SQLFailure) -> Int {
        try count("SELECT count(*) FROM pending_push WHERE secret_hash = ?", [.hash(secret)])
    }

    private func ids(_ sql: String, _ secret: SecretHash) throws(SQLFailure) -> Set<String> {
        var ids: Set<String> = []
        try query(sql, [.hash(secret)]) { row throws(SQLFailure) in ids.insert(try row.text(0)) }
        return ids
    }

    private func insert(
        _ rows: [Row], _ insertion: Insertion, dueAt: EpochMilliseconds?
    ) throws(SQLFailure) {
        for chunk in Insertion.chunks(of: rows) {
            var values: [SQLValue] = []
            values.reserveCapacity(chunk.count * SQLStatements.pushColumns.count)
            for row in chunk {
                let push = row.push
                values += [
                    .hash(push.secretHash), .text(push.id), .text(push.deviceID), .text(push.eventType),
                    .text(push.sessionID), .blob(push.payload), .text(push.pushType),
                    .integer(Int64(push.priority)), .text(push.collapseID), .integer(Int64(push.attempts)),
                    .integer(dueAt ?? push.dueAt), .text(row.leaseOwner), .integer(push.createdAt),
                    .integer(push.expiresAt), .integer(Int64(push.secretHash.bucket)),
                    .text(push.eventID), .text(push.kind),
                ]
            }
            _ = try execute(insertion.sql(rows: chunk.count), values)
        }
    }

    /// A condition that matches any of `count` rows.
    static func anyOf(_ row: String, _ count: Int) -> String {
        Array(repeating: row, count: count).joined(separator: " OR ")
    }
}

// MARK: - Due times written by a clock that was ahead

extension SQLSession {
    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) throws(SQLFailure) -> [DuePush] {
        var found: [DuePush] = []
        try query(
            """
            SELECT secret_hash, id, due_at FROM pending_push
            WHERE due_at > ? AND lease_owner IS \(leased ? "NOT NULL" : "NULL") ORDER BY due_at DESC LIMIT ?
            """, [.integer(horizon), .limit(limit)]
        ) { row throws(SQLFailure) in
            found.append(try DuePush(row))
        }
        return found
    }

    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) throws(SQLFailure) -> Int {
        // Sorted in the same order as in claims.
        let inOrder = pushes.sorted { ($0.secretHash, $0.id) < ($1.secretHash, $1.id) }
        return try transaction { () throws(SQLFailure) in
            var count = 0
            for chunk in Insertion.chunks(of: inOrder) {
                let rows = Self.anyOf("secret_hash = ? AND id = ? AND due_at = ?", chunk.count)
                var values: [SQLValue] = [.integer(time)]
                for push in chunk {
                    values += [.hash(push.secretHash), .text(push.id), .integer(push.dueAt)]
                }
                count += try execute("UPDATE pending_push SET due_at = ? WHERE \(rows)", values)
            }
            return count
        }
    }
}

extension PendingPush {
    /// Reads a push from `SQLStatements.pushColumns`.
    init(_ row: SQLRow) throws(SQLFailure) {
        self.init(
            id: try row.text(1), secretHash: try row.hash(0), deviceID: try row.text(2),
            eventType: try row.text(3), sessionID: try row.text(4), payload: try row.blob(5),
            pushType: try row.text(6), priority: Int(try row.integer(7)),
            collapseID: try row.optionalText(8), attempts: Int(try row.integer(9)),
            dueAt: try row.integer(10), createdAt: try row.integer(12), expiresAt: try row.integer(13),
            eventID: try row.optionalText(15), kind: try row.optionalText(16))
    }
}

extension DuePush {
    /// Reads a push from its hash, ID and due time.
    init(_ row: SQLRow) throws(SQLFailure) {
        self.init(secretHash: try row.hash(0), id: try row.text(1), dueAt: try row.integer(2))
    }
}

/// The primary key of a queued push.
struct PlaceOfPush: Hashable {
    let hash: SecretHash
    let id: String
}

extension PendingPush {
    /// The push's primary key.
    fileprivate var place: PlaceOfPush { PlaceOfPush(hash: secretHash, id: id) }
}

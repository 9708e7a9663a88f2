/// Sends that are due later.
extension SQLSession {
    func create(
        _ schedule: Schedule, _ key: SecretKey, limit: Int
    ) throws(SQLFailure) -> ScheduleCreation {
        // Stored under the same hash as the secret's devices, where the worker looks for them.
        if key.hasLegacy { _ = try rehash(key) }
        // Checked before locking, because locking leaves a lock row even for an unknown secret.
        guard try hasDevice(key) else { return .noDevices }
        return try transaction { () throws(SQLFailure) in
            try lock(key.primary)
            guard try hasDevice(key) else { return .noDevices }
            var replaced: UUIDv7?
            if let name = schedule.name, let id = try scheduleID(named: name, schedule.kind, key.primary) {
                // This call stored the schedule in an earlier attempt, whose connection was lost.
                guard id != schedule.id else { return .created }
                _ = try execute(Self.deleteSchedule, [.hash(key.primary), .text(id.text)])
                replaced = id
            } else {
                let stored = try count(
                    "SELECT count(*) FROM schedule WHERE secret_hash = ? AND kind = ?",
                    [.hash(key.primary), .text(schedule.kind.rawValue)])
                guard stored < limit || isRepeated else { return .limitReached }
            }
            try insertUnlessPresent([ScheduleRow(schedule, leaseOwner: nil, leaseUntil: 0)], key.primary)
            return replaced.map { .replaced($0) } ?? .created
        }
    }

    func schedules(
        of key: SecretKey, kind: ScheduleKind, limit: Int
    ) throws(SQLFailure) -> [Schedule] {
        var found: [Schedule] = []
        try query(
            """
            SELECT \(Self.scheduleColumns) FROM schedule
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND kind = ?
            ORDER BY next_at, \(statements.scheduleID) LIMIT ?
            """, .anyHash(of: key) + [.text(kind.rawValue), .limit(limit)]
        ) { row throws(SQLFailure) in
            found.append(try ScheduleRow(row).schedule)
        }
        return found
    }

    func schedules(after cursor: ScheduleCursor?, limit: Int) throws(SQLFailure) -> SchedulePage {
        let hash = SQLValue.text(cursor?.secretHash ?? "")
        let id = SQLValue.text(cursor?.id ?? "")
        var page = SchedulePage()
        var read = 0
        var last: ScheduleCursor?
        // The first bound is redundant, but lets the engine start reading the index there.
        try query(
            """
            SELECT \(Self.scheduleColumns) FROM schedule
            WHERE secret_hash >= ? AND (secret_hash > ? OR \(statements.scheduleID) > ?)
            ORDER BY secret_hash, \(statements.scheduleID) LIMIT ?
            """, [hash, hash, id, .limit(limit)]
        ) { row throws(SQLFailure) in
            read += 1
            last = ScheduleCursor(secretHash: try row.text(0), id: try row.text(1))
            if let found = try? ScheduleRow(row) { page.schedules.append(found.schedule) }
        }
        if read == limit { page.next = last }
        return page
    }

    func cancel(
        _ reference: ScheduleReference, kind: ScheduleKind, _ key: SecretKey
    ) throws(SQLFailure) -> Bool {
        let (column, value) =
            switch reference {
            case .id(let id): ("id", id.text)
            case .name(let name): ("name", name)
            }
        return try execute(
            """
            DELETE FROM schedule WHERE secret_hash IN (\(SQLStatements.anyHash)) AND kind = ? AND \(column) = ?
            """, .anyHash(of: key) + [.text(kind.rawValue), .text(value)]) > 0
    }

    /// Moves a secret's rows to another hash by deleting and inserting them; rows whose name is already taken under
    /// that hash are dropped.
    func moveSchedules(from old: SecretHash, to new: SecretHash) throws(SQLFailure) {
        var found: [ScheduleRow] = []
        try query(
            "SELECT \(Self.scheduleColumns) FROM schedule WHERE secret_hash = ?\(statements.lockRows)",
            [.hash(old)]
        ) { row throws(SQLFailure) in
            found.append(try ScheduleRow(row))
        }
        guard !found.isEmpty else { return }
        _ = try execute("DELETE FROM schedule WHERE secret_hash = ?", [.hash(old)])
        try insertUnlessPresent(found, new)
    }
}

// MARK: - The worker

extension SQLSession {
    func claimSchedules(
        dueAt now: EpochMilliseconds, _ lease: PushLease, limit: Int, from bucket: Int
    ) throws(SQLFailure) -> [ClaimedSchedule] {
        let chosen = try chooseSchedules(dueAt: now, limit: limit, from: bucket)
        guard !chosen.isEmpty || isRepeated else { return [] }
        return try transaction { () throws(SQLFailure) in
            let claimed = try takeSchedules(chosen, dueAt: now, lease)
            // Includes schedules that an earlier attempt took before its connection was lost.
            return isRepeated ? try held("due_at <= ? AND lease_owner = ?", [.integer(now)], lease) : claimed
        }
    }

    /// The due schedules that a claim tries to take; other callers may take them first.
    func chooseSchedules(
        dueAt now: EpochMilliseconds, limit: Int, from bucket: Int
    ) throws(SQLFailure) -> [DueSchedule] {
        let scan = ScheduleScan(start: bucket, limit: limit)
        var rows = try dueSchedules("", [], at: now)
        if rows.count == StorageLimits.claimWindow {
            // There is a backlog, so this searches part by part; other callers begin with other parts.
            var some: [DueSchedule] = []
            for bucket in scan.buckets where some.count < limit {
                some += try dueSchedules("bucket = ? AND ", [.integer(Int64(bucket))], at: now)
            }
            if !some.isEmpty { rows = some }
        }
        return scan.chosen(from: rows)
    }

    /// Leases the chosen schedules that no other caller has taken since they were read; within a transaction.
    func takeSchedules(
        _ chosen: [DueSchedule], dueAt now: EpochMilliseconds, _ lease: PushLease
    ) throws(SQLFailure) -> [ClaimedSchedule] {
        // All claims use the same order, so that concurrent claims wait for each other less often.
        let inOrder = chosen.sorted { ($0.secretHash, $0.id) < ($1.secretHash, $1.id) }
        var claimed: [ClaimedSchedule] = []
        for chunk in Insertion.chunks(of: inOrder) {
            let rows = Self.anyOf("secret_hash = ? AND id = ? AND due_at = ?", chunk.count)
            let values = chunk.flatMap { row in
                [.hash(row.secretHash), .text(row.id), .integer(row.dueAt)] as [SQLValue]
            }
            _ = try execute(
                "UPDATE schedule SET lease_owner = ?, lease_until = ? WHERE \(Self.isFree) AND (\(rows))",
                [.text(lease.owner.text), .integer(lease.until)] + Self.free(at: now) + values)
            claimed += try held("(\(rows)) AND lease_owner = ?", values, lease)
        }
        return claimed
    }

    func settle(_ claimed: ClaimedSchedule, _ end: ScheduleEnd) throws(SQLFailure) -> Bool {
        let schedule = claimed.schedule
        let held = "secret_hash = ? AND id = ? AND next_at = ? AND lease_owner = ?"
        let hold: [SQLValue] = [
            .hash(schedule.secretHash), .text(schedule.id.text), .integer(schedule.nextAt),
            .text(claimed.owner.text),
        ]
        switch end {
        case .over:
            return try execute("DELETE FROM schedule WHERE \(held)", hold) > 0
        case .again(let dueAt):
            return try execute(
                "UPDATE schedule SET due_at = ?, lease_owner = NULL, lease_until = 0 WHERE \(held)",
                [.integer(dueAt)] + hold) > 0
        case .next(let nextAt, let dueAt, let outcome):
            let changed = try execute(
                """
                UPDATE schedule SET next_at = ?, due_at = ?, last_at = coalesce(?, last_at),
                    last_outcome = coalesce(?, last_outcome), skipped = skipped + ?,
                    lease_owner = NULL, lease_until = 0
                WHERE \(held)
                """,
                [
                    .integer(nextAt), .integer(dueAt), outcome.map { .integer($0.at) } ?? .null,
                    .text(outcome?.word), .integer(Int64(outcome?.skipped ?? 0)),
                ] + hold)
            guard changed == 0, isRepeated else { return changed > 0 }
            return try count(
                """
                SELECT count(*) FROM schedule
                WHERE secret_hash = ? AND id = ? AND next_at = ? AND due_at = ? AND lease_owner IS NULL
                """,
                [.hash(schedule.secretHash), .text(schedule.id.text), .integer(nextAt), .integer(dueAt)]) > 0
        }
    }

    func nextScheduleDue(at now: EpochMilliseconds) throws(SQLFailure) -> EpochMilliseconds? {
        try integer(
            "SELECT due_at FROM schedule WHERE \(Self.isFree) ORDER BY due_at LIMIT 1", Self.free(at: now))
    }
}

// MARK: - Parts

extension SQLSession {
    static let scheduleColumns = SQLStatements.scheduleColumns.joined(separator: ", ")
    private static let deleteSchedule = "DELETE FROM schedule WHERE secret_hash = ? AND id = ?"

    /// The condition for a row that has no lease, or whose lease has expired or is impossibly long.
    static let isFree = "(lease_until <= ? OR lease_until > ?)"

    static func free(at now: EpochMilliseconds) -> [SQLValue] {
        [.integer(now), .integer(now + StorageLimits.scheduleLeaseMax)]
    }

    private func scheduleID(
        named name: String, _ kind: ScheduleKind, _ hash: SecretHash
    ) throws(SQLFailure) -> UUIDv7? {
        var found: UUIDv7?
        try query(
            "SELECT id FROM schedule WHERE secret_hash = ? AND kind = ? AND name = ?",
            [.hash(hash), .text(kind.rawValue), .text(name)]
        ) { row throws(SQLFailure) in
            found = UUIDv7(try row.text(0))
        }
        return found
    }

    private func dueSchedules(
        _ condition: String, _ values: [SQLValue], at now: EpochMilliseconds
    ) throws(SQLFailure) -> [DueSchedule] {
        var rows: [DueSchedule] = []
        try query(
            """
            SELECT secret_hash, id, due_at FROM schedule WHERE \(condition)due_at <= ? AND \(Self.isFree)
            ORDER BY due_at LIMIT \(StorageLimits.claimWindow)
            """, values + [.integer(now)] + Self.free(at: now)
        ) { row throws(SQLFailure) in
            rows.append(
                DueSchedule(
                    secretHash: try row.hash(0), id: try row.text(1), dueAt: try row.integer(2)))
        }
        return rows
    }

    /// The rows under a lease; rows that this program can't read are left for a newer version.
    private func held(
        _ condition: String, _ values: [SQLValue], _ lease: PushLease
    ) throws(SQLFailure) -> [ClaimedSchedule] {
        var claimed: [ClaimedSchedule] = []
        try query(
            "SELECT \(Self.scheduleColumns) FROM schedule WHERE \(condition)",
            values + [.text(lease.owner.text)]
        ) { row throws(SQLFailure) in
            guard let found = try? ScheduleRow(row) else { return }
            claimed.append(ClaimedSchedule(schedule: found.schedule, owner: lease.owner))
        }
        return claimed
    }

    private func insertUnlessPresent(_ rows: [ScheduleRow], _ hash: SecretHash) throws(SQLFailure) {
        for chunk in Insertion.chunks(of: rows) {
            _ = try execute(
                statements.insertSchedules.sql(rows: chunk.count), chunk.flatMap { $0.values(under: hash) })
        }
    }
}

/// A row of the table, including the lease.
struct ScheduleRow {
    let schedule: Schedule
    let leaseOwner: String?
    let leaseUntil: EpochMilliseconds

    init(_ schedule: Schedule, leaseOwner: String?, leaseUntil: EpochMilliseconds) {
        self.schedule = schedule
        self.leaseOwner = leaseOwner
        self.leaseUntil = leaseUntil
    }

    /// Reads a row of `SQLStatements.scheduleColumns`.
    init(_ row: SQLRow) throws(SQLFailure) {
        guard let id = UUIDv7(try row.text(1)) else { throw row.wrong(1) }
        guard let kind = ScheduleKind(rawValue: try row.text(2)) else { throw row.wrong(2) }
        func optional(_ column: Int) throws(SQLFailure) -> Int64? {
            row.isNull(column) ? nil : try row.integer(column)
        }
        var schedule = Schedule(
            id: id, secretHash: try row.hash(0), kind: kind, name: try row.optionalText(3),
            rule: try row.optionalText(4), content: try row.text(5), nextAt: try row.integer(7),
            endsAt: try optional(9), lateBy: try row.integer(10), window: try row.integer(11),
            createdAt: try row.integer(12))
        schedule.dueAt = try row.integer(8)
        schedule.lastAt = try optional(13)
        schedule.lastOutcome = try row.optionalText(14)
        schedule.skipped = Int(try row.integer(15))
        self.init(schedule, leaseOwner: try row.optionalText(16), leaseUntil: try row.integer(17))
    }

    /// The row's column values, for storing it under `hash`.
    func values(under hash: SecretHash) -> [SQLValue] {
        func optional(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
        return [
            .hash(hash), .text(schedule.id.text), .text(schedule.kind.rawValue), .text(schedule.name),
            .text(schedule.rule), .text(schedule.content), .integer(Int64(hash.bucket)),
            .integer(schedule.nextAt), .integer(schedule.dueAt), optional(schedule.endsAt),
            .integer(schedule.lateBy), .integer(schedule.window), .integer(schedule.createdAt),
            optional(schedule.lastAt), .text(schedule.lastOutcome), .integer(Int64(schedule.skipped)),
            .text(leaseOwner), .integer(leaseUntil),
        ]
    }
}

internal import Storage

/// Looks at the pushes that wait; for a reading connection.
struct QueueReads {
    private let due: SQLiteStatement
    private let next: SQLiteStatement
    private let count: SQLiteStatement
    private let late: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        let excluded = Array(repeating: "?", count: StorageLimits.claimExcludedSecretsMax)
        due = try connection.prepare(
            """
            SELECT secret_hash, id, due_at FROM pending_push
            WHERE due_at <= ? AND secret_hash NOT IN (\(excluded.joined(separator: ", ")))
            ORDER BY due_at LIMIT \(StorageLimits.claimWindow)
            """)
        next = try connection.prepare("SELECT due_at FROM pending_push ORDER BY due_at LIMIT 1")
        count = try connection.prepare("SELECT count(*) FROM (SELECT 1 FROM pending_push LIMIT ?)")
        late = try connection.prepare(
            """
            SELECT secret_hash, id, due_at FROM pending_push
            WHERE due_at > ? AND (lease_owner IS NOT NULL) = ? ORDER BY due_at DESC LIMIT ?
            """)
    }

    /// The due pushes that a claim takes, if nobody else does before.
    func chosen(
        dueAt now: EpochMilliseconds, limit: Int, _ scope: ClaimScope
    ) throws(StorageError) -> [DuePush] {
        var scan = DueScan(limit: limit, scope: scope)
        while let excluded = scan.excluded {
            var window: [DuePush] = []
            try due.query { binder in
                binder.integer(now)
                for secret in excluded { binder.hash(secret) }
                for _ in excluded.count..<StorageLimits.claimExcludedSecretsMax { binder.text("") }
            } row: { row throws(StorageError) in
                window.append(
                    DuePush(
                        secretHash: try row.secretHash(0), id: try row.text(1), dueAt: try row.integer(2)))
            }
            scan.add(window)
        }
        return scan.chosen
    }

    func nextDue() throws(StorageError) -> EpochMilliseconds? {
        var time: EpochMilliseconds?
        try next.query({ _ in }) { row throws(StorageError) in time = try row.integer(0) }
        return time
    }

    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) throws(StorageError) -> [DuePush] {
        var found: [DuePush] = []
        try late.query {
            $0.integer(horizon)
            $0.integer(leased ? 1 : 0)
            $0.integer(max(limit, 0))
        } row: { row throws(StorageError) in
            found.append(
                DuePush(secretHash: try row.secretHash(0), id: try row.text(1), dueAt: try row.integer(2)))
        }
        return found
    }

    func count(limit: Int) throws(StorageError) -> Int {
        var number: Int64 = 0
        try count.query({ $0.integer(max(limit, 0)) }) { row throws(StorageError) in
            number = try row.integer(0)
        }
        return Int(number)
    }
}

/// Changes the pushes that wait; for the writing connection, within a transaction.
struct QueueWrites {
    private let hasDevice: SQLiteStatement
    private let count: SQLiteStatement
    private let insert: SQLiteStatement
    private let lease: SQLiteStatement
    private let find: SQLiteStatement
    private let findDevice: SQLiteStatement
    private let delete: SQLiteStatement
    private let postpone: SQLiteStatement
    private let setDue: SQLiteStatement
    private let log: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        hasDevice = try connection.prepare(
            "SELECT 1 FROM device_registration WHERE secret_hash = ? AND id = ?")
        count = try connection.prepare("SELECT count(*) FROM pending_push WHERE secret_hash = ?")
        insert = try connection.prepare(
            """
            INSERT OR IGNORE INTO pending_push
                (secret_hash, id, device_id, event_type, session_id, payload, push_type, priority,
                 collapse_id, attempts, due_at, lease_owner, created_at, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        lease = try connection.prepare(
            """
            UPDATE pending_push SET lease_owner = ?, due_at = ?
            WHERE secret_hash = ? AND id = ? AND due_at = ?
            """)
        find = try connection.prepare(
            """
            SELECT device_id, event_type, session_id, payload, push_type, priority, collapse_id, attempts,
                created_at, expires_at
            FROM pending_push WHERE secret_hash = ? AND id = ?
            """)
        findDevice = try connection.prepare(
            "SELECT \(DeviceReads.columns) FROM device_registration WHERE secret_hash = ? AND id = ?")
        delete = try connection.prepare(
            "DELETE FROM pending_push WHERE secret_hash = ? AND id = ? AND lease_owner = ?")
        postpone = try connection.prepare(
            """
            UPDATE pending_push SET lease_owner = NULL, due_at = ?, attempts = ?
            WHERE secret_hash = ? AND id = ? AND lease_owner = ?
            """)
        setDue = try connection.prepare(
            "UPDATE pending_push SET due_at = ? WHERE secret_hash = ? AND id = ? AND due_at = ?")
        log = try connection.prepare(DeliveryWrites.insertion("INSERT OR IGNORE"))
    }

    func enqueue(
        _ pushes: [PendingPush], _ lease: PushLease?, limitPerSecret: Int
    ) throws(StorageError) -> [EnqueueResult] {
        var waiting: [SecretHash: Int] = [:]
        var results: [EnqueueResult] = []
        results.reserveCapacity(pushes.count)
        for push in pushes {
            guard try isRegistered(push.deviceID, push.secretHash) else {
                results.append(.deviceGone)
                continue
            }
            var before = waiting[push.secretHash] ?? 0
            if waiting[push.secretHash] == nil { before = try countPushes(of: push.secretHash) }
            guard before < limitPerSecret else {
                waiting[push.secretHash] = before
                results.append(.secretFull)
                continue
            }
            waiting[push.secretHash] = before + (try store(push, lease) ? 1 : 0)
            results.append(.queued)
        }
        return results
    }

    /// Takes the chosen pushes that nobody took since they were read.
    func claim(_ chosen: [DuePush], _ lease: PushLease) throws(StorageError) -> [ClaimedPush] {
        var claimed: [ClaimedPush] = []
        for due in chosen {
            let taken = try self.lease.execute {
                $0.text(lease.owner.text)
                $0.integer(lease.until)
                $0.hash(due.secretHash)
                $0.text(due.id)
                $0.integer(due.dueAt)
            }
            guard taken > 0, let push = try read(due) else { continue }
            claimed.append(ClaimedPush(push: push, device: try device(push.deviceID, due.secretHash)))
        }
        return claimed
    }

    func settle(_ settlements: [Settlement]) throws(StorageError) -> [Bool] {
        var results: [Bool] = []
        results.reserveCapacity(settlements.count)
        for settlement in settlements {
            switch settlement.end {
            case .over(let delivery):
                let wasHeld = try delete.execute { $0.held(settlement) } > 0
                if wasHeld { try log.execute { $0.delivery(delivery) } }
                results.append(wasHeld)
            case .again(let dueAt, let attempts):
                let wasHeld = try postpone.execute {
                    $0.integer(dueAt)
                    $0.integer(attempts)
                    $0.held(settlement)
                }
                results.append(wasHeld > 0)
            }
        }
        return results
    }

    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) throws(StorageError) -> Int {
        var count = 0
        for push in pushes {
            count += try setDue.execute {
                $0.integer(time)
                $0.hash(push.secretHash)
                $0.text(push.id)
                $0.integer(push.dueAt)
            }
        }
        return count
    }

    /// Ends every lease: whoever opens the file for writing is alone, so their holders are dead.
    static func endLeases(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.execute(
            "UPDATE pending_push SET lease_owner = NULL, due_at = created_at WHERE lease_owner IS NOT NULL")
    }

    private func isRegistered(_ device: String, _ secret: SecretHash) throws(StorageError) -> Bool {
        var isThere = false
        try hasDevice.query {
            $0.hash(secret)
            $0.text(device)
        } row: { _ throws(StorageError) in
            isThere = true
        }
        return isThere
    }

    private func countPushes(of secret: SecretHash) throws(StorageError) -> Int {
        var number: Int64 = 0
        try count.query({ $0.hash(secret) }) { row throws(StorageError) in number = try row.integer(0) }
        return Int(number)
    }

    /// Stores a push; false when its id is there already.
    private func store(_ push: PendingPush, _ lease: PushLease?) throws(StorageError) -> Bool {
        try insert.execute {
            $0.hash(push.secretHash)
            $0.text(push.id)
            $0.text(push.deviceID)
            $0.text(push.eventType)
            $0.text(push.sessionID)
            $0.blob(push.payload)
            $0.text(push.pushType)
            $0.integer(push.priority)
            $0.text(push.collapseID)
            $0.integer(push.attempts)
            $0.integer(lease?.until ?? push.dueAt)
            $0.text(lease?.owner.text)
            $0.integer(push.createdAt)
            $0.integer(push.expiresAt)
        } > 0
    }

    private func read(_ due: DuePush) throws(StorageError) -> PendingPush? {
        var push: PendingPush?
        try find.query {
            $0.hash(due.secretHash)
            $0.text(due.id)
        } row: { row throws(StorageError) in
            push = PendingPush(
                id: due.id, secretHash: due.secretHash, deviceID: try row.text(0),
                eventType: try row.text(1), sessionID: try row.text(2), payload: try row.blob(3),
                pushType: try row.text(4), priority: Int(try row.integer(5)),
                collapseID: try row.optionalText(6), attempts: Int(try row.integer(7)), dueAt: due.dueAt,
                createdAt: try row.integer(8), expiresAt: try row.integer(9))
        }
        return push
    }

    private func device(_ id: String, _ secret: SecretHash) throws(StorageError) -> Device? {
        var device: Device?
        do throws(StorageError) {
            try findDevice.query {
                $0.hash(secret)
                $0.text(id)
            } row: { row throws(StorageError) in
                device = try DeviceReads.device(row, secret)
            }
        } catch {
            // A row that nobody can read must not stop every other push with it.
            guard case .corrupt = error else { throw error }
        }
        return device
    }
}

extension SQLiteBinder {
    fileprivate mutating func held(_ settlement: Settlement) {
        hash(settlement.secretHash)
        text(settlement.id)
        text(settlement.owner.text)
    }
}

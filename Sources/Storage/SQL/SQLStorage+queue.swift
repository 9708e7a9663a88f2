extension SQLStorage {
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult] {
        for push in pushes { try push.validate() }
        return try await write { session throws(SQLFailure) in
            try session.enqueue(pushes, lease, limitPerSecret: limitPerSecret, isRepeated: isRepeated)
        }
    }

    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        let rounds = claimRounds.withLock { $0 }
        let isWhole = !shardsBySecret
        let (chosen, claimed, after) = try await write { session throws(SQLFailure) in
            var rounds = rounds
            let chosen = try session.choose(dueAt: now, limit: limit, scope, &rounds)
            let claimed = isWhole ? try session.claim(chosen, dueAt: now, lease) : []
            return (chosen, claimed, rounds)
        }
        claimRounds.withLock { $0 = after }
        return isWhole ? claimed : try await claimInParts(chosen, dueAt: now, lease)
    }

    /// Takes each part's pushes in a separate transaction, then reads the pushes under the lease.
    ///
    /// If a part can't be taken, the caller gets the pushes from the parts before it.
    private func claimInParts(
        _ chosen: [DuePush], dueAt now: EpochMilliseconds, _ lease: PushLease
    ) async throws(StorageError) -> [ClaimedPush] {
        guard !chosen.isEmpty else { return [] }
        var failure: StorageError?
        for part in parts(of: chosen, by: \.secretHash) where failure == nil {
            do throws(StorageError) {
                try await write { session throws(SQLFailure) in
                    try session.transaction { () throws(SQLFailure) in try session.take(part, lease) }
                }
            } catch {
                failure = error
            }
        }
        let claimed = try await read { session throws(SQLFailure) in try session.held(lease, chosen, now) }
        if let failure, claimed.isEmpty { throw failure }
        return claimed
    }

    package func settle(
        _ settlements: [Settlement], logging: Bool
    ) async throws(StorageError) -> [Bool] {
        if logging { for settlement in settlements { try settlement.validate() } }
        var results = Array(repeating: false, count: settlements.count)
        for part in parts(of: Array(settlements.enumerated()), by: \.element.secretHash) {
            let held = try await write { session throws(SQLFailure) in
                try session.settle(part.map(\.element), logging: logging)
            }
            for (place, isHeld) in zip(part, held) { results[place.offset] = isHeld }
        }
        return results
    }

    package func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(SQLFailure) in
            try session.integer("SELECT due_at FROM pending_push ORDER BY due_at LIMIT 1", [])
        }
    }

    package func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try await read { session throws(SQLFailure) in
            try session.pushes(dueAfter: horizon, leased: leased, limit: limit)
        }
    }

    package func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        var count = 0
        for part in parts(of: pushes, by: \.secretHash) where !part.isEmpty {
            count += try await write { session throws(SQLFailure) in try session.setDue(part, to: time) }
        }
        return count
    }

    package func countPushes(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            try session.count(
                "SELECT count(*) FROM (SELECT 1 FROM pending_push LIMIT ?) AS counted", [.limit(limit)])
        }
    }

    package func measurePushes(limit: Int) async throws(StorageError) -> QueueSize {
        try await read { session throws(SQLFailure) in
            var size = QueueSize()
            try session.query(
                """
                SELECT count(*), coalesce(sum(bytes), 0)
                FROM (SELECT length(payload) AS bytes FROM pending_push LIMIT ?) AS counted
                """, [.limit(limit)]
            ) { row throws(SQLFailure) in
                size = QueueSize(pushes: Int(try row.integer(0)), bytes: Int(try row.integer(1)))
            }
            return size
        }
    }
}

// MARK: - A secret's rows and totals

extension SQLStorage {
    package func countDevices(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            try session.count(
                "SELECT count(*) FROM (SELECT 1 FROM device_registration LIMIT ?) AS counted", [.limit(limit)]
            )
        }
    }

    package func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try await read { session throws(SQLFailure) in try session.holdings(of: key) }
    }

    package func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        try await writeDevices(of: key) { session throws(SQLFailure) in
            try session.revoke(key, limit: limit)
        }
    }

    package func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try await read { session throws(SQLFailure) in
            try session.tally(of: hash, from: start, before: end, limit: limit)
        }
    }

    package func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try await read { session throws(SQLFailure) in try session.census(ofShare: share) }
    }
}

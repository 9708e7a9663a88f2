package import Storage

extension SQLiteStorage {
    /// As `Storage` says.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult] {
        for push in pushes { try push.validate() }
        return try await write { session throws(StorageError) in
            try session.queue.enqueue(
                pushes, lease, limitPerSecret: limitPerSecret, isRepeated: isRepeated)
        }
    }

    /// As `Storage` says.
    ///
    /// A reader chooses, so that a long queue keeps no change waiting.
    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        guard writer != nil else { throw .readOnly(logDetail: "opened for reading") }
        let chosen = try await read { session throws(StorageError) in
            try session.queue.chosen(dueAt: now, limit: limit, scope)
        }
        guard !chosen.isEmpty else { return [] }
        return try await write { session throws(StorageError) in try session.queue.claim(chosen, lease) }
    }

    /// As `Storage` says.
    package func settle(
        _ settlements: [Settlement], logging: Bool
    ) async throws(StorageError) -> [Bool] {
        if logging { for settlement in settlements { try settlement.validate() } }
        return try await write { session throws(StorageError) in
            try session.queue.settle(settlements, logging: logging)
        }
    }

    /// As `Storage` says.
    package func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(StorageError) in try session.queue.nextDue() }
    }

    /// As `Storage` says.
    package func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try await read { session throws(StorageError) in
            try session.queue.pushes(dueAfter: horizon, leased: leased, limit: limit)
        }
    }

    /// As `Storage` says.
    package func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        guard !pushes.isEmpty else { return 0 }
        return try await write { session throws(StorageError) in
            try session.queue.setDue(pushes, to: time)
        }
    }

    /// As `Storage` says.
    package func countPushes(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(StorageError) in try session.queue.count(limit: limit) }
    }
}

// MARK: - All that a secret has, and all that is there

extension SQLiteStorage {
    /// As `Storage` says.
    package func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try await read { session throws(StorageError) in try session.counts.holdings(of: key) }
    }

    /// As `Storage` says.
    package func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        defer { cache.withLock { $0.forget(key) } }
        return try await write { session throws(StorageError) in
            try session.revoking.revoke(key, limit: limit)
        }
    }

    /// As `Storage` says.
    package func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try await read { session throws(StorageError) in
            try session.deliveries.tally(of: hash, from: start, before: end, limit: limit)
        }
    }

    /// As `Storage` says.
    package func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try await read { session throws(StorageError) in try session.counts.census(ofShare: share) }
    }
}

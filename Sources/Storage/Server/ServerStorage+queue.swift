extension ServerStorage {
    /// As `Storage` says.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult] {
        for push in pushes { try push.validate() }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .enqueue(pushes, lease, limitPerSecret: limitPerSecret, isRepeated: isRepeated)
        }
    }

    /// As `Storage` says.
    package func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .claim(dueAt: now, lease, limit: limit, scope)
        }
    }

    /// As `Storage` says.
    package func settle(
        _ settlements: [Settlement], logging: Bool
    ) async throws(StorageError) -> [Bool] {
        if logging { for settlement in settlements { try settlement.validate() } }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements).settle(settlements, logging: logging)
        }
    }

    /// As `Storage` says.
    package func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(SQLFailure) in
            try session.connection.integer("SELECT due_at FROM pending_push ORDER BY due_at LIMIT 1")
        }
    }

    /// As `Storage` says.
    package func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try await read { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements)
                .pushes(dueAfter: horizon, leased: leased, limit: limit)
        }
    }

    /// As `Storage` says.
    package func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        guard !pushes.isEmpty else { return 0 }
        return try await write { [statements] session throws(SQLFailure) in
            try ServerQueue(session: session, statements: statements).setDue(pushes, to: time)
        }
    }

    /// As `Storage` says.
    package func countPushes(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            let sql = "SELECT count(*) FROM (SELECT due_at FROM pending_push LIMIT ?) AS counted"
            return Int(try session.connection.integer(sql, [.integer(Int64(max(limit, 0)))]) ?? 0)
        }
    }
}

// MARK: - All that a secret has, and all that is there

extension ServerStorage {
    /// As `Storage` says.
    package func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try await read { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).holdings(of: key)
        }
    }

    /// As `Storage` says.
    package func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        try await write { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).revoke(key, limit: limit)
        }
    }

    /// As `Storage` says.
    package func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try await read { [statements] session throws(SQLFailure) in
            try ServerDeliveries(session: session, statements: statements)
                .tally(of: hash, from: start, before: end, limit: limit)
        }
    }

    /// As `Storage` says.
    package func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try await read { [statements] session throws(SQLFailure) in
            try ServerSecrets(session: session, statements: statements).census(ofShare: share)
        }
    }
}

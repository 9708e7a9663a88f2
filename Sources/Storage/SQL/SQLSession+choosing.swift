/// Choosing which due pushes to claim.
extension SQLSession {
    /// The due pushes that a claim tries to take; other callers may take them first.
    ///
    /// If one window contains all due rows, nothing else is read. Otherwise there is a backlog: the claim takes the
    /// rows in parts with few due rows, then rows in the round's next parts, which have many.
    package func choose(
        dueAt now: EpochMilliseconds, limit: Int, _ scope: ClaimScope, _ rounds: inout ClaimRounds
    ) throws(SQLFailure) -> [DuePush] {
        guard limit > 0 else { return [] }
        var found: [DuePush] = []
        // During a round, the remaining parts are known to have backlogs, so nothing else is read.
        if scope == .oldest { try visit(&rounds, scope, dueAt: now, limit: limit, &found) }
        if found.isEmpty {
            found = try window(dueAt: now)
            guard found.count == StorageLimits.claimWindow else { return found.inTurn(limit: limit) }
            let oldest = found
            let samples = try samples(dueAt: now)
            found = samples.values.filter { $0.count < StorageLimits.claimSample }.flatMap(\.self)
            let backlogs = samples.filter { $1.count == StorageLimits.claimSample }.keys.sorted()
            var generator = SystemRandomNumberGenerator()
            rounds.begin(scope, backlogs, using: &generator)
            try visit(&rounds, scope, dueAt: now, limit: limit, &found)
            if found.isEmpty { found = oldest }
        }
        return found.inTurn(limit: limit)
    }

    /// Continues a round until it has found enough pushes.
    ///
    /// A part fills at most half of a claim, so that a round ends sooner. A claim that searches past backlogs visits as
    /// many parts as allowed.
    private func visit(
        _ rounds: inout ClaimRounds, _ scope: ClaimScope, dueAt now: EpochMilliseconds, limit: Int,
        _ found: inout [DuePush]
    ) throws(SQLFailure) {
        var claimable = scope == .oldest ? found.count : 0
        var windows = 0
        for _ in 0..<StorageLimits.claimBucketsMax {
            guard claimable < limit, windows <= StorageLimits.claimExcludedSecretsMax,
                let bucket = rounds.next(scope)
            else { return }
            var scan = DueScan(limit: limit, scope: scope)
            while let excluded = scan.excluded {
                scan.add(try window(of: bucket, without: excluded, dueAt: now))
                windows += 1
            }
            found += scan.rows
            if scope == .oldest { claimable += min(scan.rows.count, (limit + 1) / 2) }
        }
    }

    /// The oldest due pushes across all parts.
    private func window(dueAt now: EpochMilliseconds) throws(SQLFailure) -> [DuePush] {
        try due(
            """
            SELECT secret_hash, id, due_at FROM pending_push WHERE due_at <= ?
            ORDER BY due_at LIMIT \(StorageLimits.claimWindow)
            """, [.integer(now)])
    }

    /// The oldest due pushes in a part, excluding those of some secrets.
    private func window(
        of bucket: Int, without excluded: [SecretHash], dueAt now: EpochMilliseconds
    ) throws(SQLFailure) -> [DuePush] {
        let place = [SQLValue.integer(Int64(bucket)), .integer(now)]
        guard !excluded.isEmpty else { return try due(Self.windowOfBucket(""), place) }
        let left = StorageLimits.claimExcludedSecretsMax - excluded.count
        let hashes = excluded.map { SQLValue.hash($0) } + Array(repeating: .text(""), count: left)
        return try due(Self.windowWithout, place + hashes)
    }

    private static let windowWithout = windowOfBucket(
        "AND secret_hash NOT IN ("
            + repeatElement("?", count: StorageLimits.claimExcludedSecretsMax).joined(separator: ", ") + ")")

    private static func windowOfBucket(_ condition: String) -> String {
        """
        SELECT secret_hash, id, due_at FROM pending_push WHERE bucket = ? AND due_at <= ? \(condition)
        ORDER BY due_at LIMIT \(StorageLimits.claimWindow)
        """
    }

    /// The oldest due pushes in each part, at most ``StorageLimits/claimSample`` per part.
    private func samples(dueAt now: EpochMilliseconds) throws(SQLFailure) -> [Int: [DuePush]] {
        var samples: [Int: [DuePush]] = [:]
        let values = Array(repeating: SQLValue.integer(now), count: StorageLimits.buckets)
        try query(Self.sampleOfBuckets, values) { row throws(SQLFailure) in
            samples[Int(try row.integer(3)), default: []].append(try DuePush(row))
        }
        return samples
    }

    /// One subquery per part, because every engine uses an index for that; not all do for a single condition on all
    /// parts.
    private static let sampleOfBuckets = (0..<StorageLimits.buckets).map { bucket in
        """
        SELECT * FROM (SELECT secret_hash, id, due_at, bucket FROM pending_push
            WHERE bucket = \(bucket) AND due_at <= ? ORDER BY due_at LIMIT \(StorageLimits.claimSample)) AS part\(bucket)
        """
    }.joined(separator: " UNION ALL ")

    private func due(_ sql: String, _ values: [SQLValue]) throws(SQLFailure) -> [DuePush] {
        var window: [DuePush] = []
        try query(sql, values) { row throws(SQLFailure) in window.append(try DuePush(row)) }
        return window
    }
}

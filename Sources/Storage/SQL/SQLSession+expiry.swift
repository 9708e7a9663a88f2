extension ExpiringTable {
    /// Which rows are of a span of time.
    private var span: String { "\(time) >= ? AND \(time) < ?" }

    /// Finds the time of the row of a span that a number of rows precede.
    fileprivate var boundary: String {
        "SELECT \(time) FROM \(rawValue) WHERE \(span) ORDER BY \(time) LIMIT 1 OFFSET ?"
    }

    /// Removes a span's rows.
    fileprivate var deletion: String { "DELETE FROM \(rawValue) WHERE \(span)" }

    /// Removes a number of a span's rows.
    fileprivate var limitedDeletion: LimitedDeletion {
        LimitedDeletion(from: rawValue, key: key, where: span, orderedBy: time)
    }
}

extension SQLSession {
    /// See ``PruningStorage/prune(_:from:before:limit:)``.
    func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> Pruning {
        let found = try integer(table.boundary, [.integer(start), .integer(end), .limit(limit)])
        guard let next = found else {
            return Pruning(removed: try removeSpan(of: table, from: start, before: end, limit: limit))
        }
        if next > start {
            let removed = try removeSpan(of: table, from: start, before: next, limit: limit)
            if removed > 0 || start > .min { return Pruning(removed: removed, next: next) }
        }
        // More rows than the limit have the same time.
        return Pruning(
            removed: try removeFirst(of: table, from: next, before: next + 1, limit: limit), next: next)
    }

    /// Removes a span that had at most `limit` rows when it was read.
    private func removeSpan(
        of table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> Int {
        // In order, callers wait for each other's rows and don't deadlock. Where that takes a sort and a look-up of each
        // row, the whole span is removed in whatever order.
        if dialect.deletesInOrder {
            return try removeFirst(of: table, from: start, before: end, limit: limit)
        }
        return try execute(table.deletion, [.integer(start), .integer(end)])
    }

    private func removeFirst(
        of table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> Int {
        try execute(
            dialect.deleteFirst(table.limitedDeletion), [.integer(start), .integer(end), .limit(limit)])
    }
}

extension SQLStorage {
    /// Implements `Storage`.
    package func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Pruning {
        try await write { session throws(SQLFailure) in
            try session.prune(table, from: start, before: end, limit: limit)
        }
    }
}

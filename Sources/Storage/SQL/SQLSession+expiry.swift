extension ExpiringTable {
    /// The condition for rows within a span of time.
    private var span: String { "\(time) >= ? AND \(time) < ?" }

    /// Finds the time of the row after a given number of rows in a span.
    fileprivate var boundary: String {
        "SELECT \(time) FROM \(rawValue) WHERE \(span) ORDER BY \(time) LIMIT 1 OFFSET ?"
    }

    /// Removes all rows in a span.
    fileprivate var deletion: String { "DELETE FROM \(rawValue) WHERE \(span)" }

    /// Removes a limited number of rows in a span.
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

    /// Removes the rows in a span that had at most `limit` rows when it was read.
    private func removeSpan(
        of table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> Int {
        // Removing rows in order keeps concurrent callers from deadlocking. On engines where that would need a sort and
        // a look-up per row, the whole span is removed in any order.
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
    package func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Pruning {
        try await write { session throws(SQLFailure) in
            try session.prune(table, from: start, before: end, limit: limit)
        }
    }
}

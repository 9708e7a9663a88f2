extension SQLStorage {
    /// Implements `Storage`.
    package func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition {
        for (item, _) in items { try item.validate() }
        return try await write { session throws(SQLFailure) in try session.add(items, counting: keys) }
    }

    /// Implements `Storage`.
    package func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) async throws(StorageError) -> HistoryPage {
        try await read { session throws(SQLFailure) in
            try session.history(of: key, before: id, limit: limit)
        }
    }

    /// Implements `Storage`.
    package func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> HistoryReading {
        try await write { session throws(SQLFailure) in try session.markRead(ids, of: key, at: now) }
    }
}

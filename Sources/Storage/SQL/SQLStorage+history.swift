extension SQLStorage {
    package func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition {
        for (item, _) in items { try item.validate() }
        typealias Entry = (hash: SecretHash, item: (item: HistoryItem, key: SecretKey)?, counted: SecretKey?)
        let entries =
            items.map { ($0.key.primary, $0, nil) as Entry } + keys.map { ($0.primary, nil, $0) as Entry }
        var addition = HistoryAddition()
        for part in parts(of: entries, by: \.hash) {
            let added = try await write { session throws(SQLFailure) in
                try session.add(part.compactMap(\.item), counting: Set(part.compactMap(\.counted)))
            }
            addition.stored += added.stored
            addition.removed += added.removed
            addition.unread.merge(added.unread) { $1 }
        }
        return addition
    }

    package func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) async throws(StorageError) -> HistoryPage {
        try await read { session throws(SQLFailure) in
            try session.history(of: key, before: id, limit: limit)
        }
    }

    package func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> HistoryReading {
        try await write { session throws(SQLFailure) in try session.markRead(ids, of: key, at: now) }
    }
}

import Network
import Storage

extension FakeStorage {
    func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition {
        await state.withLock(\.historyGate)?.pass()
        return try checked { state throws(StorageError) in
            state.historyBatches.append(items.count)
            if !state.historyFailures.isEmpty { throw state.historyFailures.removeFirst() }
            var addition = HistoryAddition()
            for (item, key) in items {
                let isRepeated = state.history.contains {
                    item.eventID != nil && $0.eventID == item.eventID && key.hashes.contains($0.secretHash)
                }
                guard !isRepeated else { continue }
                state.history.append(item)
                addition.stored += 1
            }
            for key in keys { addition.unread[key] = state.unread(of: key) }
            return addition
        }
    }

    func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) async throws(StorageError) -> HistoryPage {
        try checked { state in
            let items = state.history.filter { item in
                key.hashes.contains(item.secretHash) && id.map { item.id < $0 } ?? true
            }
            return HistoryPage(items: items.newestFirst(limit), unread: state.unread(of: key))
        }
    }

    func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> HistoryReading {
        try checked { state in
            var reading = HistoryReading()
            for index in state.history.indices {
                let item = state.history[index]
                guard key.hashes.contains(item.secretHash), item.readAt == nil, ids?.contains(item.id) ?? true
                else { continue }
                state.history[index].readAt = now
                reading.read += 1
            }
            reading.unread = state.unread(of: key)
            return reading
        }
    }
}

extension FakeStorage.State {
    fileprivate func unread(of key: SecretKey) -> Int {
        history.count { key.hashes.contains($0.secretHash) && $0.readAt == nil }
    }
}

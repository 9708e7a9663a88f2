import Storage

extension DeliveryLogStorage {
    /// The latest rows of a secret's log, newest first, read page by page.
    func newestDeliveries(of key: SecretKey, count: Int) async throws(StorageError) -> [Delivery] {
        var rows: [Delivery] = []
        while rows.count < count {
            let limit = min(count - rows.count, StorageLimits.lastDeliveriesWindow)
            let page = try await deliveries(of: key, before: rows.last?.cursor, limit: limit)
            rows += page
            guard page.count == limit else { break }
        }
        return rows
    }
}

extension DeliveryLogStorage {
    /// Appends rows to the delivery log; for a first attempt, not a repeated one.
    package func append(_ deliveries: [Delivery]) async throws(StorageError) {
        try await append(deliveries, isRepeated: false)
    }

    /// The newest delivery to each of a secret's devices, newest first, among the secret's newest
    /// `StorageLimits.lastDeliveriesWindow` log rows.
    ///
    /// Searches the log's newest rows, because an index by device would make every push more expensive. The first few
    /// rows usually suffice.
    package func lastDeliveries(
        to devices: [Device], under key: SecretKey
    ) async throws(StorageError) -> [Delivery] {
        guard !devices.isEmpty else { return [] }
        let newest = try await deliveries(of: key, before: nil, limit: StorageLimits.lastDeliveriesPage)
        return try await lastDeliveries(to: devices, under: key, among: newest)
    }

    /// - Parameter newest: The first page of the log.
    fileprivate func lastDeliveries(
        to devices: [Device], under key: SecretKey, among newest: [Delivery]
    ) async throws(StorageError) -> [Delivery] {
        let found = newest.newest(to: devices)
        let left = StorageLimits.lastDeliveriesWindow - newest.count
        guard found.count < devices.count, newest.count == StorageLimits.lastDeliveriesPage else {
            return found
        }
        let older = try await deliveries(of: key, before: newest.last?.cursor, limit: left)
        return (newest + older).newest(to: devices)
    }
}

extension AgentStorage where Self: DeliveryLogStorage {
    /// When an agent last used a secret, and the newest delivery to each device, as `lastDeliveries` returns it.
    ///
    /// Reads nothing if there are no devices.
    package func lastUses(
        of devices: [Device], under key: SecretKey
    ) async throws(StorageError) -> (agent: AgentUse?, deliveries: [Delivery]) {
        guard !devices.isEmpty else { return (nil, []) }
        let found = try await agentUse(of: key, deliveries: StorageLimits.lastDeliveriesPage)
        return (found.use, try await lastDeliveries(to: devices, under: key, among: found.deliveries))
    }
}

extension [Delivery] {
    /// For each device, the first push to it in these rows.
    fileprivate func newest(to devices: [Device]) -> [Delivery] {
        var missing = Set(devices.map(\.id))
        var found: [Delivery] = []
        for delivery in self where !missing.isEmpty {
            let singles = delivery.pushCount == 1 ? [delivery] : delivery.singles.reversed()
            found += singles.filter { single in single.deviceID.map { missing.remove($0) != nil } ?? false }
        }
        return found
    }
}

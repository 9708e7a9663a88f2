import Storage

/// Removes what is no longer kept: old rows of the delivery log and receipts past their time.
struct Upkeep: Sendable {
    let storage: any Storage
    let log: Log
    let clock: WallClock
    /// How long rows of the delivery log are kept.
    let retention: Duration
    /// Waits between rounds and steps; throws when it is time to end.
    var pause: @Sendable (Duration) async throws -> Void = { duration in try await Task.sleep(for: duration) }

    /// Goes round after round until its task is cancelled.
    ///
    /// The first comes after a wait, off the start's way.
    func run() async {
        do {
            while true {
                try await pause(Bounds.upkeepInterval)
                try await round()
            }
        } catch {
            return
        }
    }

    /// One round in small steps.
    ///
    /// A storage error ends it; the next round begins anew.
    func round() async throws {
        let now = clock.now
        let oldest = now - retention.inMilliseconds
        do throws(StorageError) {
            let rows = try await removeAll { limit throws(StorageError) in
                try await storage.pruneDeliveries(before: oldest, limit: limit)
            }
            let receipts = try await removeAll { limit throws(StorageError) in
                try await storage.pruneReceipts(at: now, limit: limit)
            }
            if rows + receipts > 0 {
                log(.debug, "upkeep", [.count("deliveries", rows), .count("receipts", receipts)])
            }
        } catch {
            log(.warning, "upkeep.failed", [.storageError(error)])
        }
    }

    private func removeAll(
        _ step: (Int) async throws(StorageError) -> Int
    ) async throws(StorageError) -> Int {
        var sum = 0
        while true {
            let count = try await step(Bounds.upkeepRowsPerStep)
            sum += count
            guard count == Bounds.upkeepRowsPerStep, (try? await pause(Bounds.upkeepPause)) != nil else {
                return sum
            }
        }
    }
}

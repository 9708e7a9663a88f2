import Network
import Storage

/// Removes expired data: old delivery log rows, receipts, history items, replies, devices and agents' last
/// uses.
struct Maintenance: Sendable {
    let storage:
        any DeliveryLogStorage & ReceiptStorage & HistoryStorage & AgentStorage & ReplyStorage
            & PushTokenStorage
    let log: Log
    let clock: WallClock
    var monotonic: @Sendable () -> MonotonicTime = { .current }
    /// How long delivery log rows and agents' last uses are kept.
    let retention: Duration
    /// Counts the history items that were removed; without it all are removed.
    var history: History?
    /// Removes devices that haven't registered for long.
    var devices: DeviceRetention?
    /// Waits between rounds and steps; throws to end.
    var pause: @Sendable (Duration) async throws -> Void = { duration in try await Task.sleep(for: duration) }

    /// Runs rounds until its task is cancelled.
    ///
    /// The first round comes after a pause, to keep startup fast. After the clock was set forward, one round is
    /// skipped, so that a wrong clock removes nothing if it is corrected before the next.
    func run() async {
        var watch = ClockWatch()
        _ = watch.step(to: clock.now, at: monotonic())
        do {
            while true {
                try await pause(Bounds.upkeepInterval)
                let step = watch.step(to: clock.now, at: monotonic())
                if max(step, .zero - step) >= Bounds.clockSkewMax { devices?.noteClockStep() }
                guard step < Bounds.clockSkewMax else { continue }
                try await round()
                try await devices?.round(pause: pause)
            }
        } catch {
            return
        }
    }

    /// Runs one round in small steps.
    ///
    /// A storage error ends the round for that table only; the next round tries again.
    func round() async throws {
        let now = clock.now
        let oldest = now - retention.inMilliseconds
        let rows = await removeAll("delivery_log") { limit throws(StorageError) in
            try await storage.pruneDeliveries(before: oldest, limit: limit)
        }
        let receipts = await removeAll("event_receipt") { limit throws(StorageError) in
            try await storage.pruneReceipts(at: now, limit: limit)
        }
        let oldestItem = now - (history?.options.lifetime ?? .zero).inMilliseconds
        let items = await removeAll("history_item") { limit throws(StorageError) in
            try await storage.pruneHistory(before: oldestItem, limit: limit)
        }
        history?.noteExpired(items)
        let uses = await removeAll("agent_use") { limit throws(StorageError) in
            try await storage.pruneAgentUses(before: oldest, limit: limit)
        }
        let replies = await removeAll("event_reply") { limit throws(StorageError) in
            try await storage.pruneAcknowledgements(at: now, limit: limit)
        }
        let tokens = await removeAll("push_token") { limit throws(StorageError) in
            try await storage.pruneTokens(at: now, limit: limit)
        }
        if rows + receipts + items + uses + replies + tokens > 0 {
            log(
                .debug, "maintenance",
                [
                    .count("deliveries", rows), .count("receipts", receipts), .count("items", items),
                    .count("uses", uses), .count("replies", replies),
                    .count("tokens", tokens),
                ])
        }
    }

    private func removeAll(
        _ table: String, _ step: (Int) async throws(StorageError) -> Int
    ) async -> Int {
        var sum = 0
        while true {
            let count: Int
            do throws(StorageError) {
                count = try await step(Bounds.upkeepRowsPerStep)
            } catch {
                log(.warning, "maintenance.failed", [.note("table", table), .storageError(error)])
                return sum
            }
            sum += count
            guard count == Bounds.upkeepRowsPerStep, (try? await pause(Bounds.upkeepPause)) != nil else {
                return sum
            }
        }
    }
}

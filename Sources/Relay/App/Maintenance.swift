import Network
import Programs
import Storage

/// Removes expired data: delivery log rows, receipts, history items, replies, tokens, devices, and agents' last uses.
struct Maintenance: Sendable {
    let storage: any PruningStorage
    let log: Log
    let clock: WallClock
    var monotonic: @Sendable () -> MonotonicTime = { .current }
    /// How long delivery log rows and agents' last uses are kept.
    let retention: Duration
    /// Counts the history items that were removed; without a history, all items are removed.
    var history: History?
    /// Removes devices that haven't registered for a long time.
    var devices: DeviceRetention?
    /// The numbers of removed rows, for metrics.
    var figures = PruningFigures()
    /// Waits between rounds and steps; throws to end maintenance.
    var pause: @Sendable (Duration) async throws -> Void = { duration in try await Task.sleep(for: duration) }

    /// Runs rounds until its task is cancelled.
    ///
    /// The first round comes after a pause, to keep startup fast. After the clock was set forward, one round is
    /// skipped, so that a wrong clock removes nothing if it is corrected before the next one. A round that wasn't
    /// finished in time is followed by the next without a pause.
    func run() async {
        var watch = ClockWatch()
        _ = watch.step(to: clock.now, at: monotonic())
        var isFinished = true
        do {
            while true {
                if isFinished { try await pause(Bounds.upkeepInterval) }
                isFinished = true
                let step = watch.step(to: clock.now, at: monotonic())
                if max(step, .zero - step) >= Bounds.clockSkewMax { devices?.noteClockStep() }
                guard step < Bounds.clockSkewMax else { continue }
                // Devices come first, since the tables may take all of the round's time.
                try await devices?.round(pause: pause)
                isFinished = try await round()
            }
        } catch {
            return
        }
    }

    /// Runs one round in small steps; false if it wasn't finished in time.
    ///
    /// A storage error ends the round for that table only; the next round tries again.
    func round() async throws -> Bool {
        let now = clock.now
        var round = PruneRound(
            ExpiringTable.allCases.map { ($0, expiry(of: $0, at: now)) }, atMost: Bounds.upkeepInterval)
        defer { note(round) }
        while let move = round.next() {
            switch move {
            case .pause(let duration): try await pause(duration)
            case .remove(let step): await remove(step, in: &round, at: now)
            }
        }
        return round.unfinished.isEmpty
    }

    /// The time before which a table's rows have expired at `now`.
    private func expiry(of table: ExpiringTable, at now: EpochMilliseconds) -> EpochMilliseconds {
        switch table {
        case .deliveries, .agentUses: now - retention.inMilliseconds
        case .history: now - (history?.options.lifetime ?? .zero).inMilliseconds
        case .receipts, .replies, .tokens, .accessTokens: now + 1
        }
    }

    private func remove(
        _ step: PruneRound.Step, in round: inout PruneRound, at now: EpochMilliseconds
    ) async {
        let began = monotonic()
        do throws(StorageError) {
            let pruning = try await storage.prune(
                step.table, from: step.start, before: step.end, limit: step.limit)
            round.note(pruning, took: monotonic().since(began))
            figures.note(pruning, of: step, at: now)
        } catch {
            log(.warning, "maintenance.failed", [.note("table", step.table.rawValue), .storageError(error)])
            round.noteFailure(mayRetry: error.isSlowness, took: monotonic().since(began))
        }
    }

    private func note(_ round: PruneRound) {
        let removed = round.removed
        history?.noteExpired(removed[.history] ?? 0)
        if removed.values.contains(where: { $0 > 0 }) {
            log(
                .debug, "maintenance",
                [
                    .count("deliveries", removed[.deliveries] ?? 0),
                    .count("receipts", removed[.receipts] ?? 0), .count("items", removed[.history] ?? 0),
                    .count("uses", removed[.agentUses] ?? 0), .count("replies", removed[.replies] ?? 0),
                    .count("tokens", removed[.tokens] ?? 0),
                    .count("access_tokens", removed[.accessTokens] ?? 0),
                ])
        }
        let oldest = figures.oldest
        for table in round.unfinished {
            let age = oldest[table].map { max(0, clock.now - $0) / 1_000 } ?? 0
            log(
                .warning, "maintenance.behind",
                [
                    .note("table", table.rawValue), .count("removed", removed[table] ?? 0),
                    .count("oldest_seconds", Int(age)),
                ])
        }
    }
}

extension StorageError {
    /// Whether a call may have failed because it took too long.
    fileprivate var isSlowness: Bool {
        switch self {
        case .timeout, .unconfirmed: true
        default: false
        }
    }
}

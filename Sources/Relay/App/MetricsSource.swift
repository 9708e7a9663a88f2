import HTTPServer
import Network
import Programs
import Storage

/// Collects metrics from every loop and every part of the program.
struct MetricsSource: Sendable {
    /// The parts of a loop that are queried.
    struct Loop: Sendable {
        let services: LoopBound<LoopServices>
        let clients: LoopBound<LoopClients>
    }

    /// The loops, at least one.
    let loops: [Loop]
    let shared: Services
    let ledger: ConnectionLedger
    let connectionsMax: Int
    let tls: TLSServerContext?
    /// The database's engine.
    let database: String
    var reportDeadline = Bounds.loopReportDeadline
    var readinessDeadline = Bounds.scrapeReadinessDeadline

    /// Collects everything; `nil` if a loop doesn't respond, because totals without its counts would decrease.
    ///
    /// - Parameter checksReadiness: Whether to run the checks of `/ready`, the only part that uses the database.
    func snapshot(checksReadiness: Bool = true) async -> MetricsSnapshot? {
        async let readiness = checksReadiness ? readiness() : Readiness()
        guard let reports = await Deadline.within(reportDeadline, reports) else { return nil }
        var snapshot = MetricsSnapshot()
        for report in reports { snapshot.loops.add(report) }
        snapshot.loops.counts.hit(.connections, times: ledger.refusedCount)
        snapshot.pushesInFlightMax = shared.limits.pushesPerLoopMax * loops.count
        snapshot.connections = ledger.count
        snapshot.connectionsMax = connectionsMax
        snapshot.connectionsEvicted = ledger.evictedCount
        snapshot.connectionMemoryBytes = ledger.memoryBytes
        snapshot.connectionMemoryBytesMax = ledger.memoryBytesMax
        snapshot.devices = shared.deviceTotal?.count
        snapshot.devicesMax = shared.deviceTotal?.max
        snapshot.devicesExpired = shared.deviceRetention?.expired ?? 0
        snapshot.secretLocksRemoved = shared.deviceRetention?.locksRemoved ?? 0
        snapshot.rowsPruned = shared.pruning.removed
        snapshot.oldestExpired = shared.pruning.oldest
        snapshot.queue = shared.queue.figures
        snapshot.schedules = shared.schedules.figures
        snapshot.queueMax = shared.queue.options.totalMax
        snapshot.queueBytesMax = shared.queue.options.bytesMax
        snapshot.deliveryLog = shared.deliveryLog.figures
        snapshot.history = shared.history?.figures
        snapshot.replies = shared.replies.figures
        snapshot.spans = shared.tracer?.figures
        snapshot.logLinesDropped = shared.log.droppedLines
        snapshot.storage = shared.storage.load
        snapshot.process = ProcessFigures.read()
        snapshot.certificateExpiry = tls?.certificateExpiry
        snapshot.database = database
        snapshot.time = shared.clock.now
        snapshot.apnsStandings = shared.apnsHealth.standings()
        snapshot.readiness = await readiness
        return snapshot
    }

    /// The state of `/ready`; a database that is too slow for a scrape counts as unavailable.
    func readiness() async -> Readiness {
        let found = await Deadline.within(readinessDeadline) {
            let services = loops[0].services
            return await services.loop.run { _ in await services.value.shared.checkReadiness() }
        }
        if let found { return found }
        return Readiness(
            storage: Readiness.unavailable, write: Readiness.unknown, apns: shared.checkCredentials(),
            queue: Readiness.unknown)
    }

    private func reports() async -> [LoopReport] {
        await withTaskGroup { group in
            for loop in loops {
                group.addTask {
                    await loop.services.loop.run { _ in
                        let services = loop.services.value
                        return LoopReport(
                            counts: services.counts, pushesInFlight: services.slots.taken,
                            groups: loop.clients.value.statistics, tenants: services.tenants)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Limits the wait for work that can't be cancelled.
enum Deadline {
    /// The result of `work`, or `nil` at the deadline; `work` then continues and its result is dropped.
    static func within<Value: Sendable>(
        _ duration: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let waiter = Lock<CheckedContinuation<Value?, Never>?>(continuation)
            let timeout = Task {
                try await Task.sleep(for: duration)
                waiter.withLock { $0.take() }?.resume(returning: nil)
            }
            Task {
                let value = await work()
                timeout.cancel()
                waiter.withLock { $0.take() }?.resume(returning: value)
            }
        }
    }
}

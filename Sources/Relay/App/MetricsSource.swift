import HTTPServer
import Network
import Storage

/// Where metrics come from: asks every loop and every part of the program what it has counted.
struct MetricsSource: Sendable {
    /// A loop's parts that are asked.
    struct Loop: Sendable {
        let services: LoopBound<LoopServices>
        let clients: LoopBound<LoopClients>
    }

    /// At least one.
    let loops: [Loop]
    let shared: Services
    let ledger: ConnectionLedger
    let connectionsMax: Int
    let tls: TLSServerContext?
    /// The database's engine.
    let database: String
    var reportDeadline = Bounds.loopReportDeadline
    var readinessDeadline = Bounds.scrapeReadinessDeadline

    /// How everything stands; `nil` when a loop doesn't answer, because a sum without it would go back.
    func snapshot() async -> MetricsSnapshot? {
        async let readiness = readiness()
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
        snapshot.queue = shared.queue.figures
        snapshot.queueMax = shared.queue.options.totalMax
        snapshot.deliveryLog = shared.deliveryLog.figures
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

    /// What `/ready` says; a database that takes too long for a scrape counts as unavailable.
    func readiness() async -> Readiness {
        let found = await Deadline.within(readinessDeadline) {
            let services = loops[0].services
            return await services.loop.run { _ in await services.value.checkReadiness() }
        }
        if let found { return found }
        return Readiness(
            storage: Readiness.unavailable, apns: shared.checkCredentials(), queue: Readiness.unknown)
    }

    private func reports() async -> [LoopReport] {
        await withTaskGroup { group in
            for loop in loops {
                group.addTask {
                    await loop.services.loop.run { _ in
                        let services = loop.services.value
                        return LoopReport(
                            counts: services.counts, pushesInFlight: services.slots.taken,
                            groups: loop.clients.value.statistics)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// A wait for what can't be cancelled.
enum Deadline {
    /// What `work` returns, or `nil` when it takes longer; then it goes on, and nobody hears of it.
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

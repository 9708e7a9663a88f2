import Network
import Storage

// The calls that tests count, delay or make fail individually; all others can only fail together.
extension FakeStorage {
    func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        try await begin(at: \.devicesGate) { $0.lookups += 1 }
        return try await memory.devices(of: key)
    }

    func accessToken(_ digest: Digest256) async throws(StorageError) -> AccessToken? {
        try check { $0.tokenLookUps += 1 }
        return try await memory.accessToken(digest)
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery] {
        try check { $0.deliveryReads += 1 }
        return try await memory.deliveries(of: key, before: cursor, limit: limit)
    }

    func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        try await begin(at: \.removeGate) { state in
            state.pendingAtRemoval.append(state.pending.count { $0.push.deviceID == device.id })
        }
        return try await memory.remove(device, ifNotUpdatedAfter: time, at: now)
    }

    func countDevices(limit: Int) async throws(StorageError) -> Int {
        try check { $0.deviceCounts += 1 }
        return try await memory.countDevices(limit: limit)
    }

    /// SQLite has no locks to remove, so the results are invented.
    func pruneLocks(
        after start: String, limit: Int
    ) async throws(StorageError) -> (removed: Int, next: String?) {
        var next: String?
        try check { state in
            state.lockWalks.append(start)
            next = state.lockWalks.count % 3 == 0 ? nil : String(state.lockWalks.count)
        }
        return (1, next)
    }

    func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError) {
        try await begin(at: \.appendGate) { state throws(StorageError) in
            state.batches.append(deliveries.count)
            if !state.appendFailures.isEmpty { throw state.appendFailures.removeFirst() }
            if let failure = state.writeFailure { throw failure }
            try state.checkLog(deliveries)
        }
        try await memory.append(deliveries, isRepeated: isRepeated)
        try check { state throws(StorageError) in
            guard state.losesConfirmation else { return }
            state.losesConfirmation = false
            throw .unconfirmed(logDetail: "x")
        }
    }

    func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) async throws(StorageError) -> [String: SentCount] {
        try check { state throws(StorageError) in
            if let failure = state.countFailure { throw failure }
            state.sentCounts += 1
        }
        return try await memory.countSent(of: key, since: start, recentlySince: recent, before: end)
    }

    func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try check { $0.claims += 1 }
        return try await memory.claim(event)
    }

    func claim(
        _ events: [EventClaim]
    ) async throws(StorageError) -> [Result<EventClaimResult, StorageError>] {
        try check { $0.claims += 1 }
        return try await memory.claim(events)
    }

    func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try check { state throws(StorageError) in
            if !state.completeFailures.isEmpty { throw state.completeFailures.removeFirst() }
        }
        return try await memory.complete(event, answer: answer)
    }

    func ping(
        now: @escaping @Sendable () -> EpochMilliseconds
    ) async throws(StorageError) -> ClockReading? {
        var ahead: EpochMilliseconds?
        try await begin(at: \.pingGate) { ahead = $0.clockAhead }
        return ahead.map { ClockReading(server: now() - $0, local: now()) }
    }

    func tryWriting(id: UUIDv7, at now: EpochMilliseconds) async throws(StorageError) {
        state.withLock { $0.trials += 1 }
        try await begin(at: \.trialGate) { state throws(StorageError) in
            if let failure = state.writeFailure ?? state.logFailure { throw failure }
        }
        try await memory.tryWriting(id: id, at: now)
    }

    func blockedSecrets(limit: Int) async throws(StorageError) -> [BlockedSecret] {
        try check { $0.blockReads += 1 }
        return try await memory.blockedSecrets(limit: limit)
    }

    func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition {
        try await begin(at: \.historyGate) { state throws(StorageError) in
            state.historyBatches.append(items.count)
            if !state.historyFailures.isEmpty { throw state.historyFailures.removeFirst() }
        }
        return try await memory.add(items, counting: keys)
    }

    func note(_ uses: [(use: AgentUse, key: SecretKey)]) async throws(StorageError) {
        try await begin(at: \.agentGate) { $0.agentBatches.append(uses.count) }
        try await memory.note(uses)
    }

    func acknowledgements(
        of events: Set<EventName>, at now: EpochMilliseconds
    ) async throws(StorageError) -> [EventName: Acknowledgement] {
        state.withLock { $0.acknowledgementReads.append(events.count) }
        try check { _ in }
        return try await memory.acknowledgements(of: events, at: now)
    }

    func take(_ wanted: ActivityState, under key: SecretKey) async throws(StorageError) -> ActivityTurn {
        try check { state throws(StorageError) in
            state.takes += 1
            if let failure = state.writeFailure { throw failure }
        }
        return try await memory.take(wanted, under: key)
    }

    /// After each step, the next row's time is the step's number.
    func prune(
        _ table: ExpiringTable, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Pruning {
        var pruning = Pruning(removed: 0)
        try check { state throws(StorageError) in
            state.prunes.append(PruneRound.Step(table: table, start: start, end: end, limit: limit))
            if let failure = state.pruneFailures[table] { throw failure }
            let count = min(limit, state.expired[table] ?? 0)
            state.expired[table, default: 0] -= count
            let isOver = state.expired[table] == 0
            pruning = Pruning(removed: count, next: isOver ? nil : EpochMilliseconds(state.prunes.count))
        }
        guard table == .history else { return pruning }
        return try await memory.prune(table, from: start, before: end, limit: limit)
    }
}

// MARK: - The queue and schedules

extension FakeStorage {
    func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult] {
        try await begin(at: \.enqueueGate) { state throws(StorageError) in
            state.areEnqueuesRepeated.append(isRepeated)
            if !state.queueFailures.isEmpty { throw state.queueFailures.removeFirst() }
        }
        let results = try await memory.enqueue(
            pushes, lease: lease, limitPerSecret: limitPerSecret, isRepeated: isRepeated)
        try check { state throws(StorageError) in
            if state.losesConfirmation, !pushes.isEmpty { throw .unconfirmed(logDetail: "x") }
        }
        return results
    }

    func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        try await begin(at: \.claimGate) { $0.claimScopes.append(scope) }
        return try await memory.claimPushes(dueAt: now, lease: lease, limit: limit, scope: scope)
    }

    func settle(_ settlements: [Settlement], logging: Bool) async throws(StorageError) -> [Bool] {
        try check { state throws(StorageError) in
            state.settled.append(settlements.count)
            if !state.queueFailures.isEmpty { throw state.queueFailures.removeFirst() }
            guard settlements.count <= state.settlementsMax else { throw .timeout(logDetail: "too many") }
            try state.checkEnds(settlements, logging: logging)
        }
        return try await memory.settle(settlements, logging: logging)
    }

    func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try check { state throws(StorageError) in
            if !state.dueFailures.isEmpty { throw state.dueFailures.removeFirst() }
        }
        return try await memory.nextPushDue()
    }

    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try check { state throws(StorageError) in
            if !state.listFailures.isEmpty { throw state.listFailures.removeFirst() }
        }
        return try await memory.pushes(dueAfter: horizon, leased: leased, limit: limit)
    }

    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation {
        try check { state throws(StorageError) in
            if !state.createFailures.isEmpty { throw state.createFailures.removeFirst() }
        }
        return try await memory.create(schedule, under: key, limit: limit)
    }

    func settle(_ claimed: ClaimedSchedule, _ end: ScheduleEnd) async throws(StorageError) -> Bool {
        try check { state throws(StorageError) in
            state.scheduleEnds.append(end)
            if !state.scheduleFailures.isEmpty { throw state.scheduleFailures.removeFirst() }
        }
        return try await memory.settle(claimed, end)
    }

    func nextScheduleDue(at now: EpochMilliseconds) async throws(StorageError) -> EpochMilliseconds? {
        try check { $0.scheduleLooks += 1 }
        return try await memory.nextScheduleDue(at: now)
    }
}

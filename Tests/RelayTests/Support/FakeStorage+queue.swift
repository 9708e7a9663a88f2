import Network
import Storage

extension FakeStorage {
    /// A push that waits, and the lease under which it is held.
    struct Pending {
        var push: PendingPush
        var lease: PushLease?

        var dueAt: EpochMilliseconds { lease?.until ?? push.dueAt }
    }

    func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult] {
        await state.withLock(\.enqueueGate)?.pass()
        return try checked { state throws(StorageError) in
            state.areEnqueuesRepeated.append(isRepeated)
            if !state.queueFailures.isEmpty { throw state.queueFailures.removeFirst() }
            let results = pushes.map { state.enqueue($0, lease, limitPerSecret) }
            if state.losesConfirmation, !pushes.isEmpty { throw .unconfirmed(logDetail: "x") }
            return results
        }
    }

    func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush] {
        await state.withLock(\.claimGate)?.pass()
        return try checked { state in
            state.claimScopes.append(scope)
            var claimed: [ClaimedPush] = []
            for index in state.pending.indices where state.pending[index].dueAt <= now {
                guard claimed.count < limit else { break }
                state.pending[index].lease = lease
                let push = state.pending[index].push
                let isAcknowledged = state.acknowledgements.keys.contains {
                    $0.key.primary == push.secretHash && $0.eventID == push.eventID
                }
                claimed.append(
                    ClaimedPush(
                        push: push, device: state.devices.first { $0.id == push.deviceID },
                        isAcknowledged: isAcknowledged))
            }
            return claimed
        }
    }

    func settle(_ settlements: [Settlement], logging: Bool) async throws(StorageError) -> [Bool] {
        try checked { state throws(StorageError) in
            state.settled.append(settlements.count)
            if !state.queueFailures.isEmpty { throw state.queueFailures.removeFirst() }
            guard settlements.count <= state.settlementsMax else { throw .timeout(logDetail: "too many") }
            try state.checkEnds(settlements, logging: logging)
            return settlements.map { settlement in
                let held = state.pending.firstIndex {
                    $0.push.id == settlement.id && $0.lease?.owner == settlement.owner
                        && $0.push.secretHash == settlement.secretHash
                }
                guard let index = held else { return false }
                switch settlement.end {
                case .over(let delivery):
                    state.pending.remove(at: index)
                    if logging { state.deliveries.append(delivery) }
                case .again(let dueAt, let attempts):
                    state.pending[index] = Pending(
                        push: state.pending[index].push.again(dueAt: dueAt, attempts: attempts))
                }
                return true
            }
        }
    }

    func nextPushDue() async throws(StorageError) -> EpochMilliseconds? {
        try checked { state throws(StorageError) in
            if !state.dueFailures.isEmpty { throw state.dueFailures.removeFirst() }
            return state.pending.map(\.dueAt).min()
        }
    }

    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush] {
        try checked { state throws(StorageError) in
            if !state.listFailures.isEmpty { throw state.listFailures.removeFirst() }
            let found = state.pending.filter { $0.dueAt > horizon && ($0.lease != nil) == leased }
            return found.prefix(limit).map {
                DuePush(secretHash: $0.push.secretHash, id: $0.push.id, dueAt: $0.dueAt)
            }
        }
    }

    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int {
        try checked { state in
            var count = 0
            for push in pushes {
                let found = state.pending.firstIndex { $0.push.id == push.id && $0.dueAt == push.dueAt }
                guard let index = found else { continue }
                let waiting = state.pending[index]
                let lease = waiting.lease.map { PushLease(owner: $0.owner, until: time) }
                state.pending[index] = Pending(
                    push: waiting.push.again(dueAt: time, attempts: waiting.push.attempts), lease: lease)
                count += 1
            }
            return count
        }
    }

    func countDevices(limit: Int) async throws(StorageError) -> Int {
        try checked { state in
            state.deviceCounts += 1
            return min(limit, state.devices.count)
        }
    }

    func preferences(
        after cursor: DeviceCursor?, limit: Int
    ) async throws(StorageError) -> PreferencesPage {
        try checked { state in
            let texts = state.devices.compactMap(\.details.preferences)
            return PreferencesPage(looked: state.devices.count, texts: texts)
        }
    }

    func pruneDevices(
        before time: EpochMilliseconds, after cursor: DeviceCursor?, limit: Int, at now: EpochMilliseconds
    ) async throws(StorageError) -> DevicePruning {
        try checked { state in
            let inOrder = state.devices.sorted {
                ($0.secretHash.hex, $0.token) < ($1.secretHash.hex, $1.token)
            }
            let after = inOrder.filter { device in
                guard let cursor else { return true }
                return (device.secretHash.hex, device.token) > (cursor.secretHash, cursor.token)
            }
            let stale = after.prefix(limit).filter { $0.updatedAt < time }
            state.devices.removeAll { stale.contains($0) }
            let last = after.count < limit ? nil : after.prefix(limit).last
            let next = last.map { DeviceCursor(secretHash: $0.secretHash.hex, token: $0.token) }
            return DevicePruning(removed: stale.count, next: next)
        }
    }

    func pruneLocks(
        after start: String, limit: Int
    ) async throws(StorageError) -> (removed: Int, next: String?) {
        try checked { state in
            state.lockWalks.append(start)
            return (1, state.lockWalks.count % 3 == 0 ? nil : String(state.lockWalks.count))
        }
    }

    func countPushes(limit: Int) async throws(StorageError) -> Int {
        try checked { state in min(limit, state.pending.count) }
    }

    func measurePushes(limit: Int) async throws(StorageError) -> QueueSize {
        try checked { state in
            let counted = state.pending.prefix(limit)
            return QueueSize(
                pushes: counted.count, bytes: counted.reduce(0) { $0 + $1.push.payload.count })
        }
    }
}

extension FakeStorage {
    func rehash(_ key: SecretKey) async throws(StorageError) -> Bool {
        try checked { state in
            let found = state.devices.indices.filter { key.legacy.contains(state.devices[$0].secretHash) }
            for index in found {
                let old = state.devices[index]
                state.devices[index] = Device(
                    id: old.id, secretHash: key.primary, token: old.token, bundleID: old.bundleID,
                    environment: old.environment, createdAt: old.createdAt, updatedAt: old.updatedAt,
                    details: old.details)
            }
            let blocked = state.blocked.indices.filter { key.legacy.contains(state.blocked[$0].secretHash) }
            for index in blocked {
                let old = state.blocked[index]
                state.blocked[index] = BlockedSecret(
                    secretHash: key.primary, createdAt: old.createdAt, note: old.note)
            }
            return !found.isEmpty || !blocked.isEmpty
        }
    }

    func holdings(of key: SecretKey) async throws(StorageError) -> Holdings {
        try checked { state in state.holdings(of: key) }
    }

    func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings {
        try checked { state in
            let (devices, pushes, receipts) = (state.devices, state.pending, state.receipts)
            state.devices = without(devices, limit) { key.hashes.contains($0.secretHash) }
            state.pending = without(pushes, limit) { key.hashes.contains($0.push.secretHash) }
            state.receipts = without(receipts, limit) { $0.claim.key.primary == key.primary }
            let history = state.history
            state.history = without(history, limit) { key.hashes.contains($0.secretHash) }
            let tokens = state.tokens
            state.tokens = without(tokens, limit) { key.hashes.contains($0.secretHash) }
            return Holdings(
                devices: devices.count - state.devices.count, pushes: pushes.count - state.pending.count,
                receipts: receipts.count - state.receipts.count,
                history: history.count - state.history.count, tokens: tokens.count - state.tokens.count)
        }
    }

    /// Rows without the first of those that are to go.
    private func without<Row>(_ rows: [Row], _ limit: Int, _ goes: (Row) -> Bool) -> [Row] {
        var left = limit
        return rows.filter { row in
            guard left > 0, goes(row) else { return true }
            left -= 1
            return false
        }
    }

    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally {
        try checked { state in
            var tally = DeliveryTally(end: end)
            for row in state.deliveries where (start..<end).contains(row.createdAt) {
                guard hash == nil || row.secretHash == hash else { continue }
                tally.add(row.status, row.error, count: 1)
            }
            return tally
        }
    }

    func census(ofShare share: UInt8) async throws(StorageError) -> Census {
        try checked { state in
            guard share == 0 else { return Census() }
            let secrets = Set(state.devices.map(\.secretHash)).count
            return Census(secrets: secrets, devices: state.devices.count, waiting: state.pending.count)
        }
    }
}

extension FakeStorage.State {
    fileprivate mutating func enqueue(
        _ push: PendingPush, _ lease: PushLease?, _ limit: Int
    ) -> EnqueueResult {
        let isRegistered =
            devices.contains { $0.id == push.deviceID && $0.secretHash == push.secretHash }
            || tokens.contains { $0.id == push.deviceID }
        guard isRegistered else { return .deviceGone }
        guard pending.count(where: { $0.push.secretHash == push.secretHash }) < limit else {
            return .secretFull
        }
        pending.append(FakeStorage.Pending(push: push, lease: lease))
        return .queued
    }

    /// Throws where the log, or one of these rows, is refused.
    func checkLog(_ rows: [Delivery]) throws(StorageError) {
        guard !rows.isEmpty else { return }
        if let logFailure { throw logFailure }
        for row in rows { if let failure = refusedRows[row.id] { throw failure } }
    }

    /// Moves every row to another hash, as a pepper's change does.
    mutating func movePending(to hash: SecretHash) {
        for index in pending.indices { pending[index].push = pending[index].push.moved(to: hash) }
        devices = devices.map { old in
            Device(
                id: old.id, secretHash: hash, token: old.token, bundleID: old.bundleID,
                environment: old.environment, createdAt: old.createdAt, updatedAt: old.updatedAt)
        }
    }

    /// Throws where one of these ends, or its row in the log, is refused.
    fileprivate func checkEnds(_ settlements: [Settlement], logging: Bool) throws(StorageError) {
        if let settleFailure { throw settleFailure }
        for settlement in settlements {
            if let failure = refusedEnds[settlement.id] { throw failure }
            if logging, case .over(let delivery) = settlement.end { try checkLog([delivery]) }
        }
    }

    fileprivate func holdings(of key: SecretKey) -> Holdings {
        Holdings(
            devices: devices.count { key.hashes.contains($0.secretHash) },
            pushes: pending.count { key.hashes.contains($0.push.secretHash) },
            receipts: receipts.count { $0.claim.key.primary == key.primary },
            history: history.count { key.hashes.contains($0.secretHash) },
            tokens: tokens.count { key.hashes.contains($0.secretHash) })
    }
}

extension PendingPush {
    fileprivate func again(dueAt: EpochMilliseconds, attempts: Int) -> PendingPush {
        copy(secretHash: secretHash, dueAt: dueAt, attempts: attempts)
    }

    fileprivate func moved(to hash: SecretHash) -> PendingPush {
        copy(secretHash: hash, dueAt: dueAt, attempts: attempts)
    }

    private func copy(secretHash: SecretHash, dueAt: EpochMilliseconds, attempts: Int) -> PendingPush {
        PendingPush(
            id: id, secretHash: secretHash, deviceID: deviceID, eventType: eventType, sessionID: sessionID,
            payload: payload, pushType: pushType, priority: priority, collapseID: collapseID,
            attempts: attempts, dueAt: dueAt, createdAt: createdAt, expiresAt: expiresAt, eventID: eventID,
            kind: kind)
    }
}

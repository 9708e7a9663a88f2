import Network
import Storage

/// A storage in memory, which fails when it is told to.
final class FakeStorage: Storage {
    struct Receipt {
        var claim: EventClaim
        var answer: [UInt8]?
    }

    struct State {
        var devices: [Device] = []
        var relayKeys: [String: String] = [:]
        var deliveries: [Delivery] = []
        var receipts: [Receipt] = []
        /// The last uses by agents.
        var agentUses: [SecretHash: AgentUse] = [:]
        /// Sizes of the batches of `note`, failed ones too.
        var agentBatches: [Int] = []
        /// Where calls to `note` wait before they begin.
        var agentGate: Gate?
        var schedules: [StoredSchedule] = []
        /// How schedules were to be ended, failed calls too.
        var scheduleEnds: [ScheduleEnd] = []
        /// Thrown by the next calls to `settle` a schedule, one each.
        var scheduleFailures: [StorageError] = []
        /// Thrown by the next calls to `create` a schedule, one each.
        var createFailures: [StorageError] = []
        /// Calls to `nextScheduleDue`.
        var scheduleLooks = 0
        /// The tokens besides the devices' own.
        var tokens: [PushToken] = []
        /// The IDs of activities whose end is queued.
        var ended: Set<String> = []
        /// The devices with the sessions that were started on them.
        var started: Set<String> = []
        /// Calls to `take`.
        var takes = 0
        /// Calls to `devices(of:)`.
        var lookups = 0
        /// Calls to `countSent`.
        var sentCounts = 0
        /// Thrown by every such call until it is taken away.
        var countFailure: StorageError?
        /// Calls to `countDevices`.
        var deviceCounts = 0
        /// Where the calls to `pruneLocks` began; every third one is at the end.
        var lockWalks: [String] = []
        /// How far the relay's clock is ahead of the database's; nil for a file.
        var clockAhead: EpochMilliseconds?
        /// Calls to `claim`.
        var claims = 0
        /// Thrown by every call until it is taken away.
        var failure: StorageError?
        /// Thrown by the next calls to `append`, one each.
        var appendFailures: [StorageError] = []
        /// Thrown by the next calls to `complete`, one each.
        var completeFailures: [StorageError] = []
        /// Sizes of the batches of `append`, failed ones too.
        var batches: [Int] = []
        var isClosed = false
        /// Expired rows that `prune` still finds, besides those of the history.
        var expired: [ExpiringTable: Int] = [:]
        /// The steps of `prune`, those that failed too.
        var prunes: [PruneRound.Step] = []
        /// The pushes that wait, with who holds them.
        var pending: [Pending] = []
        /// Thrown by the next calls to `enqueue` and `settle`, one each.
        var queueFailures: [StorageError] = []
        /// How far the claims looked.
        var claimScopes: [ClaimScope] = []
        /// Where calls of a kind wait before they begin.
        var pingGate: Gate?
        var appendGate: Gate?
        var devicesGate: Gate?
        var claimGate: Gate?
        var enqueueGate: Gate?
        var removeGate: Gate?
        /// Thrown by the next calls to `nextPushDue`, one each.
        var dueFailures: [StorageError] = []
        /// Thrown by the next calls to `pushes`, one each.
        var listFailures: [StorageError] = []
        /// Sizes of the batches of `settle`, failed ones too.
        var settled: [Int] = []
        /// For each call to `enqueue`, whether it said that it was one before.
        var areEnqueuesRepeated: [Bool] = []
        /// Calls to `enqueue`, or the next one to `append`, store what they are given and say that this isn't known.
        var losesConfirmation = false
        /// More ends than these in one call take too long.
        var settlementsMax = Int.max
        /// Thrown by every call that writes to the delivery log until it is taken away.
        var logFailure: StorageError?
        /// Thrown by every call that writes the log row with this id.
        var refusedRows: [String: StorageError] = [:]
        /// Thrown by every call that ends the push with this id.
        var refusedEnds: [String: StorageError] = [:]
        /// Thrown by every call to `settle` until it is taken away.
        var settleFailure: StorageError?
        /// For each call to `remove`, how many pushes waited for the device.
        var pendingAtRemoval: [Int] = []
        /// Thrown by every call that writes until it is taken away.
        var writeFailure: StorageError?
        /// Calls to `tryWriting`.
        var trials = 0
        /// Where calls to `tryWriting` wait before they begin.
        var trialGate: Gate?
        var blocked: [BlockedSecret] = []
        /// Calls to `blockedSecrets`.
        var blockReads = 0
        var history: [HistoryItem] = []
        /// Sizes of the batches of `add`, failed ones too.
        var historyBatches: [Int] = []
        /// Where calls to `add` wait before they begin.
        var historyGate: Gate?
        /// Thrown by the next calls to `add`, one each.
        var historyFailures: [StorageError] = []
        var acknowledgements: [EventName: Acknowledgement] = [:]
        /// How many events each call to `acknowledgements` asked for, failed ones too.
        var acknowledgementReads: [Int] = []
        /// Thrown by every call to `prune` for the table until it is taken away.
        var pruneFailures: [ExpiringTable: StorageError] = [:]
    }

    let state = Lock(State())

    var load: StorageLoad { StorageLoad() }

    /// A device under a key, as if it had been registered at a time.
    @discardableResult
    func add(
        _ token: String, under key: SecretKey, bundle: String = "org.example.app",
        environment: DeviceEnvironment = .production, at time: EpochMilliseconds = 1000
    ) -> Device {
        state.withLock { state in
            let device = Device(
                id: "device-\(state.devices.count)", secretHash: key.primary, token: token, bundleID: bundle,
                environment: environment, createdAt: time, updatedAt: time)
            state.devices.append(device)
            return device
        }
    }

    func checked<Value>(
        _ body: (inout State) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let result: Result<Value, StorageError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            do throws(StorageError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult {
        try checked { state in
            state.giveToken(of: registration, under: key.primary)
            let index = state.devices.firstIndex {
                $0.secretHash == key.primary && $0.token == registration.token
            }
            let count = state.devices.count { $0.secretHash == key.primary }
            guard index != nil || count < deviceLimit else { return .limitReached }
            let old = index.map { state.devices[$0] }
            let device = Device(
                id: old?.id ?? registration.newID.text, secretHash: key.primary, token: registration.token,
                bundleID: registration.bundleID, environment: registration.environment,
                createdAt: old?.createdAt ?? registration.at, updatedAt: registration.at,
                details: merged(old?.details, registration.details))
            if let index { state.devices[index] = device } else { state.devices.append(device) }
            return index == nil ? .created : .updated
        }
    }

    /// What is given replaces what was there.
    private func merged(_ old: DeviceDetails?, _ new: DeviceDetails) -> DeviceDetails {
        DeviceDetails(
            deviceName: new.deviceName ?? old?.deviceName, deviceModel: new.deviceModel ?? old?.deviceModel,
            osVersion: new.osVersion ?? old?.osVersion, appVersion: new.appVersion ?? old?.appVersion,
            preferences: new.preferences ?? old?.preferences,
            sealedVersions: new.sealedVersions ?? old?.sealedVersions,
            installationID: new.installationID ?? old?.installationID, webPush: new.webPush)
    }

    func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        try checked { state in
            let before = state.devices.count
            state.devices.removeAll { $0.secretHash == key.primary && $0.token == token }
            return state.devices.count < before
        }
    }

    func devices(of key: SecretKey) async throws(StorageError) -> [Device] {
        await state.withLock(\.devicesGate)?.pass()
        return try checked { state in
            state.lookups += 1
            return key.once(state.devices.filter { key.hashes.contains($0.secretHash) })
        }
    }

    func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool {
        try checked { state in
            guard let index = state.devices.firstIndex(where: { $0.id == device.id }) else { return false }
            let old = state.devices[index]
            state.devices[index] = Device(
                id: old.id, secretHash: old.secretHash, token: old.token, bundleID: old.bundleID,
                environment: environment, createdAt: old.createdAt, updatedAt: old.updatedAt)
            return true
        }
    }

    func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        await state.withLock(\.removeGate)?.pass()
        return try checked { state in
            state.pendingAtRemoval.append(state.pending.count { $0.push.deviceID == device.id })
            let before = state.devices.count + state.tokens.count
            if device.details.tokenKind == nil {
                state.devices.removeAll { $0.id == device.id && $0.updatedAt <= time }
            } else {
                state.tokens.removeAll { $0.id == device.id && $0.updatedAt <= time }
            }
            return state.devices.count + state.tokens.count < before
        }
    }

    func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError) {
        await state.withLock(\.appendGate)?.pass()
        try checked { state throws(StorageError) in
            state.batches.append(deliveries.count)
            if !state.appendFailures.isEmpty { throw state.appendFailures.removeFirst() }
            if let failure = state.writeFailure { throw failure }
            try state.checkLog(deliveries)
            let present = isRepeated ? Set(state.deliveries.map(\.id)) : []
            state.deliveries += deliveries.filter { !present.contains($0.id) }.flatMap(\.singles)
            if state.losesConfirmation {
                state.losesConfirmation = false
                throw .unconfirmed(logDetail: "x")
            }
        }
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery] {
        try checked { state in Array(state.deliveries.filter { $0.secretHash == key.primary }.prefix(limit)) }
    }

    func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) async throws(StorageError) -> [String: SentCount] {
        try checked { state throws(StorageError) in
            if let failure = state.countFailure { throw failure }
            state.sentCounts += 1
            var counts: [String: SentCount] = [:]
            for row in state.deliveries
            where row.secretHash == key.primary && (start..<end).contains(row.createdAt)
                && row.status == .sent
            {
                guard let id = row.deviceID else { continue }
                counts[id, default: SentCount()].all += 1
                if row.createdAt >= recent { counts[id, default: SentCount()].recent += 1 }
            }
            return counts
        }
    }

    func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult {
        try checked { state in
            state.claims += 1
            let found = state.receipts.first {
                $0.claim.key == event.key && $0.claim.eventID.utf8.elementsEqual(event.eventID.utf8)
            }
            guard let found else {
                state.receipts.append(Receipt(claim: event))
                return .claimed
            }
            guard found.claim.content == event.content else { return .conflict }
            return found.answer.map { .answered($0) } ?? .inProgress
        }
    }

    func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool {
        try checked { state throws(StorageError) in
            if !state.completeFailures.isEmpty { throw state.completeFailures.removeFirst() }
            guard let index = state.receipts.firstIndex(where: { $0.claim.id == event.id }) else {
                return false
            }
            state.receipts[index].answer = answer
            return true
        }
    }

    func release(_ event: EventClaim) async throws(StorageError) {
        try checked { state in state.receipts.removeAll { $0.claim.id == event.id } }
    }

    func ping(
        now: @escaping @Sendable () -> EpochMilliseconds
    ) async throws(StorageError) -> ClockReading? {
        await state.withLock(\.pingGate)?.pass()
        return try checked { state in
            state.clockAhead.map { ClockReading(server: now() - $0, local: now()) }
        }
    }

    func tryWriting(id: UUIDv7, at now: EpochMilliseconds) async throws(StorageError) {
        state.withLock { $0.trials += 1 }
        await state.withLock(\.trialGate)?.pass()
        try checked { state throws(StorageError) in
            if let failure = state.writeFailure ?? state.logFailure { throw failure }
        }
    }

    func schemaVersion() async throws(StorageError) -> Int {
        try checked { _ in SchemaStep.current }
    }

    func close() async {
        state.withLock { $0.isClosed = true }
    }
}

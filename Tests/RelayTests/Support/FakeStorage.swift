import Network
import Storage

/// A database in memory that fails, waits and counts calls when it is told to.
final class FakeStorage: SQLStorage {
    struct State {
        /// The rows; see `FakeStorage+rows.swift`.
        let memory: MemoryStorage
        /// Sizes of the batches of `note`, failed ones too.
        var agentBatches: [Int] = []
        /// Where calls to `note` wait before they begin.
        var agentGate: Gate?
        /// How schedules were to be ended, failed calls too.
        var scheduleEnds: [ScheduleEnd] = []
        /// Thrown by the next calls to `settle` a schedule, one each.
        var scheduleFailures: [StorageError] = []
        /// Thrown by the next calls to `create` a schedule, one each.
        var createFailures: [StorageError] = []
        /// Calls to `nextScheduleDue`.
        var scheduleLooks = 0
        /// Calls to `take`.
        var takes = 0
        /// Calls to `devices(of:)`.
        var lookups = 0
        /// Calls to `accessToken`.
        var tokenLookUps = 0
        /// Calls to `deliveries`.
        var deliveryReads = 0
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
        /// Calls to `blockedSecrets`.
        var blockReads = 0
        /// Sizes of the batches of `add`, failed ones too.
        var historyBatches: [Int] = []
        /// Where calls to `add` wait before they begin.
        var historyGate: Gate?
        /// Thrown by the next calls to `add`, one each.
        var historyFailures: [StorageError] = []
        /// How many events each call to `acknowledgements` asked for, failed ones too.
        var acknowledgementReads: [Int] = []
        /// Thrown by every call to `prune` for the table until it is taken away.
        var pruneFailures: [ExpiringTable: StorageError] = [:]
    }

    let memory: MemoryStorage
    let state: Lock<State>

    init() {
        let memory = MemoryStorage()
        self.memory = memory
        state = Lock(State(memory: memory))
    }

    var claimRounds: Guarded<ClaimRounds> { memory.claimRounds }
    var load: StorageLoad { memory.load }

    func read<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try await StorageCalls.observed(call) { () async throws(StorageError) in
            try check { _ in }
            return try memory.run(body)
        }
    }

    func write<Output: Sendable>(
        _ call: StaticString, _ body: @escaping @Sendable (SQLSession) throws(SQLFailure) -> Output
    ) async throws(StorageError) -> Output {
        try check { _ in }
        return try memory.run(body)
    }

    /// Begins a call: waits at its gate, and throws if calls fail.
    ///
    /// - Parameter body: Counts the call, or throws what it shall.
    func begin(
        at gate: KeyPath<State, Gate?>,
        _ body: (inout State) throws(StorageError) -> Void = { _ in }
    ) async throws(StorageError) {
        await state.withLock { $0[keyPath: gate] }?.pass()
        try check(body)
    }

    /// Begins a call that waits for no gate.
    func check(_ body: (inout State) throws(StorageError) -> Void) throws(StorageError) {
        let result: Result<Void, StorageError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            do throws(StorageError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// A device under a key, as if it had been registered at a time; the one that is there, if any.
    @discardableResult
    func add(
        _ token: String, under key: SecretKey, bundle: String = "org.example.app",
        environment: DeviceEnvironment = .production, at time: EpochMilliseconds = 1000
    ) -> Device {
        state.withLock { state in
            if let known = state.device(token, under: key) { return known }
            let device = Device(
                id: "device-\(state.deviceCount)", secretHash: key.primary, token: token, bundleID: bundle,
                environment: environment, createdAt: time, updatedAt: time)
            state.insert([device])
            return device
        }
    }

    func close() async {
        state.withLock { $0.isClosed = true }
    }
}

extension FakeStorage.State {
    /// Throws where the log, or one of these rows, is refused.
    func checkLog(_ rows: [Delivery]) throws(StorageError) {
        guard !rows.isEmpty else { return }
        if let logFailure { throw logFailure }
        for row in rows { if let failure = refusedRows[row.id] { throw failure } }
    }

    /// Throws where one of these ends, or its row in the log, is refused.
    func checkEnds(_ settlements: [Settlement], logging: Bool) throws(StorageError) {
        if let settleFailure { throw settleFailure }
        for settlement in settlements {
            if let failure = refusedEnds[settlement.id] { throw failure }
            if logging, case .over(let delivery) = settlement.end { try checkLog([delivery]) }
        }
    }
}

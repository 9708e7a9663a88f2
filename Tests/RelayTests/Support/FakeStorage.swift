import Network
import Storage

/// An in-memory database that fails, waits and counts calls as tests require.
final class FakeStorage: SQLStorage {
    struct State {
        /// The rows; see `FakeStorage+rows.swift`.
        let memory: MemoryStorage
        /// Sizes of the batches in calls to `note`, including failed calls.
        var agentBatches: [Int] = []
        /// Where calls to `note` wait before they begin.
        var agentGate: Gate?
        /// The ends passed to calls that end schedules, including failed calls.
        var scheduleEnds: [ScheduleEnd] = []
        /// Errors for the next calls to `settle` a schedule, one per call.
        var scheduleFailures: [StorageError] = []
        /// Errors for the next calls to `create` a schedule, one per call.
        var createFailures: [StorageError] = []
        /// Number of calls to `nextScheduleDue`.
        var scheduleLooks = 0
        /// Number of calls to `take`.
        var takes = 0
        /// Number of calls to `devices(of:)`.
        var lookups = 0
        /// Number of calls to `accessToken`.
        var tokenLookUps = 0
        /// Number of calls to `deliveries`.
        var deliveryReads = 0
        /// Number of calls to `countSent`.
        var sentCounts = 0
        /// Error for every call to `countDevices` until it is reset.
        var countFailure: StorageError?
        /// Number of calls to `countDevices`.
        var deviceCounts = 0
        /// Where the calls to `pruneLocks` began; every third call is at the end.
        var lockWalks: [String] = []
        /// How far the relay's clock is ahead of the database's; nil for a file.
        var clockAhead: EpochMilliseconds?
        /// Number of calls to `claim`.
        var claims = 0
        /// Error for every call until it is reset.
        var failure: StorageError?
        /// Errors for the next calls to `append`, one per call.
        var appendFailures: [StorageError] = []
        /// Errors for the next calls to `complete`, one per call.
        var completeFailures: [StorageError] = []
        /// Sizes of the batches in calls to `append`, including failed calls.
        var batches: [Int] = []
        var isClosed = false
        /// Number of expired rows that `prune` still finds, besides those in the history.
        var expired: [ExpiringTable: Int] = [:]
        /// The steps passed to `prune`, including failed calls.
        var prunes: [PruneRound.Step] = []
        /// Errors for the next calls to `enqueue` and `settle`, one per call.
        var queueFailures: [StorageError] = []
        /// The scopes passed to calls to `claimPushes`.
        var claimScopes: [ClaimScope] = []
        /// Where calls to `ping` wait before they begin.
        var pingGate: Gate?
        var appendGate: Gate?
        var devicesGate: Gate?
        var claimGate: Gate?
        var enqueueGate: Gate?
        var removeGate: Gate?
        /// Errors for the next calls to `nextPushDue`, one per call.
        var dueFailures: [StorageError] = []
        /// Errors for the next calls to `pushes`, one per call.
        var listFailures: [StorageError] = []
        /// Sizes of the batches in calls to `settle`, including failed calls.
        var settled: [Int] = []
        /// For each call to `enqueue`, whether it said that it repeats an earlier call.
        var areEnqueuesRepeated: [Bool] = []
        /// Whether calls to `enqueue`, or the next one to `append`, store their rows but fail as unconfirmed.
        var losesConfirmation = false
        /// The number of ends in one call above which the call takes too long.
        var settlementsMax = Int.max
        /// Error for every call that writes to the delivery log, until it is reset.
        var logFailure: StorageError?
        /// Errors for calls that write a log row, by the row's ID.
        var refusedRows: [String: StorageError] = [:]
        /// Errors for calls that end a push, by the push's ID.
        var refusedEnds: [String: StorageError] = [:]
        /// Error for every call to `settle`, until it is reset.
        var settleFailure: StorageError?
        /// For each call to `remove`, how many pushes were waiting for the device.
        var pendingAtRemoval: [Int] = []
        /// Error for every call that writes, until it is reset.
        var writeFailure: StorageError?
        /// Number of calls to `tryWriting`.
        var trials = 0
        /// Where calls to `tryWriting` wait before they begin.
        var trialGate: Gate?
        /// Number of calls to `blockedSecrets`.
        var blockReads = 0
        /// Sizes of the batches in calls to `add`, including failed calls.
        var historyBatches: [Int] = []
        /// Where calls to `add` wait before they begin.
        var historyGate: Gate?
        /// Errors for the next calls to `add`, one per call.
        var historyFailures: [StorageError] = []
        /// Number of events in each call to `acknowledgements`, including failed calls.
        var acknowledgementReads: [Int] = []
        /// Errors for every call to `prune`, by table, until they are reset.
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

    /// Begins a call: waits at its gate, and throws if calls are to fail.
    ///
    /// - Parameter body: Counts the call, or throws its error.
    func begin(
        at gate: KeyPath<State, Gate?>,
        _ body: (inout State) throws(StorageError) -> Void = { _ in }
    ) async throws(StorageError) {
        await state.withLock { $0[keyPath: gate] }?.pass()
        try check(body)
    }

    /// Begins a call that doesn't wait at a gate.
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

    /// Adds a device as if it had been registered at a time, unless the key has it already; returns the device.
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
    /// Throws if the log, or one of these rows, is refused.
    func checkLog(_ rows: [Delivery]) throws(StorageError) {
        guard !rows.isEmpty else { return }
        if let logFailure { throw logFailure }
        for row in rows { if let failure = refusedRows[row.id] { throw failure } }
    }

    /// Throws if one of these ends, or its row in the log, is refused.
    func checkEnds(_ settlements: [Settlement], logging: Bool) throws(StorageError) {
        if let settleFailure { throw settleFailure }
        for settlement in settlements {
            if let failure = refusedEnds[settlement.id] { throw failure }
            if logging, case .over(let delivery) = settlement.end { try checkLog([delivery]) }
        }
    }
}

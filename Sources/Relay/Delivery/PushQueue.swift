import Network
import Storage

/// The pushes that wait in the database, as the pushes of this process see them: stores them and writes their ends.
///
/// Ends are written in batches and tried again while the database is away: until an end is written the row is leased,
/// and when the lease runs out another attempt is made, which a push that was delivered must not have.
final class PushQueue: Sendable {
    /// The queue's bounds and waits.
    struct Options: Sendable {
        /// Pushes of one secret that may wait.
        var perSecretMax = 20_000
        /// Pushes of all secrets that may wait; zero stores none.
        ///
        /// It is held with a count that is some seconds old, each process with its own.
        var totalMax = 200_000
        /// When a push is tried again.
        var schedule = RetrySchedule()
        /// How long sending one push can take, with all its attempts.
        var workMax: Duration = .seconds(29)
        /// Waits before ends are written, so that they share transactions, and after a failure.
        var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }

        /// How long a lease is: what sending can take and the wait for it, beyond how far clocks may differ.
        var leaseTime: Duration { Bounds.clockSkewMax + workMax + Bounds.retryWaitMax }
    }

    /// What became of a push that was to be stored.
    enum Result: Equatable {
        case queued
        /// Why not, in a word for the answer and the log.
        case refused(reason: String)
    }

    /// The end of a hold, and what is to be done with the registration once it is written.
    struct End: Sendable {
        var settlement: Settlement
        /// A registration to remove unless it is newer.
        ///
        /// After the end, because the device's rows go with it.
        var removal: Removal?

        struct Removal: Sendable {
            var device: Device
            var ifNotUpdatedAfter: EpochMilliseconds
            /// When the push ended.
            var at: EpochMilliseconds
        }
    }

    struct State {
        var ends: [End] = []
        /// Ends that were taken out to be written and are not yet.
        var inHand = 0
        /// How many are written at once.
        var batchMax = Bounds.settlementsPerBatchMax
        var isFinished = false
        /// How it stands; of what waits in all, about how many.
        var figures = Figures()
        /// When the worker will look next by itself, and how it is told to look earlier.
        var nextLook: EpochMilliseconds = .max
        var wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?
        var endsWritten: (@Sendable () -> Void)?
        /// When the clock was set forward last.
        var clockSetForwardAt: MonotonicTime?
    }

    let options: Options
    let storage: any Storage
    let log: Log
    let state = Lock(State())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// A queue over a database; ends are not written before ``run()``.
    init(storage: any Storage, log: Log, options: Options = Options()) {
        self.storage = storage
        self.log = log
        self.options = options
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A lease that begins now.
    func lease(owner: UUIDv7, at now: EpochMilliseconds) -> PushLease {
        PushLease(owner: owner, until: now + options.leaseTime.inMilliseconds)
    }

    // MARK: Storing

    /// Stores pushes; a result for each, in their order.
    func store(_ pushes: [PendingPush], lease: PushLease?) async -> [Result] {
        guard !pushes.isEmpty else { return [] }
        let hasRoom = state.withLock { $0.figures.waiting + pushes.count <= options.totalMax }
        guard hasRoom else { return pushes.map { _ in .refused(reason: Self.queueFull) } }
        do throws(StorageError) {
            let results = try await storage.enqueue(
                pushes, lease: lease, limitPerSecret: options.perSecretMax)
            note(pushes, results, isLeased: lease != nil)
            return results.map { result in
                switch result {
                case .queued: .queued
                case .secretFull: .refused(reason: Self.queueFull)
                case .deviceGone: .refused(reason: Self.deviceRemoved)
                }
            }
        } catch {
            log(.error, "queue.failed", [.count("pushes", pushes.count), .storageError(error)])
            return pushes.map { _ in .refused(reason: Self.queueUnavailable) }
        }
    }

    /// Counts what was stored, and has the worker look when the first of it is due.
    private func note(_ pushes: [PendingPush], _ results: [EnqueueResult], isLeased: Bool) {
        let due = zip(pushes, results).filter { $0.1 == .queued }.map(\.0.dueAt).min()
        let wakeWorker = state.withLock { state -> (@Sendable (EpochMilliseconds) -> Void)? in
            state.figures.waiting += results.count { $0 == .queued }
            guard !isLeased, let due else { return nil }
            state.figures.oldestDue = min(due, state.figures.oldestDue ?? due)
            guard due < state.nextLook else { return nil }
            state.nextLook = due
            return state.wakeWorker
        }
        if let due { wakeWorker?(due) }
    }

    /// The reason of a push that can't wait because as many do as may.
    static let queueFull = "QueueFull"
    /// The reason of a push that can't wait because the database doesn't take it.
    static let queueUnavailable = "QueueUnavailable"
    /// The reason of a push whose device left before it could be sent.
    static let deviceRemoved = Delivery.deviceRemoved
    /// The reason of a push that APNs could not take until its time was over.
    static let expired = "Expired"

    // MARK: The worker's side

    /// Has the worker told when something is stored that is due before it looks.
    func onEarlierPush(_ wakeWorker: (@Sendable (EpochMilliseconds) -> Void)?) {
        state.withLock { $0.wakeWorker = wakeWorker }
    }

    /// Has the worker told when ends were written.
    func onEndsWritten(_ endsWritten: (@Sendable () -> Void)?) {
        state.withLock { $0.endsWritten = endsWritten }
    }

    /// How many ends are not written yet.
    var unwrittenEnds: Int { state.withLock { $0.ends.count + $0.inHand } }

    /// Notes when the worker will look next.
    func workerLooks(at time: EpochMilliseconds) {
        state.withLock { $0.nextLook = time }
    }

    /// Notes how many pushes wait in all.
    func noteWaiting(_ count: Int) {
        state.withLock { $0.figures.waiting = count }
    }

    /// Notes when the next of those that nobody holds is due, which may be long ago.
    func noteOldestDue(_ time: EpochMilliseconds?) {
        state.withLock { $0.figures.oldestDue = time }
    }

    // MARK: Ends

    /// Takes the end of a hold to be written; never waits.
    func end(_ end: End) {
        let (isFirst, isDropped) = state.withLock { state in
            guard state.ends.count + state.inHand < Bounds.settlementsWaitingMax, !state.isFinished else {
                return (false, true)
            }
            state.ends.append(end)
            state.figures.count(end.settlement.end)
            return (state.ends.count == 1, false)
        }
        if isDropped { log(.error, "queue.end_lost", [.secretHash(end.settlement.secretHash)]) }
        if isFirst { wake.yield() }
    }

    /// Writes ends as they come, until ``finish()``; then what is left, and returns.
    func run() async {
        for await _ in wakeUps {
            await options.pause(Bounds.settlementsGatherTime)
            await writeAll()
        }
        await writeAll()
    }

    /// Ends ``run()``; ends that come later are lost, and their rows come back when the leases run out.
    func finish() {
        state.withLock { $0.isFinished = true }
        wake.finish()
    }

    private func writeAll() async {
        while true {
            let batch = state.withLock { state in
                let batch = Array(state.ends.prefix(state.batchMax))
                state.ends.removeFirst(batch.count)
                state.inHand = batch.count
                return batch
            }
            guard !batch.isEmpty else { return }
            await write(batch)
            state.withLock { state in
                state.inHand = 0
                return state.endsWritten
            }?()
        }
    }

    /// Writes a batch; a failure that may pass is tried again for as long as the process runs.
    ///
    /// What took too long comes back as the first of the ends, and fewer are written at once.
    private func write(_ batch: [End]) async {
        var delay = Bounds.settlementsRetryDelayMin
        var attemptsAfterFinish = 0
        while true {
            do throws(StorageError) {
                let held = try await storage.settle(batch.map(\.settlement))
                let lost = held.count { !$0 }
                if lost > 0 { log(.debug, "queue.not_held", [.count("pushes", lost)]) }
                state.withLock { $0.batchMax = min(2 * $0.batchMax, Bounds.settlementsPerBatchMax) }
                break
            } catch {
                if state.withLock(\.isFinished) { attemptsAfterFinish += 1 }
                let goesOn =
                    error.isTransient && attemptsAfterFinish <= Bounds.settlementsAttemptsAtEnd
                log(
                    goesOn ? .warning : .error, goesOn ? "queue.end_delayed" : "queue.end_lost",
                    [.count("pushes", batch.count), .storageError(error)])
                guard goesOn else { break }
                if case .timeout = error, batch.count > 1 { return splitNext(batch) }
            }
            await options.pause(delay)
            delay = min(delay * 2, Bounds.settlementsRetryDelayMax)
        }
        await remove(batch.compactMap(\.removal))
    }

    private func splitNext(_ batch: [End]) {
        state.withLock { state in
            state.ends.insert(contentsOf: batch, at: 0)
            state.inHand = 0
            state.batchMax = batch.count / 2
        }
    }

    private func remove(_ removals: [End.Removal]) async {
        for removal in removals {
            do throws(StorageError) {
                let bound = removal.device.removalBound(removal.ifNotUpdatedAfter)
                if try await storage.remove(removal.device, ifNotUpdatedAfter: bound, at: removal.at) {
                    state.withLock { $0.figures.devicesRemoved += 1 }
                }
            } catch {
                log(.warning, "registration.unchanged", [.storageError(error)])
            }
        }
    }
}

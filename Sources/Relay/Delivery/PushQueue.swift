import Network
import Storage

/// The pushes that wait in the database, as the pushes of this process see them: stores them and writes their ends.
///
/// Ends are written in batches and tried again while the database doesn't take them: until an end is written the row is
/// leased, and when the lease runs out another attempt is made, which a push that was delivered must not have.
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
        /// For how long pushes are tried to be stored again when it isn't known whether they are.
        var confirmTime: Duration = .seconds(5)
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
        /// The database didn't say in time whether it stored it.
        case unconfirmed
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
        var unwritten = UnwrittenEnds()
        /// Whether it is time to try refused ends again.
        var triesRefused = false
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
    /// Where the rows of ends go that can't be written with them.
    let deliveryLog: DeliveryLog
    let log: Log
    let state = Lock(State())
    let wakeUps: AsyncStream<Void>
    let wake: AsyncStream<Void>.Continuation
    /// One for each time that ends were refused and are to be tried again.
    let refusals: AsyncStream<Void>
    let refusal: AsyncStream<Void>.Continuation

    /// A queue over a database; ends are not written before ``run()``.
    init(storage: any Storage, deliveryLog: DeliveryLog, log: Log, options: Options = Options()) {
        self.storage = storage
        self.deliveryLog = deliveryLog
        self.log = log
        self.options = options
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (refusals, refusal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
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
        var isRepeated = false
        let end = MonotonicTime.current + options.confirmTime
        var delay = Bounds.enqueueRetryDelayMin
        while true {
            do throws(StorageError) {
                let results = try await storage.enqueue(
                    pushes, lease: lease, limitPerSecret: options.perSecretMax, isRepeated: isRepeated)
                note(pushes, results, isLeased: lease != nil)
                return results.map { Result($0) }
            } catch {
                if case .unconfirmed = error { isRepeated = true }
                guard isRepeated, error.isTransient, MonotonicTime.current < end else {
                    log(.error, "queue.failed", [.count("pushes", pushes.count), .storageError(error)])
                    return pushes.map { _ in
                        isRepeated ? .unconfirmed : .refused(reason: Self.queueUnavailable)
                    }
                }
            }
            await options.pause(delay)
            delay = min(delay * 2, Bounds.enqueueRetryDelayMax)
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
    /// The reason of a push that may wait: the database didn't confirm that it took it.
    static let queueUnconfirmed = "QueueUnconfirmed"
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
    var unwrittenEnds: Int { state.withLock(\.unwritten.count) }

    /// Whether a push that was claimed is over, as far as this process knows; then its end is written under this lease.
    func isOver(_ push: PendingPush, owner: UUIDv7) -> Bool {
        let isOver = state.withLock { $0.unwritten.reclaimed(push, owner: owner) }
        if isOver { wake.yield() }
        return isOver
    }

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
}

extension PushQueue.Result {
    /// What the database made of a push.
    fileprivate init(_ result: EnqueueResult) {
        self =
            switch result {
            case .queued: .queued
            case .secretFull: .refused(reason: PushQueue.queueFull)
            case .deviceGone: .refused(reason: PushQueue.deviceRemoved)
            }
    }
}

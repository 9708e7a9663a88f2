import Delays
import Network
import Programs
import Storage

/// The queue of stored pushes as used by this process: stores pushes and writes their ends.
///
/// Ends are written in batches and retried until the database accepts them. Until its end is written, a push's
/// row stays leased; once the lease expires, the row can be claimed again although the push may have been
/// delivered.
final class PushQueue: Sendable {
    /// Limits and delays.
    struct Options: Sendable {
        /// Maximum queued pushes per secret.
        var perSecretMax = 20_000
        /// Maximum queued pushes of all secrets; zero disables the queue.
        ///
        /// Compared with a count that each process keeps for itself and that may be a few seconds old.
        var totalMax = 200_000
        /// Maximum total size of all queued pushes' payloads, in bytes; checked like `totalMax`.
        var bytesMax = 512 << 20
        /// The back-off schedule.
        var schedule = RetrySchedule()
        /// How long sending one push can take, including all immediate attempts.
        var workMax: Duration = .seconds(29)
        /// How long storing an unconfirmed push is retried before the push is reported as unconfirmed.
        var confirmTime: Duration = .seconds(5)
        /// Waits before ends are written, so that they share transactions, and after a failure.
        var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }

        /// The length of a lease: clock skew, sending time and waiting time.
        var leaseTime: Duration { Bounds.clockSkewMax + workMax + Bounds.retryWaitMax }
    }

    /// The result of storing a push.
    enum Result: Equatable {
        case queued
        /// Not stored; `reason` is for the response and the log.
        case refused(reason: String)
        /// The database didn't confirm in time whether it stored the push.
        case unconfirmed
    }

    /// The end of a lease, and the registration to remove once the end is written.
    struct End: Sendable {
        var settlement: Settlement
        /// The registration to remove unless it has been updated since.
        ///
        /// The registration is removed after the end is written, because the device's rows are removed with it.
        var removal: Removal?

        struct Removal: Sendable {
            var device: Device
            var ifNotUpdatedAfter: EpochMilliseconds
            /// When the push ended.
            var at: EpochMilliseconds
        }
    }

    struct State: BatchBuffer {
        var unwritten = UnwrittenEnds()
        /// Whether it is time to retry refused ends.
        var triesRefused = false
        var isFinished = false
        /// The queue's state; its totals are approximate.
        var figures = Figures()
        var endsWritten: (@Sendable () -> Void)?
        /// When the clock was last set forward.
        var clockSetForwardAt: MonotonicTime?

        mutating func takeBatch() -> UnwrittenEnds.Batch? { unwritten.next() }
    }

    let options: Options
    let storage: any QueueStorage & RegistrationStorage
    /// Writes the log rows that can't be written together with their ends.
    let deliveryLog: DeliveryLog
    let log: Log
    let writer = BatchWriter(State())
    /// Wakes the worker for pushes that it would otherwise send late.
    let alarm = DueAlarm()
    /// Fires when refused ends should be retried.
    let refusals: AsyncStream<Void>
    let refusal: AsyncStream<Void>.Continuation

    /// Creates a queue on a database; no ends are written before ``run()``.
    init(
        storage: any QueueStorage & RegistrationStorage, deliveryLog: DeliveryLog, log: Log,
        options: Options = Options()
    ) {
        self.storage = storage
        self.deliveryLog = deliveryLog
        self.log = log
        self.options = options
        (refusals, refusal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A lease that starts now.
    func lease(owner: UUIDv7, at now: EpochMilliseconds) -> PushLease {
        PushLease(owner: owner, until: now + options.leaseTime.inMilliseconds)
    }

    // MARK: Storing

    /// Stores pushes and returns a result for each, in order.
    func store(_ pushes: [PendingPush], lease: PushLease?) async -> [Result] {
        guard !pushes.isEmpty else { return [] }
        let bytes = pushes.reduce(0) { $0 + $1.payload.count }
        let hasRoom = writer.withBuffer { state in
            state.figures.waiting + pushes.count <= options.totalMax
                && state.figures.waitingBytes + bytes <= options.bytesMax
        }
        guard hasRoom else { return pushes.map { _ in .refused(reason: FailureReason.queueFull) } }
        var isRepeated = false
        let end = MonotonicTime.current + options.confirmTime
        var backOff = Bounds.enqueueBackOff
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
                        isRepeated ? .unconfirmed : .refused(reason: FailureReason.queueUnavailable)
                    }
                }
            }
            await options.pause(backOff.next())
        }
    }

    /// Counts stored pushes and wakes the worker when the first of them is due.
    private func note(_ pushes: [PendingPush], _ results: [EnqueueResult], isLeased: Bool) {
        let due = zip(pushes, results).filter { $0.1 == .queued }.map(\.0.dueAt).min()
        writer.withBuffer { state in
            for (push, result) in zip(pushes, results) where result == .queued {
                state.figures.waiting += 1
                state.figures.waitingBytes += push.payload.count
            }
            guard !isLeased, let due else { return }
            state.figures.oldestDue = min(due, state.figures.oldestDue ?? due)
        }
        if let due, !isLeased { alarm.ring(at: due) }
    }

    // MARK: The worker's interface

    /// Registers a callback that is called after ends have been written.
    func onEndsWritten(_ endsWritten: (@Sendable () -> Void)?) {
        writer.withBuffer { $0.endsWritten = endsWritten }
    }

    /// The number of unwritten ends.
    var unwrittenEnds: Int { writer.withBuffer(\.unwritten.count) }

    /// Approximate end time of the oldest push whose end isn't in the database yet.
    var unwrittenSince: EpochMilliseconds? { writer.withBuffer(\.unwritten.oldest) }

    /// Whether a claimed push has already ended.
    ///
    /// If so, its end is written under the new lease and the push must not be sent.
    func isOver(_ push: PendingPush, owner: UUIDv7) -> Bool {
        writer.add { $0.unwritten.reclaimed(push, owner: owner) }
    }

    /// Records the queue's size.
    func noteWaiting(_ size: QueueSize) {
        writer.withBuffer { state in
            state.figures.waiting = size.pushes
            state.figures.waitingBytes = size.bytes
        }
    }

    /// Records when the oldest unleased push is due; the time may be in the past.
    func noteOldestDue(_ time: EpochMilliseconds?) {
        writer.withBuffer { $0.figures.oldestDue = time }
    }
}

extension PushQueue.Result {
    /// The result for the event's response.
    fileprivate init(_ result: EnqueueResult) {
        self =
            switch result {
            case .queued: .queued
            case .secretFull: .refused(reason: FailureReason.queueFull)
            case .deviceGone: .refused(reason: FailureReason.deviceRemoved)
            }
    }
}

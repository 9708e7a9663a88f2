import Delays
import Network
import Storage

/// Writes the delivery log in batches, so that responses don't wait for it.
///
/// The buffer is bounded. While it is nearly full and rows are being written, callers delay their responses
/// (``isCrowded``), which slows senders down. Rows that don't fit are dropped and counted, because a push must not wait
/// for its log row. The bounds and figures count pushes; a row may stand for several. While the database can't be
/// written to, rows stay buffered as long as they fit.
final class DeliveryLog: Sendable {
    /// Limits and delays.
    struct Options: Sendable {
        /// Which results are written.
        var kept = LoggedDeliveries.all
        /// Maximum buffered pushes.
        var waitingMax = Bounds.deliveriesWaitingMax
        /// Buffered pushes that make the log crowded.
        var crowdedAt = Bounds.deliveriesCrowded
        /// Maximum time that a response waits while the log is crowded.
        var delayMax = Bounds.deliveriesDelayMax
        /// Maximum rows per transaction; once this many pushes are buffered, they are written without waiting for more.
        var batchMax = Bounds.deliveriesPerBatchMax
        /// Waits before rows are written, so that they share transactions, and after a failure.
        var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }
    }

    private struct Rows {
        var rows: [Delivery]
        /// End time of the oldest push, which isn't necessarily the first.
        var since: EpochMilliseconds

        mutating func add(_ row: consuming Delivery) {
            since = min(since, row.createdAt)
            rows.append(row)
        }
    }

    private struct Waiting: BatchBuffer {
        let options: Options
        /// Batches to write, of which all but the last are full; rows never move between them.
        var batches: [Rows] = []
        /// The number of pushes in ``batches``.
        var count = 0
        /// Pushes taken out for writing but not written yet.
        var inHand = 0
        /// End time of the oldest push taken out for writing.
        var inHandSince: EpochMilliseconds?
        var dropped = 0
        /// Pushes that were never written, in total.
        var lost: UInt64 = 0
        /// Consecutive refusals by the database.
        var refusals = 0
        /// Whether the latest attempt to write failed with a temporary error.
        var isStalled = false
        var isFinished = false

        /// Pushes not in the database yet.
        var unwritten: Int { count + inHand }
        /// Whether to write now instead of waiting for more rows.
        var hasFullBatch: Bool { count >= options.batchMax || isFinished }

        mutating func add(_ row: consuming Delivery) {
            let pushes = row.pushCount
            guard !isFinished, unwritten + pushes <= options.waitingMax else {
                dropped += pushes
                lost += UInt64(pushes)
                return
            }
            if batches.isEmpty || batches[batches.count - 1].rows.count >= options.batchMax {
                batches.append(Rows(rows: [], since: row.createdAt))
            }
            batches[batches.count - 1].add(row)
            count += pushes
        }

        /// Takes the oldest batch, which may be empty, and the number of pushes dropped since the last batch.
        mutating func takeBatch() -> (rows: [Delivery], dropped: Int)? {
            guard !batches.isEmpty || dropped > 0 else { return nil }
            let batch: Rows? = batches.isEmpty ? nil : batches.removeFirst()
            inHand = batch?.rows.pushCount ?? 0
            inHandSince = batch?.since
            count -= inHand
            defer { dropped = 0 }
            return (batch?.rows ?? [], dropped)
        }
    }

    private let storage: any DeliveryLogStorage & DatabaseStatus
    private let log: Log
    private let writes: WriteWatch
    private let options: Options
    private let writer: BatchWriter<Waiting>

    /// An empty log; nothing is written before ``run()``.
    init(
        storage: any DeliveryLogStorage & DatabaseStatus, log: Log, writes: WriteWatch? = nil,
        options: Options = Options()
    ) {
        self.storage = storage
        self.log = log
        self.writes = writes ?? WriteWatch(storage: storage, log: log)
        self.options = options
        writer = BatchWriter(Waiting(options: options))
    }

    /// The log's counters.
    struct Figures: Sendable, Equatable {
        /// Pushes not in the database yet.
        var waiting = 0
        var waitingMax = 0
        /// Pushes that were never written.
        var dropped: UInt64 = 0
    }

    var figures: Figures {
        writer.withBuffer {
            Figures(waiting: $0.unwritten, waitingMax: options.waitingMax, dropped: $0.lost)
        }
    }

    /// Approximate end time of the oldest push that isn't in the database yet; `nil` if all are.
    var unwrittenSince: EpochMilliseconds? {
        writer.withBuffer { waiting in
            let oldest = waiting.batches.map(\.since).min()
            return [waiting.inHandSince, oldest].compactMap(\.self).min()
        }
    }

    /// Which results are appended; the ends of queued pushes always are.
    var kept: LoggedDeliveries { options.kept }

    /// Maximum time that a response waits while the log is crowded.
    var delayMax: Duration { options.delayMax }

    /// Whether the buffer is nearly full but is being emptied, so that waiting helps.
    var isCrowded: Bool {
        writer.withBuffer { $0.unwritten >= options.crowdedAt && !$0.isStalled && !$0.isFinished }
    }

    /// Buffers rows; never waits.
    ///
    /// The rows are created in place while the lock is held, so iterating `rows` must not wait.
    func append(_ rows: some Sequence<Delivery>) {
        writer.add { waiting in
            let wasEmpty = waiting.count == 0
            for row in rows { waiting.add(row) }
            return wasEmpty && waiting.count > 0
        }
    }

    /// Writes rows as they arrive until ``finish()``, then writes the rest and returns.
    func run() async {
        await writer.run {
            await gather()
        } write: { batch in
            if batch.dropped > 0 { log(.error, "delivery.dropped", [.count("rows", batch.dropped)]) }
            if !batch.rows.isEmpty { await write(batch.rows) }
            writer.withBuffer { ($0.inHand, $0.inHandSince) = (0, nil) }
        }
    }

    /// Ends ``run()``; later rows are dropped.
    func finish() { writer.finish() }

    /// Waits for a full batch, but only for a limited time.
    private func gather() async {
        var waited: Duration = .zero
        while waited < Bounds.deliveriesGatherTime, !writer.withBuffer({ $0.hasFullBatch }) {
            await options.pause(Bounds.deliveriesGatherStep)
            waited += Bounds.deliveriesGatherStep
        }
    }

    /// Writes one batch.
    ///
    /// If the database refuses the batch, it is halved until the refused rows are found, and the others are written.
    /// After too many consecutive refusals, the rows are unlikely to be the cause: each batch is then tried once and
    /// dropped as a whole.
    private func write(_ batch: [Delivery]) async {
        var lost = (rows: 0, error: StorageError?.none)
        var mayBeThere = false
        // A stack: the next rows to write are on top.
        var left = [batch[...]]
        while let rows = left.popLast() {
            guard let error = await failure(writing: rows, &mayBeThere) else {
                writer.withBuffer { $0.refusals = 0 }
                continue
            }
            let refusals = writer.withBuffer { waiting in
                if !error.isTransient { waiting.refusals += 1 }
                return waiting.refusals
            }
            if !error.isTransient, rows.count > 1, refusals < Bounds.deliveriesRefusedInRowMax {
                let middle = rows.startIndex + rows.count / 2
                left += [rows[middle...], rows[..<middle]]
            } else {
                lost = (lost.rows + rows.pushCount, error)
            }
            guard refusals < Bounds.deliveriesRefusedInRowMax else {
                lost.rows += left.reduce(0) { $0 + $1.pushCount }
                break
            }
        }
        guard let error = lost.error else { return }
        writer.withBuffer { $0.lost += UInt64(lost.rows) }
        log(.error, "delivery.lost", [.count("rows", lost.rows), .storageError(error)])
    }

    /// Writes rows and returns the error if the database refused them.
    ///
    /// While no row can be written, it retries until ``finish()``; new rows are buffered up to the limit.
    ///
    /// - Parameter mayBeThere: Whether an earlier attempt was unconfirmed, so the rows may already be stored.
    private func failure(
        writing rows: ArraySlice<Delivery>, _ mayBeThere: inout Bool
    ) async -> StorageError? {
        var backOff = Bounds.deliveriesBackOff
        var isDelayed = false
        defer {
            if isDelayed { writer.withBuffer { $0.isStalled = false } }
        }
        while true {
            do throws(StorageError) {
                try await storage.append(Array(rows), isRepeated: mayBeThere)
                if isDelayed { log(.info, "delivery.resumed") }
                return nil
            } catch {
                if case .unconfirmed = error { mayBeThere = true }
                guard await mayPass(error), !writer.withBuffer(\.isFinished) else { return error }
                if !isDelayed {
                    writer.withBuffer { $0.isStalled = true }
                    log(.warning, "delivery.delayed", [.count("rows", rows.pushCount), .storageError(error)])
                }
                isDelayed = true
            }
            await options.pause(backOff.next())
        }
    }

    /// Whether the same rows may succeed later because they aren't the cause of the error.
    private func mayPass(_ error: StorageError) async -> Bool {
        guard !error.isTransient else { return true }
        guard error.canBeCured else { return false }
        return await writes.faultNow() != nil
    }
}

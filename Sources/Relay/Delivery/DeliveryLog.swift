import Network
import Storage

/// Writes the delivery log in batches, off the way of the answers.
///
/// What waits is bounded; rows beyond are dropped and counted, because a push must not wait for its log.
final class DeliveryLog: Sendable {
    /// How rows wait and go.
    struct Options: Sendable {
        /// Rows that may wait.
        var waitingMax = Bounds.deliveriesWaitingMax
        /// Rows in one transaction.
        var batchMax = Bounds.deliveriesPerBatchMax
        /// Waits before rows are written, so that they share transactions, and after a failure.
        var pause: @Sendable (Duration) async -> Void = { duration in try? await Task.sleep(for: duration) }
    }

    private struct Waiting {
        var rows: [Delivery] = []
        /// Rows that were taken out to be written and are not yet.
        var inHand = 0
        var dropped = 0
        /// Rows that never came into the database, in all.
        var lost: UInt64 = 0
        var isFinished = false
    }

    private let storage: any Storage
    private let log: Log
    private let options: Options
    private let waiting = Lock(Waiting())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// A log without rows; nothing is written before ``run()``.
    init(storage: any Storage, log: Log, options: Options = Options()) {
        self.storage = storage
        self.log = log
        self.options = options
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// How the log stands.
    struct Figures: Sendable, Equatable {
        /// Rows that are not in the database yet.
        var waiting = 0
        var waitingMax = 0
        /// Rows that never came there.
        var dropped: UInt64 = 0
    }

    /// How the log stands.
    var figures: Figures {
        waiting.withLock {
            Figures(waiting: $0.rows.count + $0.inHand, waitingMax: options.waitingMax, dropped: $0.lost)
        }
    }

    /// Takes rows to be written; never waits.
    func append(_ rows: [Delivery]) {
        let isFirst = waiting.withLock { waiting in
            let wasEmpty = waiting.rows.isEmpty
            let room =
                waiting.isFinished ? 0 : max(0, options.waitingMax - waiting.rows.count - waiting.inHand)
            waiting.rows += rows.prefix(room)
            waiting.dropped += max(0, rows.count - room)
            waiting.lost += UInt64(max(0, rows.count - room))
            return wasEmpty && !waiting.rows.isEmpty
        }
        if isFirst { wake.yield() }
    }

    /// Writes rows as they come, until ``finish()``; then what is left, and returns.
    func run() async {
        for await _ in wakeUps {
            await options.pause(Bounds.deliveriesGatherTime)
            await writeAll()
        }
        await writeAll()
    }

    /// Ends ``run()``; rows that come later are dropped.
    func finish() {
        waiting.withLock { $0.isFinished = true }
        wake.finish()
    }

    /// Writes batch after batch until nothing waits.
    private func writeAll() async {
        while true {
            let (rows, dropped) = waiting.withLock { waiting in
                let taken = (waiting.rows, waiting.dropped)
                waiting.inHand = waiting.rows.count
                waiting.rows = []
                waiting.dropped = 0
                return taken
            }
            if dropped > 0 { log(.error, "delivery.dropped", [.count("rows", dropped)]) }
            guard !rows.isEmpty else { return }
            for start in stride(from: 0, to: rows.count, by: options.batchMax) {
                let batch = Array(rows[start..<min(start + options.batchMax, rows.count)])
                await write(batch)
                waiting.withLock { $0.inHand -= batch.count }
            }
        }
    }

    /// Writes one batch.
    ///
    /// A failure that may pass is tried again while there is time; meanwhile further rows wait within their bound.
    private func write(_ batch: [Delivery]) async {
        var delay = Bounds.deliveriesRetryDelayMin
        for attempt in 1...Bounds.deliveriesAttemptsMax {
            do throws(StorageError) {
                return try await storage.append(batch)
            } catch {
                let isFinished = waiting.withLock(\.isFinished)
                let goesOn = error.isTransient && !isFinished && attempt < Bounds.deliveriesAttemptsMax
                log(
                    goesOn ? .warning : .error, goesOn ? "delivery.delayed" : "delivery.lost",
                    [.count("rows", batch.count), .storageError(error)])
                guard goesOn else {
                    waiting.withLock { $0.lost += UInt64(batch.count) }
                    return
                }
            }
            await options.pause(delay)
            delay = min(delay * 2, Bounds.deliveriesRetryDelayMax)
        }
    }
}

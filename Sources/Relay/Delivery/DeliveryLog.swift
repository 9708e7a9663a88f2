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
        /// What is written together, all but the last full: a row stays where it was put until it is written.
        var batches: [[Delivery]] = []
        var count = 0
        /// Rows that were taken out to be written and are not yet.
        var inHand = 0
        var dropped = 0
        /// Rows that never came into the database, in all.
        var lost: UInt64 = 0
        var isFinished = false

        mutating func add(_ row: consuming Delivery, batchMax: Int) {
            if batches.isEmpty || batches[batches.count - 1].count >= batchMax { batches.append([]) }
            batches[batches.count - 1].append(row)
            count += 1
        }

        /// Hands over what waits, and how many rows were dropped before.
        mutating func takeOut() -> (batches: [[Delivery]], dropped: Int) {
            defer { (batches, inHand, count, dropped) = ([], count, 0, 0) }
            return (batches, dropped)
        }
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
            Figures(waiting: $0.count + $0.inHand, waitingMax: options.waitingMax, dropped: $0.lost)
        }
    }

    /// Takes rows to be written; never waits.
    ///
    /// Each row is made where it stays, with the lock held: `rows` must not wait for anything.
    func append(_ rows: some Sequence<Delivery>) {
        let isFirst = waiting.withLock { waiting in
            let wasEmpty = waiting.count == 0
            let room = waiting.isFinished ? 0 : options.waitingMax - waiting.inHand
            for row in rows {
                if waiting.count < room {
                    waiting.add(row, batchMax: options.batchMax)
                } else {
                    waiting.dropped += 1
                    waiting.lost += 1
                }
            }
            return wasEmpty && waiting.count > 0
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
            let (batches, dropped) = waiting.withLock { $0.takeOut() }
            if dropped > 0 { log(.error, "delivery.dropped", [.count("rows", dropped)]) }
            guard !batches.isEmpty else { return }
            for batch in batches {
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

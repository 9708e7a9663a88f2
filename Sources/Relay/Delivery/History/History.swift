import Network
import Storage

/// Adds sent items to the histories of secrets, in batches.
///
/// While one batch is written, the next one is collected, so that an item waits for at most two transactions. The
/// buffer is bounded, and a push waits only for a limited time. An item that can't be stored is dropped and counted.
final class History: Sendable {
    /// Settings and limits.
    struct Options: Sendable {
        /// How long items are kept.
        var lifetime: Duration
        /// Whether unencrypted titles and texts are kept.
        var keepsText = false
        /// Maximum items waiting to be written.
        var waitingMax = Bounds.historyWaitingMax
        /// Maximum items per transaction.
        var batchMax = Bounds.historyPerBatchMax
        /// Maximum time that a push waits for its item to be stored.
        var waitMax = Bounds.historyWaitMax
    }

    /// The counters.
    struct Figures: Sendable, Equatable {
        /// Items that were stored.
        var stored: UInt64 = 0
        /// Items that were left out because the history already contained an item with the same `eventID`.
        var repeated: UInt64 = 0
        /// Items that were never stored.
        var dropped: UInt64 = 0
        /// Items that were removed because their secret had too many.
        var replaced: UInt64 = 0
        /// Items that were removed after their lifetime.
        var expired: UInt64 = 0
    }

    private struct Entry: Sendable {
        let item: HistoryItem?
        let key: SecretKey
        let isCounted: Bool
        let waiter: Waiter
    }

    private struct State: BatchBuffer {
        let batchMax: Int
        var waiting: [Entry] = []
        var figures = Figures()
        var isFinished = false

        mutating func takeBatch() -> [Entry]? {
            let batch = Array(waiting.prefix(batchMax))
            waiting.removeFirst(batch.count)
            return batch.isEmpty ? nil : batch
        }
    }

    let options: Options
    private let storage: any HistoryStorage
    private let log: Log
    private let writer: BatchWriter<State>

    /// Creates an empty buffer; nothing is written before ``run()``.
    init(storage: any HistoryStorage, log: Log, options: Options) {
        self.storage = storage
        self.log = log
        self.options = options
        writer = BatchWriter(State(batchMax: options.batchMax))
    }

    var figures: Figures { writer.withBuffer(\.figures) }

    /// Counts items that maintenance removed.
    func noteExpired(_ count: Int) {
        writer.withBuffer { $0.figures.expired += UInt64(count) }
    }

    /// Stores an item, if there is one, and returns the number of the secret's unread items, if requested.
    ///
    /// Returns `nil` if the item couldn't be stored, and after `limit`; in the latter case it may be stored later. Call
    /// it on the loop.
    nonisolated(nonsending) func add(
        _ item: HistoryItem?, of key: SecretKey, countingUnread isCounted: Bool, within limit: Duration,
        on loop: EventLoop
    ) async -> Int? {
        var timer: Timer?
        let unread = await withCheckedContinuation { continuation in
            let waiter = Waiter(continuation)
            timer = Timer(on: loop) { waiter.end(nil) }
            timer?.schedule(after: min(limit, options.waitMax))
            put(Entry(item: item, key: key, isCounted: isCounted, waiter: waiter))
        }
        timer?.cancel()
        return unread
    }

    private func put(_ entry: Entry) {
        let isTaken = writer.add { state in
            guard !state.isFinished, state.waiting.count < options.waitingMax else {
                if entry.item != nil { state.figures.dropped += 1 }
                return false
            }
            state.waiting.append(entry)
            return true
        }
        if !isTaken { entry.waiter.end(nil) }
    }

    /// Writes items as they arrive until ``finish()``, then writes the rest and returns.
    func run() async {
        await writer.run { await write($0) }
    }

    /// Ends ``run()``; later items are dropped.
    func finish() { writer.finish() }

    private func write(_ batch: [Entry]) async {
        let items = batch.compactMap { entry in entry.item.map { (item: $0, key: entry.key) } }
        let counted = Set(batch.lazy.filter(\.isCounted).map(\.key))
        do throws(StorageError) {
            let addition = try await storage.add(items, counting: counted)
            writer.withBuffer { state in
                state.figures.stored += UInt64(addition.stored)
                state.figures.repeated += UInt64(items.count - addition.stored)
                state.figures.replaced += UInt64(addition.removed)
            }
            for entry in batch { entry.waiter.end(entry.isCounted ? addition.unread[entry.key] : nil) }
        } catch {
            writer.withBuffer { $0.figures.dropped += UInt64(items.count) }
            log(.error, "history.dropped", [.count("items", items.count), .storageError(error)])
            for entry in batch { entry.waiter.end(nil) }
        }
    }
}

/// A push that is waiting for its item to be stored; the first call to `end` ends the wait.
private final class Waiter: Sendable {
    private let continuation: Lock<CheckedContinuation<Int?, Never>?>

    init(_ continuation: CheckedContinuation<Int?, Never>) {
        self.continuation = Lock(continuation)
    }

    func end(_ unread: Int?) {
        continuation.withLock { $0.take() }?.resume(returning: unread)
    }
}

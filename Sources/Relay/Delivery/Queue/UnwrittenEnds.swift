import Delays
import Storage

/// The ends of stored pushes that the database hasn't recorded yet, and the order in which they are written.
///
/// A pure value: ``PushQueue`` writes what ``next()`` returns and reports the result. A row whose end is unwritten can
/// be claimed again once its lease has run out; ``reclaimed(_:owner:)`` keeps this process from sending such a push
/// again.
struct UnwrittenEnds {
    typealias End = PushQueue.End

    /// Ends to write in one transaction.
    struct Batch {
        var ends: [End]
        /// Whether the ends' delivery log rows are written with them.
        var isLogged: Bool
    }

    /// What to do after a failure.
    enum Step: Equatable {
        /// Write the next batch.
        case resume
        /// Wait, then write the next batch.
        case wait(Duration)
    }

    private struct Waiting {
        var end: End
        var isLogged = true
    }

    /// The hash that a push's row is stored under, and the row's lease owner.
    private struct Lease {
        var secretHash: SecretHash
        var owner: UUIDv7

        func applied(to end: End) -> End {
            var end = end
            end.settlement = Settlement(
                id: end.settlement.id, secretHash: secretHash, owner: owner, end: end.settlement.end)
            return end
        }
    }

    /// Ends waiting to be written, oldest first.
    private var waiting: [Waiting] = []
    private var inHand = 0
    /// End time of the oldest push whose end is being written.
    private var inHandSince: EpochMilliseconds?
    /// End time of the oldest push whose device is being removed.
    private var removingSince: EpochMilliseconds?
    /// New leases of pushes that were claimed again while their ends were being written.
    private var leases: [String: Lease] = [:]
    /// Ends that the database refused, oldest first.
    private var refused: [End] = []
    /// For each push that is over, how many of its ends are in `waiting`, in `refused` or being written.
    private var unwritten: [String: Int] = [:]
    private var remembered = RememberedEnds(limit: Bounds.endsRememberedMax)
    private var batchMax = Bounds.endsPerBatchMax
    /// Counts consecutive transient failures.
    private var backOff = Bounds.endsBackOff
    /// Timeouts since a batch was last written with its log rows.
    private var timeouts = 0
    /// Consecutive refusals by the database.
    private var refusals = 0
    /// Transient failures since the process began to shut down.
    private var failuresAtEnd = 0
    /// Ends that were dropped since ``takeLost()``.
    private var lost = 0

    /// The number of unwritten ends.
    var count: Int { waiting.count + inHand + refused.count }

    /// Approximate end time of the oldest push whose end is waiting and wasn't refused.
    var oldest: EpochMilliseconds? {
        [inHandSince, removingSince, waiting.lazy.compactMap(\.end.endedAt).min()].compactMap(\.self).min()
    }

    /// The number of ends that the database refused.
    var refusedCount: Int { refused.count }

    // MARK: Adding

    /// Adds an end; returns false if the limit is reached.
    mutating func add(_ end: End) -> Bool {
        guard count < Bounds.endsWaitingMax else { return false }
        waiting.append(Waiting(end: end))
        note(end, 1)
        return true
    }

    /// Whether a push that this process has claimed again is over; if so, its end will be written under the new lease.
    mutating func reclaimed(_ push: PendingPush, owner: UUIDv7) -> Bool {
        let lease = Lease(secretHash: push.secretHash, owner: owner)
        if let end = remembered.take(push.id) {
            // Added even above the limit: the alternative is to send the push again.
            waiting.append(Waiting(end: lease.applied(to: end)))
            note(end, 1)
            return true
        }
        guard unwritten[push.id] != nil else { return false }
        if let index = refused.firstIndex(where: { $0.isOver(push.id) }) {
            refused[index] = lease.applied(to: refused[index])
        } else if let index = waiting.firstIndex(where: { $0.end.isOver(push.id) }) {
            waiting[index].end = lease.applied(to: waiting[index].end)
        } else {
            leases[push.id] = lease
        }
        return true
    }

    // MARK: Writing

    /// Takes the next batch.
    mutating func next() -> Batch? {
        guard let isLogged = waiting.first?.isLogged else { return nil }
        let ends = waiting.prefix(batchMax).prefix { $0.isLogged == isLogged }.map(\.end)
        waiting.removeFirst(ends.count)
        inHand = ends.count
        inHandSince = ends.lazy.compactMap(\.endedAt).min()
        return Batch(ends: ends, isLogged: isLogged)
    }

    /// Takes the oldest refused end, without its log row, which may be what the database refuses.
    mutating func nextRefused() -> Batch? {
        guard !refused.isEmpty else { return nil }
        inHand = 1
        return Batch(ends: [refused.removeFirst()], isLogged: false)
    }

    /// What to do after a batch was written.
    struct Written {
        /// Log rows that weren't written with the batch.
        var unlogged: [Delivery] = []
        var removals: [End.Removal] = []
        /// The number of ends that came too late because their leases were lost.
        var notLeased = 0
    }

    /// Records that a batch was written; `leased` says for each end whether its row was still leased.
    mutating func wrote(_ batch: Batch, leased: [Bool]) -> Written {
        let ends = takeBack(batch)
        backOff.reset()
        (refusals, failuresAtEnd) = (0, 0)
        if batch.isLogged { timeouts = 0 }
        batchMax = min(2 * batchMax, Bounds.endsPerBatchMax)
        var written = Written()
        for (index, isLeased) in zip(ends.indices, leased) {
            let end = ends[index]
            guard isLeased || end.settlement.owner == batch.ends[index].settlement.owner else {
                waiting.append(Waiting(end: end))
                continue
            }
            note(end, -1)
            if let removal = end.removal { written.removals.append(removal) }
            guard case .over(let delivery) = end.settlement.end else {
                written.notLeased += isLeased ? 0 : 1
                continue
            }
            if !isLeased {
                written.notLeased += 1
                remembered.add(end)
            } else if !batch.isLogged {
                written.unlogged.append(delivery)
            }
        }
        removingSince = written.removals.map(\.at).min()
        return written
    }

    /// Records that the registrations marked as gone in a written batch have been removed.
    mutating func removed() { removingSince = nil }

    /// Records that a batch wasn't written.
    ///
    /// After a permanent failure the batch is retried without its log rows, then halved until the refused end
    /// is found. After a timeout it is halved, then retried without its log rows, because the log or a row may
    /// be locked. After any other transient failure it is retried after a delay.
    mutating func failed(_ batch: Batch, _ error: StorageError, isEnding: Bool) -> Step {
        let batch = Batch(ends: takeBack(batch), isLogged: batch.isLogged)
        guard error.isTransient else {
            refuse(batch)
            return .resume
        }
        if case .timeout = error, !tookTooLong(batch) { return .resume }
        let delay = backOff.next()
        if isEnding { failuresAtEnd += 1 }
        guard failuresAtEnd <= Bounds.endsAttemptsAtEnd else {
            giveUp(batch.ends)
            return .resume
        }
        putBack(batch.ends, isLogged: batch.isLogged)
        return .wait(delay)
    }

    /// Records that a batch from ``nextRefused()`` wasn't written.
    mutating func failedAgain(_ batch: Batch) {
        refused += takeBack(batch)
    }

    /// Returns the ends of a batch that is no longer being written, each with its latest lease.
    private mutating func takeBack(_ batch: Batch) -> [End] {
        (inHand, inHandSince) = (0, nil)
        guard !leases.isEmpty else { return batch.ends }
        defer { leases = [:] }
        return batch.ends.map { end in leases[end.settlement.id]?.applied(to: end) ?? end }
    }

    /// Handles a batch that timed out; returns true if the only option left is to wait and retry it.
    private mutating func tookTooLong(_ batch: Batch) -> Bool {
        timeouts += 1
        let isAlone = batch.ends.count == 1
        if batch.isLogged, isAlone || timeouts >= Bounds.endsLoggedTimeoutsMax {
            putBack(batch.ends, isLogged: false)
        } else if !isAlone {
            batchMax = batch.ends.count / 2
            putBack(batch.ends, isLogged: batch.isLogged)
        } else if case .over = batch.ends[0].settlement.end {
            setAside(batch.ends)
        } else {
            return true
        }
        return false
    }

    private mutating func refuse(_ batch: Batch) {
        guard !batch.isLogged else { return putBack(batch.ends, isLogged: false) }
        refusals += 1
        if batch.ends.count > 1, refusals < Bounds.endsRefusedInRowMax {
            batchMax = batch.ends.count / 2
            return putBack(batch.ends, isLogged: false)
        }
        setAside(batch.ends)
        guard refusals >= Bounds.endsRefusedInRowMax else { return }
        // The ends aren't the cause of the failure.
        setAside(waiting.map(\.end))
        waiting = []
        batchMax = Bounds.endsPerBatchMax
    }

    /// Keeps the ends of pushes that are over.
    ///
    /// Drops the others: those pushes become due again when their leases expire.
    private mutating func setAside(_ ends: [End]) {
        for end in ends {
            if case .over = end.settlement.end { refused.append(end) } else { lost += 1 }
        }
    }

    private mutating func putBack(_ ends: [End], isLogged: Bool) {
        waiting.insert(contentsOf: ends.map { Waiting(end: $0, isLogged: isLogged) }, at: 0)
    }

    // MARK: Dropping

    /// Drops the refused ends because the process is shutting down.
    mutating func giveUpRefused() {
        giveUp(refused)
        refused = []
    }

    /// How many ends were dropped since the last call.
    mutating func takeLost() -> Int {
        defer { lost = 0 }
        return lost
    }

    private mutating func giveUp(_ ends: [End]) {
        lost += ends.count
        for end in ends { note(end, -1) }
    }

    private mutating func note(_ end: End, _ change: Int) {
        guard case .over = end.settlement.end else { return }
        let count = (unwritten[end.settlement.id] ?? 0) + change
        unwritten[end.settlement.id] = count > 0 ? count : nil
    }
}

/// The latest ends that came too late, because the row had moved to another hash or another process had claimed it.
private struct RememberedEnds {
    private let limit: Int
    private var ends: [String: UnwrittenEnds.End] = [:]
    /// Push IDs, oldest first.
    private var order: [String] = []

    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ end: UnwrittenEnds.End) {
        if ends.updateValue(end, forKey: end.settlement.id) == nil { order.append(end.settlement.id) }
        while order.count > limit { ends[order.removeFirst()] = nil }
    }

    mutating func take(_ id: String) -> UnwrittenEnds.End? {
        guard let end = ends.removeValue(forKey: id) else { return nil }
        order.removeAll { $0 == id }
        return end
    }
}

extension PushQueue.End {
    /// When the push ended; `nil` if it hasn't.
    fileprivate var endedAt: EpochMilliseconds? {
        guard case .over(let delivery) = settlement.end else { return nil }
        return delivery.createdAt
    }

    fileprivate func isOver(_ id: String) -> Bool {
        guard case .over = settlement.end else { return false }
        return settlement.id == id
    }
}

import Storage

/// The ends of stored pushes that aren't in the database yet, and in which batch each is written next.
///
/// A pure value: ``PushQueue`` writes what ``next()`` says and reports what came of it. Until an end is written its row is
/// leased, and when the lease runs out this process may be given the row again; ``reclaimed(_:owner:)`` then keeps it
/// from sending a push that is over.
struct UnwrittenEnds {
    typealias End = PushQueue.End

    /// Ends that are written in one transaction.
    struct Batch {
        var ends: [End]
        /// Whether their rows in the delivery log are written with them.
        var isLogged: Bool
    }

    /// What to do after a failure.
    enum Step: Equatable {
        /// Write the next batch.
        case goOn
        /// Wait for so long, then write the next batch.
        case wait(Duration)
    }

    private struct Waiting {
        var end: End
        var isLogged = true
    }

    /// Where a push is held, and by whom.
    private struct Hold {
        var secretHash: SecretHash
        var owner: UUIDv7

        func applied(to end: End) -> End {
            var end = end
            end.settlement = Settlement(
                id: end.settlement.id, secretHash: secretHash, owner: owner, end: end.settlement.end)
            return end
        }
    }

    /// In the order in which they came.
    private var waiting: [Waiting] = []
    private var inHand = 0
    /// The holds under which pushes were claimed once more whose ends were being written at that moment.
    private var holds: [String: Hold] = [:]
    /// Those that the database refused one by one, or that came while it refused all.
    private var refused: [End] = []
    /// How many ends of each push that is over are in the three above.
    private var unwritten: [String: Int] = [:]
    private var remembered = RememberedEnds(limit: Bounds.settlementsRememberedMax)
    private var batchMax = Bounds.settlementsPerBatchMax
    /// Failures in a row that may pass.
    private var failures = 0
    /// How often writing took too long since ends were last written with the log.
    private var timeouts = 0
    /// Refusals in a row.
    private var refusals = 0
    /// Failures since the process is ending.
    private var failuresAtEnd = 0
    /// Ends that were given up since ``takeLost()``.
    private var lost = 0

    /// How many ends aren't written yet.
    var count: Int { waiting.count + inHand + refused.count }

    /// How many of them the database refused.
    var refusedCount: Int { refused.count }

    // MARK: Coming in

    /// Takes an end; false when there are too many.
    mutating func add(_ end: End) -> Bool {
        guard count < Bounds.settlementsWaitingMax else { return false }
        waiting.append(Waiting(end: end))
        note(end, 1)
        return true
    }

    /// Whether a push is over that this process has claimed once more; then its end is written under the new lease.
    mutating func reclaimed(_ push: PendingPush, owner: UUIDv7) -> Bool {
        let hold = Hold(secretHash: push.secretHash, owner: owner)
        if let end = remembered.take(push.id) {
            // Beyond the bound too: the alternative is to send the push again.
            waiting.append(Waiting(end: hold.applied(to: end)))
            note(end, 1)
            return true
        }
        guard unwritten[push.id] != nil else { return false }
        if let index = refused.firstIndex(where: { $0.isOver(push.id) }) {
            refused[index] = hold.applied(to: refused[index])
        } else if let index = waiting.firstIndex(where: { $0.end.isOver(push.id) }) {
            waiting[index].end = hold.applied(to: waiting[index].end)
        } else {
            holds[push.id] = hold
        }
        return true
    }

    // MARK: Going out

    /// Takes the next batch of those that came.
    mutating func next() -> Batch? {
        guard let isLogged = waiting.first?.isLogged else { return nil }
        let ends = waiting.prefix(batchMax).prefix { $0.isLogged == isLogged }.map(\.end)
        waiting.removeFirst(ends.count)
        inHand = ends.count
        return Batch(ends: ends, isLogged: isLogged)
    }

    /// Takes the refused one that waits longest, alone, and without the log, which may be what was refused.
    mutating func nextRefused() -> Batch? {
        guard !refused.isEmpty else { return nil }
        inHand = 1
        return Batch(ends: [refused.removeFirst()], isLogged: false)
    }

    /// What a batch that was written leaves to do.
    struct Written {
        /// Rows for the delivery log.
        var unlogged: [Delivery] = []
        var removals: [End.Removal] = []
        /// How many weren't held any more.
        var notHeld = 0
    }

    /// A batch was written; `held` says of each end whether its push was held.
    mutating func wrote(_ batch: Batch, held: [Bool]) -> Written {
        let ends = takeBack(batch)
        (failures, refusals, failuresAtEnd) = (0, 0, 0)
        if batch.isLogged { timeouts = 0 }
        batchMax = min(2 * batchMax, Bounds.settlementsPerBatchMax)
        var written = Written()
        for (index, isHeld) in zip(ends.indices, held) {
            let end = ends[index]
            guard isHeld || end.settlement.owner == batch.ends[index].settlement.owner else {
                waiting.append(Waiting(end: end))
                continue
            }
            note(end, -1)
            if let removal = end.removal { written.removals.append(removal) }
            guard case .over(let delivery) = end.settlement.end else {
                written.notHeld += isHeld ? 0 : 1
                continue
            }
            if !isHeld {
                written.notHeld += 1
                remembered.add(end)
            } else if !batch.isLogged {
                written.unlogged.append(delivery)
            }
        }
        return written
    }

    /// A batch was not written.
    ///
    /// One that failed for a lasting reason is tried without the log, and then in halves until what is refused stands
    /// alone. One that took too long is tried in halves, and then without the log: somebody may have locked the log or
    /// one of the rows. Every other failure is waited for.
    mutating func failed(_ batch: Batch, _ error: StorageError, isEnding: Bool) -> Step {
        let batch = Batch(ends: takeBack(batch), isLogged: batch.isLogged)
        guard error.isTransient else {
            refuse(batch)
            return .goOn
        }
        if case .timeout = error, !tookTooLong(batch) { return .goOn }
        failures += 1
        if isEnding { failuresAtEnd += 1 }
        guard failuresAtEnd <= Bounds.settlementsAttemptsAtEnd else {
            giveUp(batch.ends)
            return .goOn
        }
        putBack(batch.ends, isLogged: batch.isLogged)
        let doublings = min(failures - 1, 10)
        return .wait(min(Bounds.settlementsRetryDelayMin * (1 << doublings), Bounds.settlementsRetryDelayMax))
    }

    /// A batch of ``nextRefused()`` was not written.
    mutating func failedAgain(_ batch: Batch) {
        refused += takeBack(batch)
    }

    /// The ends of a batch that was in hand, each under the lease that came last.
    private mutating func takeBack(_ batch: Batch) -> [End] {
        inHand = 0
        guard !holds.isEmpty else { return batch.ends }
        defer { holds = [:] }
        return batch.ends.map { end in holds[end.settlement.id]?.applied(to: end) ?? end }
    }

    /// Puts a batch that took too long back, or aside; true when nothing is left but to wait.
    private mutating func tookTooLong(_ batch: Batch) -> Bool {
        timeouts += 1
        let isAlone = batch.ends.count == 1
        if batch.isLogged, isAlone || timeouts >= Bounds.settlementsLoggedTimeoutsMax {
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
        if batch.ends.count > 1, refusals < Bounds.settlementsRefusedInRowMax {
            batchMax = batch.ends.count / 2
            return putBack(batch.ends, isLogged: false)
        }
        setAside(batch.ends)
        guard refusals >= Bounds.settlementsRefusedInRowMax else { return }
        // It isn't one of them that is at fault.
        setAside(waiting.map(\.end))
        waiting = []
        batchMax = Bounds.settlementsPerBatchMax
    }

    /// Keeps what must not be sent again; what is to be sent again is when its lease has run out.
    private mutating func setAside(_ ends: [End]) {
        for end in ends {
            if case .over = end.settlement.end { refused.append(end) } else { lost += 1 }
        }
    }

    private mutating func putBack(_ ends: [End], isLogged: Bool) {
        waiting.insert(contentsOf: ends.map { Waiting(end: $0, isLogged: isLogged) }, at: 0)
    }

    // MARK: Giving up

    /// Gives up those that the database refused: the process is ending.
    mutating func giveUpRefused() {
        giveUp(refused)
        refused = []
    }

    /// How many ends were given up since the last call.
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

/// The last ends of pushes whose rows weren't held any more: moved under another hash, or taken by another process.
private struct RememberedEnds {
    private let limit: Int
    private var ends: [String: UnwrittenEnds.End] = [:]
    /// Push ids in the order in which they came, those included that were taken.
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
    fileprivate func isOver(_ id: String) -> Bool {
        guard case .over = settlement.end else { return false }
        return settlement.id == id
    }
}

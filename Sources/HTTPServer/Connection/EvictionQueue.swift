import Network

/// Connections in the order in which they should make room for others: a pure value.
///
/// Nothing is done when a connection becomes active, which happens with every request. Whoever takes from the queue says what has
/// become of the connection in front, and those that were active since find their new place only then. What stands first after that
/// is the connection that has waited longest, since no moment in the queue is later than the true one.
struct EvictionQueue {
    /// What has become of a connection that is in the queue.
    enum Verdict {
        /// Nothing since the moment that the queue knows: it is the one to close.
        case evict
        /// It was active, last at this moment.
        case keep(since: MonotonicTime)
        /// It is gone, or is in the queue once more.
        case forget
    }

    private struct Entry {
        let id: UInt64
        let since: MonotonicTime
    }

    /// The least number of entries at which the queue is searched for those of connections that are gone.
    private static let tidyMin = 64

    /// A binary heap, the earliest moment first.
    private var entries: [Entry] = []
    private var tidyAt = tidyMin

    /// Entries, those of connections that are gone included.
    var count: Int { entries.count }

    /// Adds a connection; `judge` is asked now and then, so that the queue doesn't fill with what is gone.
    mutating func add(_ id: UInt64, since: MonotonicTime, judge: (UInt64, MonotonicTime) -> Verdict) {
        if count >= tidyAt {
            let old = entries
            entries = []
            for entry in old {
                if case .forget = judge(entry.id, entry.since) { continue }
                insert(entry)
            }
            tidyAt = max(Self.tidyMin, 2 * count)
        }
        insert(Entry(id: id, since: since))
    }

    /// Takes out the connection that is to be closed; nil when there is none.
    mutating func takeFirst(judge: (UInt64, MonotonicTime) -> Verdict) -> UInt64? {
        // Each entry is put back at most once before one is found; if they are busy all, it is enough.
        for _ in 0...count {
            guard let first = removeFirst() else { return nil }
            switch judge(first.id, first.since) {
            case .evict: return first.id
            case .keep(let since): insert(Entry(id: first.id, since: since))
            case .forget: break
            }
        }
        return nil
    }

    private mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var index = entries.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].since < entries[parent].since else { return }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func removeFirst() -> Entry? {
        guard let first = entries.first, let last = entries.popLast() else { return nil }
        guard !entries.isEmpty else { return first }
        entries[0] = last
        var index = 0
        while true {
            let left = 2 * index + 1
            guard left < entries.count else { return first }
            let right = left + 1
            let isRight = right < entries.count && entries[right].since < entries[left].since
            let child = isRight ? right : left
            guard entries[child].since < entries[index].since else { return first }
            entries.swapAt(index, child)
            index = child
        }
    }
}

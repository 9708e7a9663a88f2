import Network

/// Connections in eviction order: a pure value.
///
/// A request counts as activity but doesn't move its connection's entry; an eviction moves the stale entries it finds.
/// No entry is later than its connection's last activity, so the first up-to-date entry is the least recently active
/// connection.
struct EvictionQueue {
    /// What to do with the connection at the front.
    enum Verdict {
        /// The entry is up to date: evict the connection.
        case evict
        /// The entry is stale: the connection was active more recently, at this time.
        case keep(since: MonotonicTime)
        /// The connection is closed, or has another entry.
        case forget
    }

    private struct Entry {
        let id: UInt64
        let since: MonotonicTime
    }

    /// The number of entries below which stale ones are not purged.
    private static let purgeMin = 64

    /// A binary heap, earliest first.
    private var entries: [Entry] = []
    private var purgeAt = purgeMin

    /// The number of entries, stale ones included.
    var count: Int { entries.count }

    /// Adds a connection; `judge` finds the stale entries when it is time to purge them.
    mutating func add(_ id: UInt64, since: MonotonicTime, judge: (UInt64, MonotonicTime) -> Verdict) {
        if count >= purgeAt {
            let old = entries
            entries = []
            for entry in old {
                if case .forget = judge(entry.id, entry.since) { continue }
                insert(entry)
            }
            purgeAt = max(Self.purgeMin, 2 * count)
        }
        insert(Entry(id: id, since: since))
    }

    /// Removes and returns the connection to evict; nil if there is none.
    mutating func takeFirst(judge: (UInt64, MonotonicTime) -> Verdict) -> UInt64? {
        // Each entry is reinserted at most once before one is found. If all connections are busy, one pass is enough.
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

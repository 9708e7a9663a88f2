import Network

/// The buckets of one rate limit that aren't full, in a fixed amount of memory.
///
/// Each set of keys has ``ways`` slots. A key without a slot replaces the bucket that is closest to full, so a flood of
/// keys evicts the least used keys, and refused keys stay refused. Keys are distinguished by 64 bits of a hash with a
/// secret seed.
struct BucketTable: Sendable {
    private struct Place {
        var tag: UInt64 = 0
        /// When the bucket will be full again, in nanoseconds; 0 for a slot that was never used.
        var fullAt: UInt64 = 0
    }

    /// The number of slots that a key can use.
    static let ways = 8

    private var places: [Place]
    private let sets: UInt64

    /// Creates a table with this many slots: a power of two, at least ``ways``.
    init(places count: Int) {
        precondition(count >= Self.ways && count.nonzeroBitCount == 1, "not a power of two")
        places = Array(repeating: Place(), count: count)
        sets = UInt64(count / Self.ways)
    }

    /// Whether a key's bucket is full, as far as it is remembered.
    func isFull(_ tag: UInt64, at now: MonotonicTime) -> Bool {
        let first = Int(tag % sets) * Self.ways
        return !places[first..<(first + Self.ways)].contains {
            $0.tag == tag && $0.fullAt > now.nanoseconds
        }
    }

    /// The time until a key's next token; `nil` if the key's bucket has a token, as far as it is remembered.
    func wait(_ tag: UInt64, _ bucket: TokenBucket, at now: MonotonicTime) -> Duration? {
        let first = Int(tag % sets) * Self.ways
        let place = places[first..<(first + Self.ways)].first { $0.tag == tag }
        let fullAt = MonotonicTime(nanoseconds: place?.fullAt ?? 0)
        if case .refused(let wait) = bucket.take(fullAt: fullAt, at: now) { return wait }
        return nil
    }

    /// Takes a token from a key's bucket; `nil` on success, otherwise the time until the next token.
    mutating func take(_ tag: UInt64, _ bucket: TokenBucket, at now: MonotonicTime) -> Duration? {
        let first = Int(tag % sets) * Self.ways
        var index = first
        var fullAt: UInt64 = 0
        for candidate in first..<(first + Self.ways) {
            let place = places[candidate]
            if place.tag == tag, place.fullAt > 0 {
                index = candidate
                fullAt = place.fullAt
                break
            }
            if place.fullAt < places[index].fullAt { index = candidate }
        }
        switch bucket.take(fullAt: MonotonicTime(nanoseconds: fullAt), at: now) {
        case .taken(let fullAt):
            places[index] = Place(tag: tag, fullAt: fullAt.nanoseconds)
            return nil
        case .refused(let wait):
            return wait
        }
    }
}

import Network

/// The buckets of one limit that are not full, in memory that never grows.
///
/// A set of ``ways`` places for each group of keys: a key that finds no place takes that of the bucket which is nearest
/// to being full, so what is forgotten under a flood of keys is whoever used the least, and who was refused stays
/// refused. Keys are told apart by 64 bits of a hash whose seed nobody outside knows.
struct BucketTable: Sendable {
    private struct Place {
        var tag: UInt64 = 0
        /// Nanoseconds; 0 for a place that was never taken.
        var fullAt: UInt64 = 0
    }

    /// Places that a key may be in.
    static let ways = 8

    private var places: [Place]
    private let sets: UInt64

    /// A table with so many places, a power of two and at least ``ways``.
    init(places count: Int) {
        precondition(count >= Self.ways && count.nonzeroBitCount == 1, "not a power of two")
        places = Array(repeating: Place(), count: count)
        sets = UInt64(count / Self.ways)
    }

    /// Takes a token out of a key's bucket; `nil` when it was there, else how long to wait for one.
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

import Network

/// One limit for a whole process: a token bucket for each key, shared by all event loops.
///
/// The table is cut into shards with a lock each, so that loops seldom meet; the limit is the process's, not a loop's
/// share of it. Several relay processes have a limit each.
final class RateLimiter: Sendable {
    /// Buckets that are remembered, in all shards: 16 bytes each.
    static let placesDefault = 65_536
    private static let shardCount = 16

    private let bucket: TokenBucket
    private let shards: [Lock<BucketTable>]

    /// A limiter; `nil` for a rate of 0, which is no limit.
    init?(perMinute rate: Int, places: Int = placesDefault) {
        guard rate > 0 else { return nil }
        bucket = TokenBucket(perMinute: rate)
        shards = (0..<Self.shardCount).map { _ in
            Lock(BucketTable(places: max(BucketTable.ways, places / Self.shardCount)))
        }
    }

    /// Takes a token out of a key's bucket; `nil` when it was there, else how long to wait for one.
    func take(_ key: some Hashable, at now: MonotonicTime) -> Duration? {
        var hasher = Hasher()
        hasher.combine(key)
        let hash = UInt64(bitPattern: Int64(hasher.finalize()))
        // The high bits choose the shard, the low ones the place in it.
        return shards[Int(hash >> 60)].withLock { $0.take(hash, bucket, at: now) }
    }
}

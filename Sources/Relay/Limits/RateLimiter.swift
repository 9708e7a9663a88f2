import Network

/// One rate limit of the process: a token bucket per key, shared by all event loops.
///
/// The table is split into shards, each with its own lock, so that loops rarely contend. Each relay process has its own
/// limit.
final class RateLimiter: Sendable {
    /// Maximum buckets in all shards, 16 bytes each.
    static let placesDefault = 65_536
    private static let shardCount = 16

    private let bucket: TokenBucket
    private let shards: [Lock<BucketTable>]

    /// Creates a limiter that allows `rate` tokens per minute; `nil` for a rate of 0, which means no limit.
    convenience init?(perMinute rate: Int, places: Int = placesDefault) {
        self.init(rate, per: .seconds(60), places: places)
    }

    /// Creates a limiter that allows `rate` tokens per period; `nil` for a rate of 0, which means no limit.
    init?(_ rate: Int, per period: Duration, places: Int = placesDefault) {
        guard rate > 0 else { return nil }
        bucket = TokenBucket(rate, per: period)
        shards = (0..<Self.shardCount).map { _ in
            Lock(BucketTable(places: max(BucketTable.ways, places / Self.shardCount)))
        }
    }

    /// Takes a token from a key's bucket; `nil` on success, otherwise the time until the next token.
    func take(_ key: some Hashable, at now: MonotonicTime) -> Duration? {
        let hash = Self.hash(of: key)
        return shard(of: hash).withLock { $0.take(hash, bucket, at: now) }
    }

    /// The time until a key's next token; `nil` if the key's bucket has a token.
    ///
    /// Doesn't take a token.
    func wait(_ key: some Hashable, at now: MonotonicTime) -> Duration? {
        let hash = Self.hash(of: key)
        return shard(of: hash).withLock { $0.wait(hash, bucket, at: now) }
    }

    /// Whether a key's bucket is full: unused for a period, or evicted.
    func isFull(_ key: some Hashable, at now: MonotonicTime) -> Bool {
        let hash = Self.hash(of: key)
        return shard(of: hash).withLock { $0.isFull(hash, at: now) }
    }

    private static func hash(of key: some Hashable) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The shard of a key's hash: the high bits select the shard, the low bits the slot in it.
    private func shard(of hash: UInt64) -> Lock<BucketTable> { shards[Int(hash >> 60)] }
}

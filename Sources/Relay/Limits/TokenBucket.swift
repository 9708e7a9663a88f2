import Network

/// A token bucket's rate and capacity: a pure value, whose methods are given the time.
///
/// A bucket holds one period's tokens, gains one every `interval` and starts full. Any t periods therefore allow at
/// most (t + 1) times the rate, and a burst at most the rate. A bucket's only state is the time when it will be full
/// again, so a full bucket needs no memory.
struct TokenBucket: Hashable, Sendable {
    /// Tokens in a full bucket.
    let capacity: UInt64
    /// Nanoseconds per token.
    let interval: UInt64

    /// A bucket that holds `rate` tokens, at least one, and gains as many per minute.
    init(perMinute rate: Int) {
        self.init(rate, per: .seconds(60))
    }

    /// A bucket that holds `rate` tokens, at least one, and gains as many per period.
    init(_ rate: Int, per period: Duration) {
        capacity = UInt64(max(1, rate))
        interval = (period.clampedNanoseconds + capacity - 1) / capacity
    }

    /// The result of taking a token.
    enum Taking: Hashable, Sendable {
        /// A token was taken; the bucket will be full again at `fullAt`.
        case taken(fullAt: MonotonicTime)
        /// The bucket is empty; the next token is available after `wait`, unless someone else takes it.
        case refused(wait: Duration)
    }

    /// Takes one token from a bucket that will be full at `fullAt`; a time in the past means a full bucket.
    func take(fullAt: MonotonicTime, at now: MonotonicTime) -> Taking {
        let begins = max(fullAt, now).nanoseconds
        let missing = begins - now.nanoseconds
        let mayMiss = (capacity - 1) * interval
        guard missing > mayMiss else {
            return .taken(fullAt: MonotonicTime(nanoseconds: begins + interval))
        }
        return .refused(wait: .nanoseconds(Int64(missing - mayMiss)))
    }
}

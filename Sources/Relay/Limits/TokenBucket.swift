import Network

/// How a token bucket fills and how much it holds: a pure value, told the time.
///
/// A bucket holds one minute's worth, gets a token every `interval` and is full at first: in any stretch of t
/// minutes at most (t + 1) times its rate is taken from it, and never more than its rate at once. What a bucket must
/// remember is one number, the moment at which it will be full again; one that is full needs no memory at all.
struct TokenBucket: Hashable, Sendable {
    /// Tokens when it is full.
    let capacity: UInt64
    /// Nanoseconds in which it gets one token.
    let interval: UInt64

    private static let nanosecondsPerMinute: UInt64 = 60_000_000_000

    /// A bucket that gets so many tokens a minute, at least one, and holds as many.
    init(perMinute rate: Int) {
        capacity = UInt64(max(1, rate))
        interval = (Self.nanosecondsPerMinute + capacity - 1) / capacity
    }

    /// What taking a token came to.
    enum Taking: Hashable, Sendable {
        /// It was there; the bucket will be full again at `fullAt`.
        case taken(fullAt: MonotonicTime)
        /// It was not; if nobody else takes it, the next one will be there after `wait`.
        case refused(wait: Duration)
    }

    /// Takes one token out of a bucket that will be full at `fullAt`; a moment that has passed is a full bucket.
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

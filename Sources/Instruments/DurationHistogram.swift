/// A histogram of durations, with their sum.
package struct DurationHistogram: Sendable, Equatable {
    /// The buckets' inclusive upper bounds in nanoseconds, ascending; one more bucket holds everything above the last.
    package static let bounds: [UInt64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    /// The number of durations in each bucket, not cumulative.
    package private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
    /// The sum of all durations in nanoseconds.
    package private(set) var sum: UInt64 = 0

    /// Creates an empty histogram.
    package init() {}

    /// The number of durations.
    package var count: UInt64 { buckets.reduce(0, +) }

    /// Adds a duration.
    package mutating func observe(nanoseconds: UInt64) {
        let bounds = Self.bounds
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
        buckets[bucket] &+= 1
        sum &+= nanoseconds
    }

    /// The durations added since an earlier state of the same histogram.
    package func since(_ earlier: DurationHistogram) -> DurationHistogram {
        var difference = self
        for index in buckets.indices { difference.buckets[index] &-= earlier.buckets[index] }
        difference.sum &-= earlier.sum
        return difference
    }

    /// Adds the durations of another histogram.
    package mutating func add(_ other: DurationHistogram) {
        for index in buckets.indices { buckets[index] &+= other.buckets[index] }
        sum &+= other.sum
    }
}

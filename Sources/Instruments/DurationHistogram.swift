/// How long things took: how many of them by upper bound, and the sum of all.
package struct DurationHistogram: Sendable, Equatable {
    /// The buckets' inclusive upper bounds in nanoseconds, rising; beyond the last is one bucket more.
    package static let bounds: [UInt64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    /// How many fell into each bucket, those below it not included.
    package private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
    /// Nanoseconds of all together.
    package private(set) var sum: UInt64 = 0

    /// Nothing yet.
    package init() {}

    /// How many there were.
    package var count: UInt64 { buckets.reduce(0, +) }

    /// Counts something that took so many nanoseconds.
    package mutating func observe(nanoseconds: UInt64) {
        let bounds = Self.bounds
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
        buckets[bucket] &+= 1
        sum &+= nanoseconds
    }

    /// What was counted after an earlier state of the same histogram.
    package func since(_ earlier: DurationHistogram) -> DurationHistogram {
        var difference = self
        for index in buckets.indices { difference.buckets[index] &-= earlier.buckets[index] }
        difference.sum &-= earlier.sum
        return difference
    }

    /// Adds the counts of another one.
    package mutating func add(_ other: DurationHistogram) {
        for index in buckets.indices { buckets[index] &+= other.buckets[index] }
        sum &+= other.sum
    }
}

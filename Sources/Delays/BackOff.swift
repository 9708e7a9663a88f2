/// The delay before the next attempt: it doubles with each consecutive failure, up to a maximum.
package struct BackOff: Hashable, Sendable {
    /// The delay after the first failure.
    package let least: Duration
    /// The maximum delay.
    package let most: Duration
    /// The number of consecutive failures.
    package private(set) var failures = 0

    /// The maximum number of doublings; more would exceed any maximum delay.
    private static let doublingsMax = 30

    /// Creates a back-off without failures.
    package init(from least: Duration, to most: Duration) {
        self.least = least
        self.most = most
    }

    /// The delay after this many consecutive failures; below two, `least`.
    package func delay(after failures: Int) -> Duration {
        min(least * (1 << min(max(failures, 1) - 1, Self.doublingsMax)), most)
    }

    /// Records a failure and returns the delay that follows.
    package mutating func next() -> Duration {
        failures += 1
        return delay(after: failures)
    }

    /// Records a failure and returns part of the delay that follows, so that clients' attempts spread out.
    ///
    /// - Parameter random: From 0, for half the delay, to 1, for all of it.
    package mutating func next(_ random: Double) -> Duration {
        next() * (0.5 + random / 2)
    }

    /// Starts over after a success.
    package mutating func reset() { failures = 0 }
}

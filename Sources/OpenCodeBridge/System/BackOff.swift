/// Growing random pauses between attempts.
struct BackOff: Sendable, Equatable {
    let least: Duration
    let most: Duration
    private(set) var failures = 0

    init(from least: Duration, to most: Duration) {
        self.least = least
        self.most = most
    }

    /// Starts over.
    mutating func reset() { failures = 0 }

    /// The pause after another failure: between half and all of a time that doubles, so that clients spread out.
    ///
    /// - Parameter random: From 0 to 1.
    mutating func next(_ random: Double) -> Duration {
        let doubled = failures < 20 ? least * (1 << failures) : most
        failures += 1
        return min(doubled, most) * (0.5 + random / 2)
    }
}

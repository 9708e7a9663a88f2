import Network
import Storage

/// Detects steps of the wall clock by comparing it with the monotonic clock; a pure value that is given both readings.
struct ClockWatch: Sendable {
    private var last: (wall: EpochMilliseconds, monotonic: MonotonicTime)?

    /// How far the wall clock was set since the last call: positive if forward, negative if back.
    ///
    /// Drift and slewing between two calls amount to only a few milliseconds.
    mutating func step(to wall: EpochMilliseconds, at monotonic: MonotonicTime) -> Duration {
        defer { last = (wall, monotonic) }
        guard let last else { return .zero }
        return .milliseconds(wall - last.wall) - monotonic.since(last.monotonic)
    }
}

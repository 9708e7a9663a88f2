import Network
import Storage

/// Notices when the wall clock is set, by the monotonic clock beside it: a pure value, told both.
struct ClockWatch: Sendable {
    private var last: (wall: EpochMilliseconds, monotonic: MonotonicTime)?

    /// How far the wall clock has been set since the last look: above zero forward, below back.
    ///
    /// What clocks drift and are slewed by between two looks is a few milliseconds.
    mutating func step(to wall: EpochMilliseconds, at monotonic: MonotonicTime) -> Duration {
        defer { last = (wall, monotonic) }
        guard let last else { return .zero }
        return .milliseconds(wall - last.wall) - monotonic.since(last.monotonic)
    }
}

import CEvent
import Glibc

/// A time on the machine's monotonic clock, which never goes backwards and doesn't depend on the date.
package struct MonotonicTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary time, the same for all threads of the process.
    package let nanoseconds: UInt64

    /// Creates a time from its nanoseconds; for tests of code that takes the time as a parameter.
    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// The current time, read from `CLOCK_MONOTONIC`.
    package static var current: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Adds a duration; a negative duration counts as zero.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds &+ duration.clampedNanoseconds)
    }

    /// The time since `earlier`; zero if `earlier` is in the future.
    package func since(_ earlier: MonotonicTime) -> Duration {
        self > earlier ? .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds)) : .zero
    }
}

extension Duration {
    /// The duration in whole nanoseconds, at least zero and at most `UInt64.max / 2` (292 years).
    package var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 9_000_000_000 else { return UInt64.max / 2 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}

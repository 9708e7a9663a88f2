import CEvent
import Glibc

/// A moment on the machine's monotonic clock, which never goes back and has nothing to do with the date.
package struct MonotonicTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary moment, the same for every thread of the process.
    package let nanoseconds: UInt64

    /// A moment by its nanoseconds; for tests of code that takes time as a parameter.
    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// The present moment, read from `CLOCK_MONOTONIC`.
    package static var current: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment `duration` later; a duration below zero counts as zero.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds &+ duration.clampedNanoseconds)
    }

    /// The time from `earlier` to this moment; zero when `earlier` lies in the future.
    package func since(_ earlier: MonotonicTime) -> Duration {
        self > earlier ? .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds)) : .zero
    }
}

extension Duration {
    /// Whole nanoseconds, zero for a negative duration and `UInt64.max / 2` (292 years) for one too long.
    package var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 9_000_000_000 else { return UInt64.max / 2 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}

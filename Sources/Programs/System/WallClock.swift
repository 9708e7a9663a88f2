import Glibc

/// Provides the current time; passed as a parameter wherever time matters, so that tests can control it.
package struct WallClock: Sendable {
    private let read: @Sendable () -> Int64

    /// Creates a clock that calls a function, which returns milliseconds since 1970.
    package init(_ read: @escaping @Sendable () -> Int64) {
        self.read = read
    }

    /// Milliseconds since 1970.
    package var now: Int64 { read() }

    /// Nanoseconds since 1970, according to the machine's clock.
    package static var systemNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The machine's clock.
    package static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec / 1_000_000)
    }
}

extension Duration {
    /// The duration in whole milliseconds.
    package var inMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

import Glibc
import Storage

/// Provides the current time; a parameter wherever time matters, so that tests can control it.
struct WallClock: Sendable {
    private let read: @Sendable () -> EpochMilliseconds

    /// A clock that calls a function.
    init(_ read: @escaping @Sendable () -> EpochMilliseconds) {
        self.read = read
    }

    /// Milliseconds since 1970.
    var now: EpochMilliseconds { read() }

    /// The machine's clock.
    static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return EpochMilliseconds(time.tv_sec) * 1000 + EpochMilliseconds(time.tv_nsec / 1_000_000)
    }
}

extension Duration {
    /// Whole milliseconds.
    var inMilliseconds: EpochMilliseconds {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

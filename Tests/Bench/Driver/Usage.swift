import Glibc

/// The elapsed time and processor time of this process.
struct Usage {
    var wallMicroseconds: Int64
    var cpuMicroseconds: Int64

    /// The usage so far.
    static var now: Usage {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        var cpu = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu)
        return Usage(wallMicroseconds: microseconds(time), cpuMicroseconds: microseconds(cpu))
    }

    /// The difference from an earlier moment.
    func since(_ earlier: Usage) -> Usage {
        Usage(
            wallMicroseconds: wallMicroseconds - earlier.wallMicroseconds,
            cpuMicroseconds: cpuMicroseconds - earlier.cpuMicroseconds)
    }

    private static func microseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

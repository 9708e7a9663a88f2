import Glibc
import Programs

/// The system's figures about this process.
struct ProcessFigures: Sendable, Equatable {
    /// Nanoseconds of CPU time, user and system.
    var cpuNanoseconds: UInt64
    var residentBytes: Int
    var virtualBytes: Int
    var openFiles: Int
    var openFilesMax: Int
    /// When the process started, in nanoseconds since 1970.
    var startNanoseconds: UInt64

    /// Reads the figures from the process's own directory in /proc; `nil` if it isn't available.
    static func read() -> ProcessFigures? {
        guard case .success(let stat) = SettingFile.read("/proc/self/stat"),
            let fields = ProcessStat(String(decoding: stat, as: UTF8.self)),
            let openFiles = countOpenFiles()
        else { return nil }
        var usage = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &usage)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return ProcessFigures(
            cpuNanoseconds: nanoseconds(usage),
            residentBytes: fields.residentPages * Int(sysconf(Int32(_SC_PAGESIZE))),
            virtualBytes: fields.virtualBytes, openFiles: openFiles,
            openFilesMax: Int(clamping: limit.rlim_cur),
            startNanoseconds: started)
    }

    /// When the process started; determined once, because the clocks involved drift apart.
    private static let started: UInt64 = {
        guard case .success(let stat) = SettingFile.read("/proc/self/stat"),
            let fields = ProcessStat(String(decoding: stat, as: UTF8.self))
        else { return 0 }
        return start(ticks: fields.startTicks)
    }()

    /// The start time for a number of ticks after boot.
    private static func start(ticks: UInt64) -> UInt64 {
        var (now, up) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &up)
        let perSecond = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        return nanoseconds(now) &- nanoseconds(up) &+ ticks &* (1_000_000_000 / perSecond)
    }

    private static func nanoseconds(_ time: timespec) -> UInt64 {
        UInt64(max(0, time.tv_sec)) * 1_000_000_000 + UInt64(max(0, time.tv_nsec))
    }

    private static func countOpenFiles() -> Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Excludes the two entries that every directory has, and the descriptor used to read this one.
        return max(0, count - 3)
    }
}

/// The required fields of /proc/PID/stat.
///
/// Source: proc(5).
struct ProcessStat: Equatable {
    /// Field 22: ticks since boot.
    let startTicks: UInt64
    /// Field 23.
    let virtualBytes: Int
    /// Field 24.
    let residentPages: Int

    /// Parses the line; `nil` if it is invalid.
    init?(_ text: String) {
        // The second field is the program's name in parentheses, which can contain anything.
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > 21, let start = UInt64(fields[19]), let virtual = Int(fields[20]),
            let resident = Int(fields[21])
        else { return nil }
        startTicks = start
        virtualBytes = virtual
        residentPages = resident
    }
}

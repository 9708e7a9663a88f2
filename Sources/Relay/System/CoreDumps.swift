import Glibc
import Network

/// Keeps the process's memory, which holds keys and secrets, out of core dumps.
enum CoreDumps {
    /// Disables core dumps and debugging by the same user; the first thing that the program does.
    ///
    /// A limit of 0 doesn't stop a kernel that pipes dumps to a program; `PR_SET_DUMPABLE` does.
    static func forbid() {
        setLimit { _ in 0 }
        allowMemoryDumps(false)
    }

    /// Allows core dumps again, within the system's limits.
    static func allow() {
        setLimit { $0.rlim_max }
        allowMemoryDumps(true)
    }

    private static func setLimit(_ bytes: (rlimit) -> rlim_t) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = bytes(limit)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}

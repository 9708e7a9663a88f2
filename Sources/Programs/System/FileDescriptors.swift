import Glibc

/// The process's file descriptors.
package enum FileDescriptors {
    /// Opens standard input, output and error if the process was started without them.
    ///
    /// Otherwise a connection could get one of their numbers and receive log lines.
    package static func openStandard() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The system assigns the lowest free number: this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Raises the open file limit, which bounds the number of connections, to the maximum, and returns it.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}

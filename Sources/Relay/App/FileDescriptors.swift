import Glibc

/// The process's open files.
enum FileDescriptors {
    /// Opens standard input, output and error where whoever started the process left one closed.
    ///
    /// Otherwise a connection would get its number, and log lines would be sent there.
    static func openStandard() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is given: this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Raises the limit of open files, which every connection counts against, as far as this process may, and returns it.
    static func raiseLimit() -> Int {
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

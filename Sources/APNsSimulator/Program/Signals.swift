import Glibc

/// Signals, taken by the main thread instead of killing the process.
///
/// The main thread must wait here and nowhere else: Swift's own way to run an asynchronous `main` parks it with all
/// signals open, whatever was blocked before.
enum Signals {
    /// What a wait came to.
    enum Wait {
        /// SIGINT or SIGTERM.
        case stop
        /// ``wakeMainThread()``.
        case woken
    }

    private static let wake = SIGUSR1

    /// Holds the signals back in this thread and those it starts.
    ///
    /// To be called before there are others.
    static func block() {
        var set = waitedFor
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        // A client that has left is seen by the write that fails.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Makes ``wait()`` return without a signal from outside.
    static func wakeMainThread() { kill(getpid(), wake) }

    /// Blocks until a signal comes.
    static func wait() -> Wait {
        var set = waitedFor
        while true {
            switch unsafe sigwaitinfo(&set, nil) {
            case SIGINT, SIGTERM: return .stop
            case wake: return .woken
            default: continue
            }
        }
    }

    private static var waitedFor: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in [SIGINT, SIGTERM, wake] { unsafe sigaddset(&set, number) }
        return set
    }
}

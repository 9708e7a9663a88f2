import Glibc

/// Receives signals on the main thread instead of letting them kill the process.
///
/// The main thread must wait here: Swift's asynchronous `main` parks it with all signals unblocked, even those
/// blocked before.
enum Signals {
    /// Why ``wait()`` returned.
    enum Wait {
        /// SIGINT or SIGTERM.
        case stop
        /// ``wakeMainThread()``.
        case woken
    }

    private static let wake = SIGUSR1

    /// Blocks the signals in this thread and in the threads it starts.
    ///
    /// Call it before starting any thread.
    static func block() {
        var set = waitedFor
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        // Writes to a closed connection fail with EPIPE instead.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Makes ``wait()`` return without an external signal.
    static func wakeMainThread() { kill(getpid(), wake) }

    /// Blocks until a signal arrives.
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

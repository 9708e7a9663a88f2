import Glibc

/// What signals ask of the running relay.
enum SignalRequest: Sendable {
    /// `SIGTERM`, `SIGINT`: finish what is in flight and end.
    case stop
    /// `SIGHUP`: read the certificate and the apps again.
    case reload
}

/// Signals, taken one by one on the main thread instead of interrupting whichever thread is running.
enum Signals {
    /// Wakes the main thread when the relay has ended by itself.
    private static let wake = SIGUSR1

    /// Keeps the signals that are waited for from interrupting anything, and ignores broken pipes.
    ///
    /// Threads inherit this from the one that starts them, so it is called before there is a second.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        var set = waitedFor
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Makes ``wait(at:)`` return without a signal from outside.
    static func wakeMainThread() {
        kill(getpid(), wake)
    }

    /// What a wait came to.
    enum Wait {
        case request(SignalRequest)
        case woken
        case timeout
    }

    /// Waits for a signal; without a limit when there is none given.
    static func wait(atMost limit: Duration?) -> Wait {
        var set = waitedFor
        while true {
            let number: Int32
            if let limit {
                var time = timespec(
                    tv_sec: Int(limit.components.seconds),
                    tv_nsec: Int(limit.components.attoseconds / 1_000_000_000))
                number = sigtimedwait(&set, nil, &time)
            } else {
                number = sigwaitinfo(&set, nil)
            }
            switch number {
            case SIGTERM, SIGINT: return .request(.stop)
            case SIGHUP: return .request(.reload)
            case wake: return .woken
            case _ where errno == EAGAIN: return .timeout
            default: continue
            }
        }
    }

    private static var waitedFor: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, wake] { sigaddset(&set, number) }
        return set
    }
}

import Glibc

/// What a signal asks a running program to do.
package enum SignalRequest: Sendable {
    /// `SIGTERM`, `SIGINT`: finish requests in flight and exit.
    case stop
    /// `SIGHUP`: reload files that may have changed.
    case reload
}

/// Signals, received synchronously on the main thread instead of interrupting other threads.
package enum Signals {
    /// Wakes the main thread when the work has ended on its own.
    private static let wake = SIGUSR1

    /// Blocks the signals that the main thread waits for, and ignores broken pipes.
    ///
    /// Threads inherit the mask, so call it before starting a second thread.
    package static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        var set = waitedFor
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Lets the next signal end the program at once.
    package static func unblock() {
        var set = waitedFor
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Makes ``wait(atMost:)`` return without an external signal.
    package static func wakeMainThread() {
        kill(getpid(), wake)
    }

    /// The result of a wait.
    package enum Wait {
        case request(SignalRequest)
        case woken
        case timeout
    }

    /// Waits for a signal; without a limit, waits indefinitely.
    package static func wait(atMost limit: Duration?) -> Wait {
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

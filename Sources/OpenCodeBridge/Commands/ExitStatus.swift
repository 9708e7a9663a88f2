import Network

/// The exit statuses, numbered as in sysexits.h.
enum ExitStatus: Int32, Sendable {
    case success = 0
    /// A check failed, or no phone rang.
    case failed = 1
    case usage = 64
    case unavailable = 69
    /// A file couldn't be written.
    case output = 74
    case configuration = 78
}

/// Runs asynchronous commands.
enum CommandTask {
    /// Runs a command until it ends.
    static func run(_ work: @escaping @Sendable () async -> ExitStatus) -> ExitStatus {
        let result = Lock(ExitStatus.success)
        let done = ThreadSemaphore()
        Task {
            let status = await work()
            result.withLock { $0 = status }
            done.signal()
        }
        done.wait()
        return result.withLock { $0 }
    }
}

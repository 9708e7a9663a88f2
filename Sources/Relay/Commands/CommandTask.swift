import Network

/// Runs a command in a task that signals can cancel.
enum CommandTask {
    /// Runs `body` while the main thread waits for signals, and returns the exit status.
    static func run(_ body: @escaping @Sendable () async -> ExitStatus) -> ExitStatus {
        Signals.prepare()
        let end = Lock<ExitStatus?>(nil)
        Task {
            let status = await body()
            end.withLock { $0 = status }
            Signals.wakeMainThread()
        }
        while true {
            switch Signals.wait(atMost: nil) {
            case .request(.stop): return .interrupted
            case .woken: if let status = end.withLock({ $0 }) { return status }
            case .request(.reload), .timeout: continue
            }
        }
    }
}

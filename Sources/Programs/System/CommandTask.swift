import Synchronization

/// Runs a command in a task that signals can end.
package enum CommandTask {
    /// Runs `body` while the main thread waits for signals, and returns the exit status.
    ///
    /// - Parameter stop: Called for SIGTERM and SIGINT; returns the status to end with, or `nil` to wait for `body`.
    package static func run(
        stop: () -> ExitStatus? = { .interrupted }, _ body: @escaping @Sendable () async -> ExitStatus
    ) -> ExitStatus {
        Signals.prepare()
        let end = End()
        Task {
            end.status.store(await body().rawValue, ordering: .releasing)
            Signals.wakeMainThread()
        }
        while true {
            switch Signals.wait(atMost: nil) {
            case .request(.stop): if let status = stop() { return status }
            case .woken:
                if let status = ExitStatus(rawValue: end.status.load(ordering: .acquiring)) { return status }
            case .request(.reload), .timeout: continue
            }
        }
    }

    private final class End: Sendable {
        /// The command's exit status; -1 until it has ended.
        let status = Atomic<Int32>(-1)
    }
}

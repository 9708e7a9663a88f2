import Network

/// State shared by all event loops, behind one lock that is held for less than a microsecond per push.
package struct Shared: Sendable {
    package var state: SimulatorState
    /// The requests waiting for a push to be recorded.
    var waiters: [PushWaiter] = []
    private var lastConnection: UInt64 = 0

    /// Wraps the initial state.
    package init(_ state: SimulatorState) { self.state = state }

    /// Assigns a number to a new connection.
    mutating func nextConnection() -> UInt64 {
        lastConnection += 1
        return lastConnection
    }

    /// Records a push with its outcome and wakes the waiting requests.
    mutating func seal(_ record: PushRecord, hasClientID: Bool) {
        state.seal(record, hasClientID: hasClientID)
        guard !waiters.isEmpty else { return }
        for waiter in waiters { waiter.wake() }
        waiters = []
    }
}

/// A request that waits for the next push or a timeout.
package final class PushWaiter: Sendable {
    private let continuation: Lock<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = Lock(continuation)
    }

    /// Ends the wait; later calls do nothing.
    func wake() {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume()
    }
}

import Network

/// What all event loops of the simulator share, behind one lock that is held for less than a microsecond a push.
package struct Shared: Sendable {
    package var state: SimulatorState
    /// Those who wait for a push to be recorded.
    var waiters: [PushWaiter] = []
    private var lastConnection: UInt64 = 0

    /// What is shared at the start.
    package init(_ state: SimulatorState) { self.state = state }

    /// The number of a new connection.
    mutating func nextConnection() -> UInt64 {
        lastConnection += 1
        return lastConnection
    }

    /// Keeps a push and wakes those who wait for one.
    mutating func seal(_ record: PushRecord, hasClientID: Bool) {
        state.seal(record, hasClientID: hasClientID)
        guard !waiters.isEmpty else { return }
        for waiter in waiters { waiter.wake() }
        waiters = []
    }
}

/// Somebody who waits for a push, until one comes or time is up.
package final class PushWaiter: Sendable {
    private let continuation: Lock<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = Lock(continuation)
    }

    /// Ends the waiting; a second call does nothing.
    func wake() {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume()
    }
}

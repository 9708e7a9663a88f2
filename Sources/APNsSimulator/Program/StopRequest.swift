import Network

/// A request to stop, made by the signal handler and awaited by the server.
final class StopRequest: Sendable {
    private struct State {
        var isMade = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    /// Makes the request; a current or later ``wait()`` returns.
    func make() {
        let waiting = state.withLock { state in
            state.isMade = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns once the request has been made.
    ///
    /// Only one task may wait at a time.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isMade = state.withLock { state in
                if !state.isMade { state.waiting = continuation }
                return state.isMade
            }
            if isMade { continuation.resume() }
        }
    }
}

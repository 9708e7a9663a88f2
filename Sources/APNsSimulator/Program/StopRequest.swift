import Network

/// The wish that the program end: made by a signal, waited for by what serves.
final class StopRequest: Sendable {
    private struct State {
        var isMade = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    /// Ends the waiting, now or when it begins.
    func make() {
        let waiting = state.withLock { state in
            state.isMade = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns once the wish has been made.
    ///
    /// One at a time may wait.
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

import Network

/// A gate where calls wait until a test lets them continue.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// The number of waiting calls.
    var waiting: Int { state.withLock(\.waiting.count) }

    /// Returns once the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Lets all waiting and later calls continue.
    func open() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state = State(isOpen: true)
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

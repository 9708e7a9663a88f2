import Network

/// Where calls wait until a test lets them go on.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Calls that wait.
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

    /// Lets go on what waits, and whatever comes later.
    func open() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state = State(isOpen: true)
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

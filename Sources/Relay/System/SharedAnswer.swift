import Network

/// Caches the answer to an expensive question and shares it among concurrent callers.
final class SharedAnswer<Value: Sendable>: Sendable {
    private struct State {
        var last: (at: MonotonicTime, value: Value)?
        var isAsking = false
        /// Callers waiting for the answer.
        var waiting: [CheckedContinuation<Value?, Never>] = []
    }

    private let state = Lock(State())

    /// The last answer if it is younger than `lifetime`, otherwise a new one.
    ///
    /// - Parameter find: Finds the answer; never runs more than once at a time. It must terminate, because all callers
    ///   wait for it.
    func value(
        at now: MonotonicTime, lifetime: Duration, _ find: () async -> Value
    ) async -> Value {
        let known: Value? = await withCheckedContinuation { continuation in
            state.withLock { state in
                if let last = state.last, now.since(last.at) < lifetime {
                    continuation.resume(returning: last.value)
                } else if state.isAsking {
                    state.waiting.append(continuation)
                } else {
                    state.isAsking = true
                    continuation.resume(returning: nil)
                }
            }
        }
        if let known { return known }
        let value = await find()
        let waiting = state.withLock { state in
            state.last = (now, value)
            state.isAsking = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
        return value
    }

    /// Forgets the last answer.
    func forget() { state.withLock { $0.last = nil } }
}

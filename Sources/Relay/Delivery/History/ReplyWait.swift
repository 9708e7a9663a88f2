import Network
import Storage

/// A sender waiting for a reply or for outcomes, or a phone waiting for a result; the first call to ``end()`` ends the
/// wait.
final class ReplyWait: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var isEnded = false
        /// Whether the current pause is over, possibly even before it has begun.
        var isOver = false
        var known: Acknowledgement?
        var number: UInt64 = 0
    }

    let goal: ReplyWaits.Goal
    /// The event; has no ID if the sender is waiting for outcomes.
    let event: EventName
    private let state: Lock<State>

    init(for goal: ReplyWaits.Goal, of event: EventName, known: Acknowledgement?) {
        self.goal = goal
        self.event = event
        state = Lock(State(known: known))
    }

    /// Waits with the same value count against the same limit.
    struct Share: Hashable {
        let secretHash: SecretHash
        let isOfOutcomes: Bool
    }

    var share: Share { Share(secretHash: event.key.primary, isOfOutcomes: goal == .outcomes) }

    var known: Acknowledgement? {
        get { state.withLock(\.known) }
        set { state.withLock { $0.known = newValue } }
    }

    var number: UInt64 {
        get { state.withLock(\.number) }
        set { state.withLock { $0.number = newValue } }
    }

    var isEnded: Bool { state.withLock(\.isEnded) }

    /// Waits on a loop until `limit` has passed, the wait has ended, or the task is cancelled, which also ends the
    /// wait.
    nonisolated(nonsending) func pause(for limit: Duration, on loop: EventLoop) async {
        state.withLock { $0.isOver = false }
        let timer = Timer(on: loop) { self.resume { $0.isOver = true } }
        timer.schedule(after: limit)
        await withTaskCancellationHandler {
            await withCheckedContinuation { start($0) }
        } onCancel: {
            end()
        }
        timer.cancel()
    }

    private func start(_ continuation: CheckedContinuation<Void, Never>) {
        let isOver = state.withLock { state in
            let isOver = state.isEnded || state.isOver
            if !isOver { state.continuation = continuation }
            return isOver
        }
        if isOver { continuation.resume() }
    }

    func end() {
        resume { $0.isEnded = true }
    }

    private func resume(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            return state.continuation.take()
        }?.resume()
    }
}

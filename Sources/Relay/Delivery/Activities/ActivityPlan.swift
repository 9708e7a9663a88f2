import APNs
import Network
import Storage

/// The effect of a push on a Live Activity; the raw value is Apple's value for `aps.event`.
enum ActivityEvent: String, CaseIterable, Sendable {
    case start, update, end
}

/// How an event reaches a session's Live Activities: a pure function of its type.
///
/// Source: Apple, "Starting and updating Live Activities with ActivityKit push notifications".
struct ActivityPlan: Hashable, Sendable {
    let event: ActivityEvent
    let priority: Priority
    /// How long APNs stores the push.
    let timeToLive: Duration
    /// How long after the push the state becomes outdated; `nil` for never.
    var staleAfter: Duration?
    /// How long after the push the system removes the activity from the lock screen; `nil` lets the system choose.
    var dismissAfter: Duration?
    /// Whether the push lights up the screen.
    var alerts = false

    /// The plan for an event of this type, on a device that already shows the session or on one that doesn't yet.
    init(_ type: EventType, isShown: Bool) {
        switch type {
        case .start where !isShown:
            event = .start
            priority = .immediate
            timeToLive = Bounds.activityTimeToLive
            staleAfter = Bounds.activityStaleTime
            alerts = true
        case .start, .progress:
            event = .update
            priority = .conserveDevicePower
            timeToLive = Bounds.activityProgressTimeToLive
            staleAfter = Bounds.activityStaleTime
        case .permission:
            event = .update
            priority = .immediate
            timeToLive = Bounds.activityTimeToLive
            alerts = true
        case .complete, .error:
            event = .end
            priority = .immediate
            timeToLive = Bounds.activityEndTimeToLive
            dismissAfter = Bounds.activityDismissalTime
        case .end:
            event = .end
            priority = .immediate
            timeToLive = Bounds.activityEndTimeToLive
            // No alert is shown, so there is nothing to read afterwards.
            dismissAfter = .zero
        }
    }
}

/// The newest states, deferred until their sessions' activities may get progress pushes again.
///
/// States are kept only in memory: if one is lost, a newer state follows or the session ends. The memory is bounded:
/// once it is full, the states of sessions that have none in it are dropped.
final class DeferredStates<State: Sendable>: Sendable {
    /// A session of a secret.
    struct Session: Hashable, Sendable {
        let secret: SecretHash
        let sessionID: String
    }

    private struct Deferred {
        var state: State
        var at: Int64
    }

    private let deferred = Lock<[Session: Deferred]>([:])
    private let capacity: Int

    /// Creates an empty store.
    init(capacity: Int = Bounds.activityStatesHeldMax) {
        self.capacity = capacity
    }

    /// Stores a state unless the session already has a newer one; returns true if the caller must take it later.
    ///
    /// - Parameter time: When the state arrived, in milliseconds.
    func keep(_ state: State, of session: Session, at time: Int64) -> Bool {
        deferred.withLock { deferred in
            if let known = deferred[session] {
                if known.at <= time { deferred[session] = Deferred(state: state, at: time) }
                return false
            }
            guard deferred.count < capacity else { return false }
            deferred[session] = Deferred(state: state, at: time)
            return true
        }
    }

    /// Takes a session's state.
    func take(_ session: Session) -> State? {
        deferred.withLock { $0.removeValue(forKey: session)?.state }
    }

    /// The number of deferred states.
    var count: Int { deferred.withLock { $0.count } }
}

import Delays
import Network

/// Decides which event is posted when: a pure function of its state and the time.
///
/// A session's events are posted in order, one at a time. If the relay can't be reached, all events wait; if it answers
/// but can't accept an event, only that session waits.
struct PostQueue: Sendable {
    private struct Lane: Sendable {
        var events: [QueuedEvent] = []
        var isPosting = false
        var notBefore: MonotonicTime?
        var backOff = PostQueue.newBackOff()
    }

    /// The outcome of a post.
    enum Outcome: Sendable, Equatable {
        /// The relay has accepted the event or never will.
        case done
        /// The relay can't accept the event now; it may specify how long to wait.
        case later(Duration)
        /// No relay responds.
        case unreachable
    }

    private var lanes: [SessionID: Lane] = [:]
    /// Sessions with events, in the order of their first event.
    private var order: [SessionID] = []
    private var ids: Set<String> = []
    private var notBefore: MonotonicTime?
    private var backOff = PostQueue.newBackOff()
    private(set) var posting = 0

    private static func newBackOff() -> BackOff {
        BackOff(from: Bounds.postPauseMin, to: Bounds.postPauseMax)
    }

    /// All events that wait or are being posted.
    var events: [QueuedEvent] { order.flatMap { lanes[$0]?.events ?? [] } }
    var count: Int { ids.count }

    func contains(_ id: String) -> Bool { ids.contains(id) }

    /// Adds an event; returns events that are dropped to make room.
    mutating func add(_ event: QueuedEvent) -> [QueuedEvent] {
        guard ids.insert(event.id).inserted else { return [] }
        if lanes[event.session] == nil { order.append(event.session) }
        lanes[event.session, default: Lane()].events.append(event)
        guard ids.count > Bounds.queueEventsMax, let oldest = oldestWaiting() else { return [] }
        remove(oldest)
        return [oldest]
    }

    /// Takes the next event to post.
    mutating func next(_ now: MonotonicTime) -> QueuedEvent? {
        guard posting < Bounds.postsMax, notBefore.map({ now >= $0 }) ?? true else { return nil }
        // While the relay doesn't answer, only one event is tried.
        if backOff.failures > 0, posting > 0 { return nil }
        for session in order {
            guard let lane = lanes[session], !lane.isPosting, let event = lane.events.first,
                lane.notBefore.map({ now >= $0 }) ?? true
            else { continue }
            lanes[session]?.isPosting = true
            posting += 1
            return event
        }
        return nil
    }

    /// Records the outcome of an event from ``next(_:)``.
    ///
    /// - Parameter random: A random number from 0 to 1.
    mutating func finish(
        _ event: QueuedEvent, _ outcome: Outcome, _ now: MonotonicTime, random: Double
    ) {
        posting -= 1
        lanes[event.session]?.isPosting = false
        switch outcome {
        case .done:
            backOff.reset()
            notBefore = nil
            remove(event)
            lanes[event.session]?.backOff.reset()
            lanes[event.session]?.notBefore = nil
        case .later(let pause):
            backOff.reset()
            notBefore = nil
            guard var lane = lanes[event.session] else { return }
            lane.notBefore = now + max(min(pause, Bounds.postPauseMax), lane.backOff.next(random))
            lanes[event.session] = lane
        case .unreachable:
            notBefore = now + backOff.next(random)
        }
    }

    /// Removes and returns the events that are too old, except those being posted.
    mutating func expire(before time: EpochMilliseconds) -> [QueuedEvent] {
        let old = lanes.values.flatMap { $0.events.dropFirst($0.isPosting ? 1 : 0) }.filter { $0.at < time }
        for event in old { remove(event) }
        return old
    }

    /// Removes an event that another process has delivered.
    mutating func remove(id: String) {
        guard ids.contains(id), let event = events.first(where: { $0.id == id }) else { return }
        guard lanes[event.session]?.isPosting != true || lanes[event.session]?.events.first != event
        else { return }
        remove(event)
    }

    private mutating func remove(_ event: QueuedEvent) {
        ids.remove(event.id)
        lanes[event.session]?.events.removeAll { $0.id == event.id }
        guard lanes[event.session]?.events.isEmpty == true else { return }
        lanes[event.session] = nil
        order.removeAll { $0 == event.session }
    }

    /// The oldest event that isn't being posted; a permission only if there is nothing else.
    private func oldestWaiting() -> QueuedEvent? {
        let waiting = lanes.values.flatMap { $0.events.dropFirst($0.isPosting ? 1 : 0) }
        let others = waiting.filter { $0.type != .permission }
        return (others.isEmpty ? waiting : others).min { $0.at < $1.at }
    }
}

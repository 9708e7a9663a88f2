import Delays
import Network
import Testing

@testable import AgentBridge

/// Makes an event for a session.
func event(
    _ id: String, _ session: String = "ses_1", at: EpochMilliseconds = 0,
    text: QueuedEvent.Text = .readable(title: "T", body: "B")
) throws -> QueuedEvent {
    QueuedEvent(
        id: id, at: at, type: .complete, session: try #require(SessionID(session)), text: text)
}

private func time(_ seconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds)
}

@Suite("The order of posts", .timeLimit(.minutes(2)))
struct PostQueueTests {
    @Test("a session's events are posted in order, concurrently with other sessions' events")
    func order() throws {
        var queue = PostQueue()
        let events = [try event("a1"), try event("a2"), try event("b1", "ses_2")]
        for event in events { #expect(queue.add(event) == []) }
        #expect(queue.add(events[0]) == [], "an event that waits is not added twice")
        #expect(queue.next(time(0)) == events[0])
        #expect(queue.next(time(0)) == events[2])
        #expect(queue.next(time(0)) == nil)
        queue.finish(events[0], .done, time(1), random: 0)
        #expect(queue.next(time(1)) == events[1])
        queue.finish(events[1], .done, time(1), random: 0)
        queue.finish(events[2], .done, time(1), random: 0)
        #expect(queue.count == 0 && queue.events.isEmpty && queue.posting == 0)
    }

    @Test("while no relay answers, one event at a time is retried after growing pauses")
    func unreachable() throws {
        var queue = PostQueue()
        let events = try (1...3).map { try event("e\($0)", "ses_\($0)") }
        for event in events { _ = queue.add(event) }
        let next = queue.next(time(0))
        let first = try #require(next)
        queue.finish(first, .unreachable, time(0), random: 1)
        #expect(queue.next(time(0)) == nil)
        #expect(queue.next(time(1)) == first)
        #expect(queue.next(time(1)) == nil, "the others wait for its result")
        queue.finish(first, .unreachable, time(1), random: 1)
        #expect(queue.next(time(2)) == nil)
        #expect(queue.next(time(3)) == first)
        queue.finish(first, .done, time(3), random: 1)
        #expect(queue.next(time(3)) == events[1])
        #expect(queue.next(time(3)) == events[2])
    }

    @Test("an event that the relay can't accept now delays only its own session")
    func later() throws {
        var queue = PostQueue()
        let (first, second) = (try event("a1"), try event("b1", "ses_2"))
        _ = queue.add(first)
        _ = queue.add(second)
        #expect(queue.next(time(0)) == first)
        queue.finish(first, .later(.seconds(30)), time(0), random: 1)
        #expect(queue.next(time(0)) == second)
        #expect(queue.next(time(29)) == nil)
        #expect(queue.next(time(30)) == first)
    }

    @Test("no response silences a session for more than a minute")
    func longPause() throws {
        var queue = PostQueue()
        let first = try event("a1")
        _ = queue.add(first)
        #expect(queue.next(time(0)) == first)
        queue.finish(first, .later(.seconds(3_600)), time(0), random: 1)
        #expect(queue.next(time(59)) == nil)
        #expect(queue.next(time(60)) == first)
    }

    @Test("old events expire, except one that is being posted")
    func expiry() throws {
        var queue = PostQueue()
        let events = [try event("a1", at: 10), try event("a2", at: 20), try event("a3", at: 99)]
        for event in events { _ = queue.add(event) }
        #expect(queue.next(time(0)) == events[0])
        #expect(queue.expire(before: 50) == [events[1]])
        queue.finish(events[0], .later(.zero), time(0), random: 0)
        #expect(queue.expire(before: 50) == [events[0]])
        #expect(queue.events == [events[2]])
    }

    @Test("a full queue drops its oldest event")
    func bound() throws {
        var queue = PostQueue()
        for number in 0..<Bounds.queueEventsMax {
            #expect(queue.add(try event("e\(number)", "ses_\(number % 7)", at: Int64(number))) == [])
        }
        #expect(queue.add(try event("more", at: 1_000_000)).map(\.id) == ["e0"])
        #expect(queue.count == Bounds.queueEventsMax)
    }

    @Test("a full queue drops a permission only if there is nothing else")
    func keepsPermissions() throws {
        var queue = PostQueue()
        let session = try #require(SessionID("ses_1"))
        func permission(_ id: String, at: EpochMilliseconds) -> QueuedEvent {
            QueuedEvent(id: id, at: at, type: .permission, session: session, text: .general)
        }
        _ = queue.add(permission("p0", at: 0))
        _ = queue.add(try event("e1", at: 1))
        for number in 2..<Bounds.queueEventsMax { _ = queue.add(permission("p\(number)", at: Int64(number))) }
        #expect(queue.add(permission("p", at: 1_000_000)).map(\.id) == ["e1"])
        #expect(queue.add(permission("q", at: 1_000_001)).map(\.id) == ["p0"])
    }

    @Test("events that another process delivered are removed")
    func removal() throws {
        var queue = PostQueue()
        _ = queue.add(try event("a1"))
        queue.remove(id: "a1")
        queue.remove(id: "unknown")
        #expect(queue.count == 0 && queue.next(time(0)) == nil)
    }

    @Test("pauses double up to their maximum and are random")
    func backOff() {
        var backOff = BackOff(from: .seconds(1), to: .seconds(60))
        #expect((0..<8).map { _ in backOff.next(1) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        backOff.reset()
        #expect(backOff.next(0) == .milliseconds(500))
        for _ in 0..<100 { _ = backOff.next(0.5) }
        #expect(backOff.next(1) == .seconds(60))
    }
}

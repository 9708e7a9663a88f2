import Network
import Testing

@testable import WebPush

/// A queue that `#expect` can change.
private final class Queue {
    private(set) var state: SendQueue

    init(_ settings: SenderSettings) { state = SendQueue(settings) }

    func arrive(_ push: UInt64, host: String, bytes: Int, at now: MonotonicTime) -> SendQueue.Placement {
        state.arrive(push, host: host, bytes: bytes, at: now)
    }
    func next() -> UInt64? { state.next() }
    func remove(_ push: UInt64) -> Bool { state.remove(push) }
    func answered(host: String, at now: MonotonicTime) { state.answered(host: host, at: now) }
    func ended(host: String) { state.ended(host: host) }
    func failed(
        host: String, _ cause: Unreachable.Cause, at now: MonotonicTime, random: Double
    ) -> [UInt64] {
        state.failed(host: host, cause, at: now, random: random)
    }
}

@Suite("The queue of pushes", .timeLimit(.minutes(1)))
struct SendQueueTests {
    private let now = MonotonicTime(nanoseconds: 1_000_000_000)

    private func queue(_ change: (inout SenderSettings) -> Void = { _ in }) -> Queue {
        var settings = SenderSettings()
        change(&settings)
        return Queue(settings)
    }

    private func add(_ pushes: ClosedRange<UInt64>, _ host: String, to queue: Queue) {
        for push in pushes { #expect(queue.arrive(push, host: host, bytes: 10, at: now) == .queued) }
    }

    @Test("hosts take turns")
    func turns() {
        let queue = queue()
        add(1...3, "a", to: queue)
        add(11...12, "b", to: queue)
        add(21...21, "c", to: queue)
        #expect((0..<7).map { _ in queue.next() } == [1, 11, 21, 2, 12, 3, nil])
        #expect(queue.state.underWay == 6)
        #expect(queue.state.waiting == 0)
        #expect(queue.state.waitingBytes == 0)
    }

    @Test("a host at its limit lets others pass")
    func hostLimit() {
        let queue = queue { $0.underWayPerHostMax = 2 }
        add(1...4, "a", to: queue)
        add(11...11, "b", to: queue)
        #expect((0..<4).map { _ in queue.next() } == [1, 11, 2, nil])
        queue.answered(host: "a", at: now)
        #expect(queue.next() == 3)
        #expect(queue.next() == nil)
    }

    @Test("the total is limited")
    func totalLimit() {
        let queue = queue { $0.underWayMax = 2 }
        add(1...2, "a", to: queue)
        add(11...12, "b", to: queue)
        #expect((0..<3).map { _ in queue.next() } == [1, 11, nil])
        #expect(!queue.state.mayStart)
        queue.ended(host: "a")
        #expect(queue.state.mayStart)
        #expect(queue.next() == 2)
    }

    @Test("pushes are refused when the queue, its bytes or a host's share are full")
    func full() {
        let byCount = queue { $0.queuedMax = 2 }
        add(1...2, "a", to: byCount)
        #expect(byCount.arrive(3, host: "b", bytes: 1, at: now) == .full)
        let byBytes = queue { $0.queuedBytesMax = 25 }
        add(1...2, "a", to: byBytes)
        #expect(byBytes.arrive(3, host: "b", bytes: 6, at: now) == .full)
        #expect(byBytes.arrive(3, host: "b", bytes: 5, at: now) == .queued)
        let byHost = queue { $0.queuedPerHostMax = 2 }
        add(1...2, "a", to: byHost)
        #expect(byHost.arrive(3, host: "a", bytes: 1, at: now) == .full)
        #expect(byHost.arrive(3, host: "b", bytes: 1, at: now) == .queued)
    }

    @Test("a removed push isn't started")
    func removed() {
        let queue = queue()
        add(1...3, "a", to: queue)
        #expect(queue.remove(1))
        #expect(!queue.remove(1))
        #expect(queue.next() == 2)
        #expect(!queue.remove(2), "it is under way")
        #expect(queue.remove(3))
        #expect(queue.next() == nil)
        add(4...4, "a", to: queue)
        #expect(queue.next() == 4)
    }

    @Test(
        "after failures a host's pushes fail until its time is over, then twice as long; an answer ends that")
    func backOff() {
        let queue = queue {
            $0.failuresBeforeRefusing = 2
            $0.backOffBase = .seconds(1)
        }
        add(1...4, "a", to: queue)
        add(11...11, "b", to: queue)
        for _ in 0..<3 { _ = queue.next() }
        #expect(queue.failed(host: "a", .connectFailed, at: now, random: 1) == [])
        #expect(queue.failed(host: "a", .connectFailed, at: now, random: 1) == [3, 4])
        #expect(queue.arrive(5, host: "a", bytes: 1, at: now) == .unreachable(.connectFailed))
        #expect(queue.arrive(12, host: "b", bytes: 1, at: now) == .queued)
        let soon = now + .milliseconds(1_999)
        #expect(queue.arrive(5, host: "a", bytes: 1, at: soon) == .unreachable(.connectFailed))
        let later = now + .seconds(2)
        #expect(queue.arrive(5, host: "a", bytes: 1, at: later) == .queued)
        while queue.next() != nil {}
        #expect(queue.failed(host: "a", .tlsFailed, at: later, random: 1) == [])
        #expect(
            queue.arrive(6, host: "a", bytes: 1, at: later + .milliseconds(3_999)) == .unreachable(.tlsFailed)
        )
        #expect(queue.arrive(6, host: "a", bytes: 1, at: later + .seconds(4)) == .queued)
        #expect(queue.next() == 6)
        queue.answered(host: "a", at: later)
        #expect(queue.arrive(7, host: "a", bytes: 1, at: later) == .queued)
        #expect(queue.next() == 7)
        #expect(
            queue.failed(host: "a", .connectFailed, at: later, random: 1) == [],
            "counted from the start again")
        #expect(queue.arrive(8, host: "a", bytes: 1, at: later) == .queued)
    }

    @Test("requests that fail together are one failure")
    func together() {
        let queue = queue {
            $0.failuresBeforeRefusing = 1
            $0.backOffBase = .seconds(1)
        }
        add(1...100, "a", to: queue)
        while queue.next() != nil {}
        for _ in 0..<100 { _ = queue.failed(host: "a", .connectFailed, at: now, random: 1) }
        #expect(queue.arrive(101, host: "a", bytes: 1, at: now + .seconds(1)) == .queued)
        #expect(queue.state.underWay == 0)
    }

    @Test("hosts that nobody sends to any more are forgotten, and those that others send to aren't")
    func manyHosts() {
        let queue = queue()
        add(1...1, "kept", to: queue)
        for number in 0..<UInt64(3 * SendQueue.hostsMax) {
            add(number + 10...number + 10, "\(number)", to: queue)
            _ = queue.next()
            if number > 0 { queue.answered(host: "\(number)", at: now) }
        }
        #expect(
            queue.state.hasAnswered("\(3 * SendQueue.hostsMax - 1)", since: MonotonicTime(nanoseconds: 0)))
        #expect(!queue.state.hasAnswered("1", since: MonotonicTime(nanoseconds: 0)))
    }
}

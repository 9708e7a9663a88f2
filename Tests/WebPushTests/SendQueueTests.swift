import Network
import Testing

@testable import WebPush

@Suite("The queue of pushes", .timeLimit(.minutes(1)))
struct SendQueueTests {
    @Test("hosts take turns")
    func turns() {
        let queue = Queue()
        queue.add(1...3, "a")
        queue.add(11...12, "b")
        queue.add(21...21, "c")
        #expect(queue.steps() == [.open(1, for: 1), .open(2, for: 11), .open(3, for: 21)])
        for connection in 1...3 { queue.opened(UInt64(connection)) }
        #expect(queue.starts() == [1, 11, 21, 2, 12, 3])
        #expect(queue.state.underWay == 6)
        #expect(queue.state.waiting == 0)
        #expect(queue.state.waitingBytes == 0)
    }

    @Test("a host whose connections are full lets others pass")
    func hostLimit() {
        let queue = Queue { $0.connectionsPerHostMax = 1 }
        queue.add(1...4, "a")
        queue.add(11...11, "b")
        _ = queue.steps()
        queue.opened(1, limit: 2)
        queue.opened(2)
        #expect(queue.starts() == [1, 11, 2])
        queue.ended(on: 1)
        #expect(queue.starts() == [3])
    }

    @Test("the total is limited")
    func totalLimit() {
        let queue = Queue { $0.underWayMax = 2 }
        queue.add(1...2, "a")
        queue.add(11...12, "b")
        _ = queue.steps()
        queue.opened(1)
        queue.opened(2)
        #expect(queue.starts() == [1, 11])
        #expect(!queue.state.mayGoOn)
        queue.ended(on: 1)
        #expect(queue.state.mayGoOn)
        #expect(queue.next() == .start(2, on: 1))
    }

    @Test("pushes are refused when the queue, its bytes or a host's share are full")
    func full() {
        let byCount = Queue { $0.queuedMax = 2 }
        byCount.add(1...2, "a")
        #expect(byCount.arrive(3, host: "b", bytes: 1) == .full)
        let byBytes = Queue { $0.queuedBytesMax = 25 }
        byBytes.add(1...2, "a")
        #expect(byBytes.arrive(3, host: "b", bytes: 6) == .full)
        #expect(byBytes.arrive(3, host: "b", bytes: 5) == .queued)
        let byHost = Queue { $0.queuedPerHostMax = 2 }
        byHost.add(1...2, "a")
        #expect(byHost.arrive(3, host: "a", bytes: 1) == .full)
        #expect(byHost.arrive(3, host: "b", bytes: 1) == .queued)
    }

    @Test("a removed push isn't started")
    func removed() {
        let queue = Queue()
        queue.add(1...3, "a")
        #expect(queue.remove(1))
        #expect(!queue.remove(1))
        #expect(queue.next() == .open(1, for: 2))
        queue.opened(1)
        #expect(queue.next() == .start(2, on: 1))
        #expect(!queue.remove(2), "it is under way")
        #expect(queue.remove(3))
        #expect(queue.next() == nil)
        queue.add(4...4, "a")
        #expect(queue.next() == .start(4, on: 1))
    }

    @Test(
        "after failures a host's pushes fail until its time is over, then twice as long; an answer ends that")
    func backOff() {
        let queue = Queue {
            $0.failuresBeforeRefusing = 2
            $0.backOffBase = .seconds(1)
        }
        queue.add(1...2, "a")
        #expect(queue.next() == .open(1, for: 1))
        #expect(queue.closed(1, .connectFailed) == [1, 2], "nothing else can take them")
        queue.add(3...4, "a")
        queue.add(11...11, "b")
        #expect(queue.steps() == [.open(2, for: 3), .open(3, for: 11)])
        #expect(queue.closed(2, .connectFailed) == [3, 4])
        #expect(queue.arrive(5, host: "a") == .unreachable(.connectFailed))
        #expect(queue.arrive(12, host: "b") == .queued)
        let failedAt = queue.now
        queue.now = failedAt + .milliseconds(1_999)
        #expect(queue.arrive(5, host: "a") == .unreachable(.connectFailed))
        queue.now = failedAt + .seconds(2)
        queue.add(5...5, "a")
        #expect(queue.next() == .open(4, for: 5))
        #expect(queue.closed(4, .tlsFailed) == [5])
        queue.now = failedAt + .milliseconds(5_999)
        #expect(queue.arrive(6, host: "a") == .unreachable(.tlsFailed))
        queue.now = failedAt + .seconds(6)
        queue.add(6...6, "a")
        #expect(queue.next() == .open(5, for: 6))
        queue.opened(5)
        #expect(queue.next() == .start(6, on: 5))
        queue.ended(on: 5)
        #expect(queue.closed(5) == [])
        queue.add(7...7, "a")
        #expect(queue.next() == .open(6, for: 7))
        #expect(queue.closed(6, .connectFailed) == [7])
        #expect(queue.arrive(8, host: "a") == .queued, "counted from the start again")
    }

    @Test(
        "a further connection that fails keeps the first one's pushes waiting, and isn't tried again at once")
    func furtherFailure() {
        let queue = Queue { $0.backOffBase = .seconds(1) }
        queue.add(1...3, "a")
        _ = queue.steps()
        queue.opened(1, limit: 1)
        #expect(queue.steps() == [.start(1, on: 1), .open(2, for: 2)])
        #expect(queue.closed(2, .connectFailed) == [])
        #expect(queue.steps() == [])
        queue.ended(on: 1)
        #expect(queue.steps() == [.start(2, on: 1), .open(3, for: 3)], "the answer ended the wait")
    }

    @Test("a service that closes connections at once is a failed one; one that answers first isn't")
    func closing() {
        let queue = Queue()
        queue.add(1...2, "a")
        _ = queue.steps()
        queue.opened(1, limit: nil, isHTTP2: false)
        #expect(queue.closed(1) == [1, 2])
        queue.add(3...4, "a")
        for (push, connection) in [(UInt64(3), UInt64(2)), (4, 3)] {
            #expect(queue.next() == .open(connection, for: push))
            queue.opened(connection, limit: nil, isHTTP2: false)
            #expect(queue.next() == .start(push, on: connection))
            queue.leave(connection)
            queue.ended(on: connection)
            #expect(queue.state.isDone(connection))
            #expect(queue.closed(connection) == [])
        }
    }

    @Test("a service that takes leave before the first push, or refuses it again and again, is a failed one")
    func uselessConnections() {
        let queue = Queue()
        for (push, connection) in [(UInt64(1), UInt64(1)), (2, 2), (3, 3)] {
            queue.add(push...push, "a")
            #expect(queue.next() == .open(connection, for: push))
            queue.opened(connection)
            queue.leave(connection)
            #expect(queue.closed(connection) == [push])
        }
        #expect(queue.arrive(4, host: "a") == .unreachable(.connectionClosed))
        queue.add(11...11, "b")
        for (number, connection) in (4...6).enumerated() {
            #expect(queue.next() == .open(UInt64(connection), for: 11))
            queue.opened(UInt64(connection))
            #expect(queue.starts() == [11])
            queue.ended(on: UInt64(connection), .refused)
            queue.waitAgain(11, "b")
            #expect(queue.closed(UInt64(connection)) == (number < 2 ? [] : [11]))
        }
        #expect(queue.arrive(12, host: "b") == .unreachable(.connectionClosed))
    }

    @Test("a host that couldn't be connected to has its turn when it may be again")
    func endOfRefusal() {
        let queue = Queue { $0.backOffBase = .seconds(1) }
        queue.add(1...2, "a")
        _ = queue.steps()
        queue.opened(1, limit: nil, isHTTP2: false)
        #expect(queue.steps() == [.start(1, on: 1), .open(2, for: 2)])
        #expect(queue.closed(2, .connectFailed) == [])
        queue.leave(1)
        #expect(queue.steps() == [])
        queue.now = queue.now + .seconds(2)
        _ = queue.check()
        #expect(queue.steps() == [.open(3, for: 2)])
    }

    @Test("hosts that nobody sends to any more are forgotten, and those that others send to aren't")
    func manyHosts() {
        let queue = Queue()
        queue.add(1...1, "kept")
        #expect(queue.next() == .open(1, for: 1))
        queue.opened(1)
        for number in 0..<UInt64(3 * SendQueue.hostsMax) {
            queue.add(number + 10...number + 10, "\(number)")
            #expect(queue.remove(number + 10))
            #expect(queue.starts() == (number == 0 ? [1] : []))
        }
        #expect(queue.state.hosts["kept"] != nil)
        #expect(queue.state.hosts.count <= SendQueue.hostsMax)
    }
}

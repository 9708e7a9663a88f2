import Network
import Testing

@testable import WebPush

@Suite("The connections of the queue", .timeLimit(.minutes(1)))
struct SendQueueConnectionTests {
    @Test("a burst waits for the service's limit, shares a connection, and opens further ones one by one")
    func burst() {
        let queue = Queue()
        queue.add(1...500, "a")
        #expect(queue.steps() == [.open(1, for: 1)])
        queue.opened(1, limit: nil)
        #expect(queue.starts() == [1])
        queue.limitChanged(1, to: 100)
        #expect(queue.starts().count == 99)
        #expect(queue.steps() == [], "one connection is being made")
        for connection: UInt64 in 2...4 {
            queue.opened(connection, limit: 1_000)
            #expect(queue.starts().count == 100, "a connection takes streamsPerConnectionMax")
        }
        #expect(queue.state.connections.count == 4)
        #expect(queue.steps() == [])
        queue.ended(on: 3)
        #expect(queue.steps() == [.start(401, on: 3)])
    }

    @Test("an HTTP/1.1 connection takes one request at a time")
    func one() {
        let queue = Queue { $0.connectionsPerHostMax = 2 }
        queue.add(1...3, "a")
        _ = queue.steps()
        queue.opened(1, limit: nil, isHTTP2: false)
        #expect(queue.steps() == [.start(1, on: 1), .open(2, for: 2)])
        queue.opened(2, limit: nil, isHTTP2: false)
        #expect(queue.starts() == [2])
        queue.ended(on: 1)
        #expect(queue.starts() == [3])
    }

    @Test("a limit of 0 starts nothing until it rises; refusals lower it, and answers raise it again")
    func limits() {
        let queue = Queue { $0.connectionsPerHostMax = 1 }
        queue.add(1...20, "a")
        _ = queue.steps()
        queue.opened(1, limit: 0)
        #expect(queue.steps() == [])
        queue.limitChanged(1, to: 5)
        #expect(queue.starts().count == 5)
        queue.ended(on: 1, .refused)
        queue.ended(on: 1, .refused)
        #expect(queue.starts() == [], "three are under way")
        queue.ended(on: 1)
        #expect(queue.starts().count == 2)
        for _ in 0..<3 { queue.ended(on: 1, .refused) }
        #expect(!queue.state.isDone(1))
        queue.ended(on: 1, .refused)
        #expect(queue.state.isDone(1), "it refuses even a single request")
    }

    @Test("a host without a connection gets the one that has been idle the longest; many hosts get one each")
    func crowd() {
        let queue = Queue { $0.connectionsMax = 4 }
        for number: UInt64 in 1...4 {
            queue.add(number...number, "\(number)")
            #expect(queue.next() == .open(number, for: number))
            queue.opened(number, limit: 1)
            #expect(queue.next() == .start(number, on: number))
        }
        queue.add(5...5, "5")
        queue.add(6...6, "6")
        queue.add(7...7, "1")
        #expect(queue.steps() == [], "all are busy, and no host gets a second one")
        queue.now = queue.now + .seconds(1)
        queue.ended(on: 2)
        #expect(queue.steps() == [.open(5, for: 5, closing: 2)])
        #expect(queue.closed(2) == [])
        queue.ended(on: 3, .unanswered)
        #expect(queue.closed(3) == [])
        #expect(queue.steps() == [.open(6, for: 6)])
        queue.ended(on: 1)
        #expect(queue.steps() == [.start(7, on: 1)])
    }

    @Test(
        "a host gets the push through for which its connection was opened, however many others wait for one")
    func crowdOfNewConnections() {
        let queue = Queue { $0.connectionsMax = 2 }
        for number: UInt64 in 1...4 { queue.add(number...number, "\(number)") }
        #expect(queue.steps() == [.open(1, for: 1), .open(2, for: 2)])
        queue.opened(1)
        #expect(queue.steps() == [.start(1, on: 1)])
        queue.opened(2)
        #expect(queue.steps() == [.start(2, on: 2)])
        queue.ended(on: 1)
        queue.now = queue.now + .milliseconds(1)
        queue.ended(on: 2)
        #expect(queue.steps() == [.open(3, for: 3, closing: 1), .open(4, for: 4, closing: 2)])
    }

    @Test("a host that loses its connection to another one has its turn again")
    func evicted() {
        let queue = Queue { $0.connectionsMax = 1 }
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1, limit: 0)
        #expect(queue.steps() == [])
        queue.add(2...2, "b")
        #expect(queue.steps() == [.open(2, for: 2, closing: 1)])
        #expect(queue.closed(1) == [])
        queue.opened(2)
        #expect(queue.starts() == [2])
        queue.ended(on: 2)
        #expect(queue.steps() == [.open(3, for: 1, closing: 2)])
    }

    @Test("a connection that takes no more pushes leaves its host another one, also while many are in use")
    func successor() {
        let queue = Queue { $0.connectionsMax = 4 }
        for number: UInt64 in 1...2 {
            queue.add(number...number, "\(number)")
            _ = queue.steps()
            queue.opened(number)
            _ = queue.steps()
        }
        queue.leave(1)
        queue.add(3...3, "1")
        #expect(queue.steps() == [.open(3, for: 3)])
        queue.now = queue.now + .seconds(2)
        #expect(queue.check().contains(.ping(2)))
        queue.add(4...4, "2")
        #expect(queue.steps() == [.open(4, for: 4)])
    }

    @Test("pushes that wait for a connection of their own and time out leave the next host its turn")
    func crowdTimeout() {
        let queue = Queue { $0.connectionsMax = 1 }
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1, limit: 1)
        _ = queue.steps()
        queue.add(2...2, "b")
        queue.add(3...3, "c")
        #expect(queue.steps() == [])
        #expect(queue.remove(2))
        queue.ended(on: 1)
        #expect(queue.steps() == [.open(2, for: 3, closing: 1)])
    }

    @Test("a service that owes answers gets a PING, no pushes, and is left if it stays silent")
    func silence() {
        let queue = Queue { $0.connectionsPerHostMax = 1 }
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1)
        queue.now = queue.now + .seconds(60)
        #expect(queue.check() == [], "an idle service owes nothing")
        #expect(queue.starts() == [1])
        queue.now = queue.now + .milliseconds(1_999)
        #expect(queue.check() == [])
        queue.now = queue.now + .milliseconds(1)
        #expect(queue.check() == [.ping(1)])
        queue.add(2...2, "a")
        #expect(queue.steps() == [])
        queue.ponged(1)
        #expect(queue.starts() == [2])
        queue.now = queue.now + .seconds(2)
        #expect(queue.check() == [.ping(1)])
        queue.now = queue.now + .milliseconds(2_999)
        #expect(queue.check() == [])
        queue.now = queue.now + .milliseconds(1)
        #expect(queue.check() == [.close(1)])
    }

    @Test("a PING has its time also if the check was late")
    func lateCheck() {
        let queue = Queue()
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1)
        _ = queue.steps()
        queue.now = queue.now + .seconds(60)
        #expect(queue.check() == [.ping(1)])
        queue.now = queue.now + .milliseconds(2_999)
        #expect(queue.check() == [])
    }

    @Test("an idle connection is closed after a while")
    func idle() {
        let queue = Queue()
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1, limit: nil, isHTTP2: false)
        _ = queue.steps()
        queue.ended(on: 1)
        queue.now = queue.now + .seconds(109)
        #expect(queue.check() == [])
        queue.now = queue.now + .seconds(1)
        #expect(queue.check() == [.close(1)])
        #expect(queue.closed(1) == [])
        #expect(queue.state.connections.isEmpty)
    }

    @Test("a new connection isn't idle before it has had the push for which it was opened")
    func late() {
        let queue = Queue()
        queue.add(1...1, "a")
        _ = queue.steps()
        queue.opened(1)
        queue.now = queue.now + .seconds(110)
        #expect(queue.check() == [])
        #expect(queue.starts() == [1])
    }
}

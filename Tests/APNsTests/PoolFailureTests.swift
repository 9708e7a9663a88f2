import Network
import Testing

@testable import APNs

@Suite("When connections fail", .timeLimit(.minutes(2)))
struct PoolFailureTests {
    @Test("failed attempts back off exponentially up to the limit, with jitter")
    func backoff() {
        var pool = Pool {
            $0.failuresBeforeRefusing = 100
            $0.backoffMax = .seconds(2)
        }
        _ = pool.push()
        #expect(pool.actions() == [.open(0)])
        for milliseconds in [250, 500, 1000, 2000, 2000, 2000] {
            pool.closed(0)
            #expect(pool.actions() == [])
            #expect(pool.state.nextTick == pool.now + .milliseconds(milliseconds))
            pool.pass(.milliseconds(milliseconds - 1))
            pool.tick()
            #expect(pool.actions() == [])
            pool.pass(.milliseconds(1))
            pool.tick()
            #expect(pool.actions() == [.open(0)])
        }
        pool.jitter = 0
        pool.closed(0)
        #expect(pool.state.nextTick == pool.now + .seconds(1), "half of the wait is random")
    }

    @Test("after the third consecutive failure pushes fail immediately until the next attempt is due")
    func refusing() {
        var pool = Pool()
        _ = pool.push()
        _ = pool.push()
        for _ in 0..<2 {
            #expect(pool.actions() == [.open(0)])
            pool.closed(0)
            pool.pass(.seconds(1))
            pool.tick()
        }
        #expect(pool.actions() == [.open(0)])
        pool.closed(0)
        #expect(pool.actions() == [.failQueued])
        pool.state.unqueue()
        pool.state.unqueue()
        #expect(pool.push() == .unreachable)
        #expect(pool.actions() == [])
        pool.pass(.seconds(1))
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [.open(0)], "a push is the next attempt")
    }

    @Test("a settled connection is replaced immediately and not counted as a failure")
    func settled() {
        var pool = Pool.primed()
        pool.pass(.seconds(3600))
        _ = pool.push()
        pool.end(0, .broken)
        pool.closed(0)
        #expect(pool.state.failures == 0)
        _ = pool.push()
        #expect(pool.actions() == [.open(0)])
    }

    @Test("a connection that served but ended young is replaced immediately once, then with back-off")
    func shortLived() {
        var pool = Pool.primed { $0.failuresBeforeRefusing = 100 }
        var delays: [Duration] = []
        for _ in 0..<4 {
            pool.pass(.milliseconds(10))
            pool.closed(0)
            _ = pool.push()
            let due = pool.state.nextTick ?? pool.now
            delays.append(due.since(pool.now))
            pool.now = max(due, pool.now)
            pool.tick()
            #expect(pool.actions() == [.open(0)])
            pool.opened(0)
            _ = pool.sendAll()
            pool.answer(0)
        }
        #expect(delays == [.zero, .milliseconds(250), .milliseconds(500), .seconds(1)])
    }

    @Test("connections that end together count as one failure")
    func sameMoment() {
        var pool = Pool.primed(limit: 1) { $0.connectionsMax = 3 }
        for _ in 0..<9 { _ = pool.push() }
        for index in 1..<3 {
            _ = pool.actions()
            pool.opened(index)
            _ = pool.sendAll()
            pool.answer(index)
            _ = pool.sendAll()
        }
        pool.pass(.milliseconds(1))
        for index in 0..<3 {
            pool.end(index, .broken)
            pool.closed(index)
        }
        #expect(pool.state.failures == 1)
    }
}

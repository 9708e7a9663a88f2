import Network
import Testing

@testable import APNs

@Suite("GOAWAY, refusals and silence", .timeLimit(.minutes(2)))
struct PoolRetirementTests {
    @Test(
        "a connection that sent GOAWAY takes no more pushes; its unprocessed ones go to a new one immediately"
    )
    func goAway() {
        var pool = Pool.primed()
        for _ in 0..<5 { _ = pool.push() }
        pool.goAway(0)
        #expect(pool.actions() == [.retire(0)])
        for _ in 0..<2 {
            pool.end(0, .refused)
            pool.state.requeue(at: pool.now)
        }
        #expect(pool.actions() == [.open(1)])
        #expect(pool.push() == .queue)
        for _ in 0..<3 { pool.answer(0) }
        #expect(pool.next() == nil)
        pool.opened(1)
        #expect(pool.next() == 1)
        pool.closed(0)
        #expect(pool.state.connections[0] == nil)
        pool.goAway(0)
        #expect(pool.actions() == [], "an answer too late changes nothing")
    }

    @Test("a retired connection that doesn't drain is closed by its deadline")
    func undrained() {
        var pool = Pool.primed { $0.silenceMax = .seconds(60) }
        _ = pool.push()
        pool.goAway(0)
        _ = pool.actions()
        pool.pass(.seconds(9))
        pool.tick()
        #expect(!pool.actions().contains(.close(0, .undrained)))
        pool.pass(.seconds(1))
        pool.tick()
        #expect(pool.actions() == [.close(0, .undrained)])
    }

    @Test("refused streams lower the soft limit for a while, answers raise it again")
    func softLimit() {
        var pool = Pool.primed(limit: 100) { $0.connectionsMax = 1 }
        for _ in 0..<10 { _ = pool.push() }
        pool.end(0, .refused)
        pool.state.requeue(at: pool.now)
        #expect(pool.next() == nil, "nine is what the server seems to take")
        pool.answer(0)
        #expect(pool.sendAll() == [0: 1])
        for _ in 0..<30 { _ = pool.push() }
        for _ in 0..<9 { pool.answer(0) }
        #expect(pool.sendAll() == [0: 18])
        #expect(pool.state.connections[0]?.streams == 19)
    }

    @Test("a connection that keeps refusing streams is retired")
    func refusesEverything() {
        var pool = Pool.primed()
        pool.pass(.seconds(1))
        _ = pool.push()
        pool.end(0, .refused)
        #expect(pool.actions() == [])
        pool.pass(.seconds(5))
        _ = pool.push()
        pool.end(0, .refused)
        #expect(pool.actions() == [.retire(0)])
    }

    @Test("a silent server that owes answers gets a PING and no new pushes, and is then replaced")
    func silence() {
        var pool = Pool.primed { $0.connectionsMax = 2 }
        #expect(pool.push() == .connection(0))
        #expect(pool.state.nextTick == pool.now + .seconds(2))
        pool.pass(.seconds(2))
        pool.tick()
        #expect(pool.actions() == [.ping(0)])
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [.open(1)], "a push costs nothing but the way to a new connection")
        #expect(pool.state.nextTick == pool.now + .seconds(3))
        pool.pass(.seconds(3))
        pool.tick()
        #expect(pool.actions() == [.close(0, .silent)])
        pool.tick()
        #expect(pool.actions() == [])
        pool.end(0, .broken)
        pool.closed(0)
        #expect(pool.state.connections[0] == nil)
    }

    @Test("a server that answers the PING is slow and not replaced")
    func slow() {
        var pool = Pool.primed()
        _ = pool.push()
        for _ in 0..<4 {
            pool.pass(.seconds(2))
            pool.tick()
            #expect(pool.actions() == [.ping(0)])
            pool.pass(.milliseconds(100))
            pool.state.ponged(0, at: pool.now)
            #expect(pool.push() == .connection(0))
        }
        pool.pass(.milliseconds(1999))
        pool.tick()
        #expect(pool.actions() == [])
    }

    @Test("a server that answers PINGs but no pushes is retired when a push times out")
    func answersNothing() {
        var pool = Pool.primed()
        let sentAt = pool.now + .seconds(1)
        pool.pass(.seconds(1))
        _ = pool.push()
        _ = pool.push()
        pool.pass(.seconds(10))
        pool.state.timedOut(0, sentAt: sentAt, at: pool.now, jitter: 1)
        #expect(pool.actions() == [.retire(0)])

        var fair = Pool.primed()
        fair.pass(.seconds(1))
        let other = fair.now
        _ = fair.push()
        _ = fair.push()
        fair.pass(.seconds(1))
        fair.answer(0)
        fair.pass(.seconds(9))
        fair.state.timedOut(0, sentAt: other, at: fair.now, jitter: 1)
        #expect(fair.actions() == [], "another push was answered meanwhile")
    }

    @Test("an idle connection gets a PING periodically and is closed if it doesn't answer")
    func idle() {
        var pool = Pool.primed()
        #expect(pool.state.nextTick == pool.now + .seconds(15 * 60))
        pool.pass(.seconds(15 * 60))
        pool.tick()
        #expect(pool.actions() == [.ping(0)])
        pool.state.ponged(0, at: pool.now)
        pool.pass(.seconds(15 * 60))
        pool.tick()
        #expect(pool.actions() == [.ping(0)])
        pool.pass(.seconds(5))
        pool.tick()
        #expect(pool.actions() == [.close(0, .silent)])
    }

    @Test("stopping retires open connections and closes connecting ones")
    func stop() {
        var pool = Pool.primed(limit: 1)
        for _ in 0..<3 { _ = pool.push() }
        #expect(pool.actions() == [.open(1)])
        pool.answer(0)
        pool.state.unqueue()
        pool.state.unqueue()
        pool.state.retireAll(at: pool.now)
        #expect(pool.actions() == [.retire(0), .close(1, .unneeded)])
        pool.opened(1)
        #expect(pool.push() == .queue)
        #expect(pool.next() == nil)
    }
}

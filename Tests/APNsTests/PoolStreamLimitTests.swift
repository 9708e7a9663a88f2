import Network
import Testing

@testable import APNs

@Suite("Connections on which the server allows no streams", .timeLimit(.minutes(2)))
struct PoolStreamLimitTests {
    /// A pool with the maximum number of connections, which had been in use for a minute when their limit dropped to 0.
    private func dropped(_ count: Int) -> Pool {
        var pool = Pool.primed(limit: 1) { $0.connectionsMax = count }
        for _ in 0..<(2 * count) { _ = pool.push() }
        for index in 1..<count {
            _ = pool.actions()
            pool.opened(index)
            pool.limit(index, 1)
            _ = pool.sendAll()
            pool.answer(index)
            _ = pool.sendAll()
        }
        while pool.state.queued > 0 { pool.state.unqueue() }
        for index in 0..<count { pool.answer(index) }
        pool.pass(.seconds(60))
        for index in 0..<count { pool.limit(index, 0) }
        _ = pool.actions()
        return pool
    }

    @Test("they are replaced after pushes have waited a few seconds, immediately if no failure came before")
    func replaced() {
        var pool = dropped(3)
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [])
        #expect(pool.state.nextTick == pool.now + .seconds(3))
        pool.pass(.milliseconds(2_999))
        pool.tick()
        #expect(pool.actions() == [])
        pool.pass(.milliseconds(1))
        pool.tick()
        let actions = pool.actions()
        let retired = (0..<3).map { PoolState.Action.retire($0, .noStreams) }
        #expect(actions.filter(retired.contains) == retired)
        #expect(actions.filter { !retired.contains($0) } == [.open(3)], "one new connection at a time")
        pool.opened(3)
        #expect(pool.next() == 3)
        #expect(pool.state.failures == 0)
    }

    @Test("they stay while no push waits; a later push replaces them immediately")
    func idle() {
        var pool = dropped(1)
        pool.pass(.seconds(60))
        pool.tick()
        #expect(pool.actions() == [])
        #expect(pool.push() == .queue)
        let hasNewDuty = pool.state.takeNewDuty()
        #expect(hasNewDuty, "the tick has come nearer")
        #expect(pool.state.nextTick.map { $0 <= pool.now } == true)
        pool.tick()
        #expect(pool.actions() == [.retire(0, .noStreams), .open(1)])
    }

    @Test("a limit raised again in time, or lowered to one, costs no connection")
    func raised() {
        var pool = dropped(1)
        _ = pool.push()
        _ = pool.push()
        pool.pass(.seconds(2))
        pool.limit(0, 1)
        #expect(pool.sendAll() == [0: 1])
        pool.pass(.seconds(2))
        pool.tick()
        #expect(!pool.actions().contains(.retire(0, .noStreams)))
        #expect(pool.state.connections[0]?.phase == .open)
        // The wait starts again.
        pool.limit(0, 0)
        pool.answer(0)
        pool.pass(.milliseconds(2_999))
        pool.tick()
        #expect(pool.actions() == [])
        // Repeating the limit of 0 changes nothing.
        pool.limit(0, 0)
        pool.pass(.milliseconds(1))
        pool.tick()
        #expect(pool.actions() == [.retire(0, .noStreams), .open(1)])
    }

    @Test("pushes in flight on such a connection still get their answers")
    func underWay() {
        var pool = Pool.primed(limit: 2) { $0.connectionsMax = 1 }
        pool.pass(.seconds(60))
        for _ in 0..<3 { _ = pool.push() }
        pool.limit(0, 0)
        pool.pass(.seconds(1))
        pool.answer(0)
        pool.pass(.seconds(2))
        pool.tick()
        #expect(pool.actions().contains(.retire(0, .noStreams)))
        #expect(pool.state.connections[0]?.streams == 1)
        pool.answer(0)
        #expect(pool.state.connections[0]?.streams == 0)
    }

    @Test("none is replaced before another may be opened")
    func backoff() {
        var pool = Pool.primed { $0.backoffBase = .seconds(10) }
        pool.limit(0, 0)
        _ = pool.push()
        #expect(pool.actions() == [.open(1)])
        pool.closed(1)
        pool.pass(.milliseconds(9_999))
        pool.tick()
        #expect(!pool.actions().contains(.retire(0, .noStreams)))
        pool.state.ponged(0, at: pool.now)
        #expect(pool.state.nextTick == pool.now + .milliseconds(1))
        pool.pass(.milliseconds(1))
        pool.tick()
        #expect(pool.actions().contains(.retire(0, .noStreams)))
    }

    /// Simulates a server that accepts connections but allows no streams; returns when each connection was opened.
    ///
    /// Pushes arrive at intervals of `every` and wait for at most `patience`.
    private func opened(in time: Duration, every: Duration, patience: Duration) -> [Duration] {
        var pool = Pool()
        let start = pool.now
        let end = start + time
        var moments: [Duration] = []
        var live = 0
        var nextPush = start
        var givesUp = start
        while pool.now < end {
            if pool.now >= givesUp { while pool.state.queued > 0 { pool.state.unqueue() } }
            if pool.now >= nextPush {
                _ = pool.push()
                nextPush = pool.now + every
                givesUp = pool.now + patience
            }
            for action in pool.actions() {
                switch action {
                case .open(let index):
                    moments.append(pool.now.since(start))
                    live += 1
                    #expect(live <= 1, "a second connection, though the first had no streams either")
                    pool.opened(index)
                    pool.limit(index, 0)
                case .retire(let index, let reason):
                    #expect(reason == .noStreams)
                    live -= 1
                    pool.closed(index)
                case .failQueued: while pool.state.queued > 0 { pool.state.unqueue() }
                case .ping(let index): pool.state.ponged(index, at: pool.now)
                case .close: Issue.record("nothing is silent here")
                }
            }
            guard pool.state.actions.isEmpty else { continue }
            let next = min(pool.state.nextTick ?? nextPush, nextPush, max(givesUp, pool.now + .seconds(1)))
            pool.now = max(next, pool.now + .milliseconds(1))
            pool.tick()
        }
        return moments
    }

    @Test(
        "connections to a server that never allows streams are retried with back-off, whatever their age",
        arguments: [(1, 1), (8, 8), (25, 10), (25, 4)])
    func storm(secondsBetweenPushes: Int, patience: Int) throws {
        let moments = opened(
            in: .seconds(1200), every: .seconds(secondsBetweenPushes), patience: .seconds(patience))
        #expect((8...40).contains(moments.count), "\(moments)")
        let gaps = zip(moments.dropFirst(), moments).map(-)
        #expect(gaps.allSatisfy { $0 >= .seconds(3) })
        #expect(try #require(gaps.last) >= .seconds(60))
    }

    @Test("after the third consecutive such connection pushes fail immediately until the next attempt is due")
    func refusing() {
        var pool = Pool()
        _ = pool.push()
        for attempt in 1...3 {
            #expect(pool.actions() == [.open(0)])
            pool.opened(0)
            pool.limit(0, 0)
            #expect(pool.next() == nil)
            pool.pass(.seconds(3))
            pool.tick()
            #expect(pool.actions() == [.retire(0, .noStreams)])
            pool.closed(0)
            guard attempt < 3 else { break }
            pool.pass(.seconds(2))
            pool.tick()
        }
        #expect(pool.actions() == [.failQueued])
        pool.state.unqueue()
        #expect(pool.push() == .unreachable)
        pool.pass(.seconds(2))
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [.open(0)])
        pool.opened(0)
        #expect(pool.next() == 0, "it has come to its senses")
        pool.answer(0)
        #expect(pool.state.unansweredFailures == 3, "counted until the end of a connection that served")
        pool.closed(0)
        #expect(pool.state.unansweredFailures == 0)
    }
}

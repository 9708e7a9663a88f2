import Network
import Testing

@testable import APNs

/// A pool state with a clock that the test moves, and shorthand for what happens to it.
private struct Pool {
    var state: PoolState
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var jitter = 1.0

    init(_ change: (inout ClientSettings) -> Void = { _ in }) {
        var settings = ClientSettings()
        change(&settings)
        state = PoolState(settings)
    }

    mutating func pass(_ time: Duration) { now = now + time }
    mutating func push() -> PoolState.Placement { state.arrive(at: now) }
    mutating func next() -> Int? { state.next(at: now) }
    mutating func actions() -> [PoolState.Action] { state.takeActions() }
    mutating func opened(_ index: Int) { state.opened(index, at: now) }
    mutating func limit(_ index: Int, _ limit: Int) { state.limitChanged(index, to: limit, at: now) }
    mutating func answer(_ index: Int, _ kind: PoolState.AnswerKind = .accepted) {
        state.answered(index, kind, at: now)
    }
    mutating func end(_ index: Int, _ end: PoolState.StreamEnd) {
        state.ended(index, end, at: now, jitter: jitter)
    }
    mutating func goAway(_ index: Int) { state.retire(index, at: now, jitter: jitter) }
    mutating func closed(_ index: Int) { state.closed(index, at: now, jitter: jitter) }
    mutating func tick() { state.tick(at: now, jitter: jitter) }

    /// How many pushes go out now, by connection.
    mutating func sendAll() -> [Int: Int] {
        var sent: [Int: Int] = [:]
        while let index = next() { sent[index, default: 0] += 1 }
        return sent
    }

    /// A pool with one primed connection that allows `limit` streams and has none.
    static func primed(limit: Int = 100, _ change: (inout ClientSettings) -> Void = { _ in }) -> Pool {
        var pool = Pool(change)
        _ = pool.push()
        _ = pool.actions()
        pool.opened(0)
        pool.limit(0, limit)
        _ = pool.next()
        pool.answer(0)
        return pool
    }
}

@Suite("Where a push goes")
struct PoolPlacementTests {
    @Test("the first push opens a connection and waits for it; no second one is opened meanwhile")
    func firstPush() {
        var pool = Pool()
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [.open(0)])
        #expect(pool.push() == .queue)
        #expect(pool.actions() == [])
        #expect(pool.next() == nil)
        pool.opened(0)
        #expect(pool.next() == 0)
        #expect(pool.next() == nil, "one push until the token is known to be good")
        #expect(pool.state.queued == 1)
        #expect(pool.actions() == [])
    }

    @Test("one push at a time until one was accepted, then as many as SETTINGS allow")
    func priming() {
        var pool = Pool()
        for _ in 0..<10 { _ = pool.push() }
        pool.opened(0)
        pool.limit(0, 4)
        #expect(pool.sendAll() == [0: 1])
        pool.answer(0, .unproven)
        #expect(pool.sendAll() == [0: 1], "a refused token shows nothing")
        pool.answer(0, .accepted)
        #expect(pool.sendAll() == [0: 4])
    }

    @Test("a refusal of a push shows that the token is known: then the server's limit decides")
    func primedByRefusal() {
        var pool = Pool()
        for _ in 0..<10 { _ = pool.push() }
        pool.opened(0)
        pool.limit(0, 1)
        #expect(pool.sendAll() == [0: 1])
        pool.answer(0, .rejected)
        #expect(pool.sendAll() == [0: 1], "the server allows one")
        pool.limit(0, 100)
        #expect(pool.sendAll() == [0: 8])

        var other = Pool()
        for _ in 0..<10 { _ = other.push() }
        other.opened(0)
        other.limit(0, 100)
        #expect(other.sendAll() == [0: 1])
        other.answer(0, .rejected)
        #expect(other.sendAll() == [0: 9])
    }

    @Test("only refused tokens: the pushes go one by one and never stop")
    func neverPrimed() {
        var pool = Pool()
        for _ in 0..<50 { _ = pool.push() }
        pool.opened(0)
        pool.limit(0, 100)
        for _ in 0..<50 {
            #expect(pool.sendAll() == [0: 1])
            pool.answer(0, .unproven)
        }
        #expect(pool.state.queued == 0)
        #expect(pool.actions() == [.open(0)], "and no other connection is tried with the same token")
    }

    @Test("before SETTINGS one push may go")
    func beforeSettings() {
        var pool = Pool()
        for _ in 0..<3 { _ = pool.push() }
        pool.opened(0)
        #expect(pool.sendAll() == [0: 1])
        pool.answer(0)
        #expect(pool.sendAll() == [0: 1], "the limit isn't known yet")
        pool.limit(0, 100)
        #expect(pool.sendAll() == [0: 1])
    }

    @Test("the limit holds when it is lowered, also below what is under way, and when it is raised again")
    func limitChanges() {
        var pool = Pool.primed(limit: 10) { $0.connectionsMax = 1 }
        for _ in 0..<20 { _ = pool.push() }
        _ = pool.sendAll()
        #expect(pool.state.connections[0]?.streams == 10)
        pool.limit(0, 3)
        for _ in 0..<7 { pool.answer(0) }
        #expect(pool.sendAll() == [:])
        pool.answer(0)
        #expect(pool.sendAll() == [0: 1])
        pool.limit(0, 0)
        pool.answer(0)
        #expect(pool.sendAll() == [:])
        pool.limit(0, 1000)
        #expect(pool.sendAll() == [0: 9])
    }

    @Test("our own bound of streams holds whatever the server allows")
    func ownBound() {
        var pool = Pool.primed(limit: 1_000_000) {
            $0.streamsPerConnectionMax = 5
            $0.connectionsMax = 1
        }
        for _ in 0..<20 { _ = pool.push() }
        #expect(pool.state.connections[0]?.streams == 5)
        #expect(pool.state.queued == 15)
    }

    @Test("the queue is bounded, and a new push never overtakes one that waits")
    func queueBound() {
        var pool = Pool.primed(limit: 1) {
            $0.queuedPushesMax = 2
            $0.connectionsMax = 1
        }
        #expect(pool.push() == .connection(0))
        #expect(pool.push() == .queue)
        #expect(pool.push() == .queue)
        #expect(pool.push() == .queueFull)
        pool.answer(0)
        #expect(pool.push() == .queueFull, "two wait, though one could go")
        #expect(pool.next() == 0)
        #expect(pool.push() == .queue)
        pool.state.unqueue()
        pool.state.unqueue()
        #expect(pool.state.queued == 0)
    }

    @Test("a full connection makes a second one be opened, which is primed and then shares the load")
    func growth() {
        var pool = Pool.primed(limit: 4)
        for _ in 0..<4 { #expect(pool.push() == .connection(0)) }
        #expect(pool.actions() == [])
        for _ in 0..<8 { #expect(pool.push() == .queue) }
        #expect(pool.actions() == [.open(1)])
        pool.opened(1)
        pool.limit(1, 4)
        #expect(pool.sendAll() == [1: 1])
        pool.answer(1)
        #expect(pool.sendAll() == [1: 4])
        #expect(pool.actions() == [.open(2)], "three still wait")
        for _ in 0..<3 { pool.answer(0) }
        pool.answer(1)
        #expect(pool.push() == .queue)
        #expect(pool.sendAll() == [0: 3, 1: 1])
    }

    @Test("never more connections than the bound")
    func connectionBound() {
        var pool = Pool.primed(limit: 1) { $0.connectionsMax = 3 }
        for _ in 0..<50 { _ = pool.push() }
        for index in 1..<3 {
            #expect(pool.actions() == [.open(index)])
            pool.opened(index)
            _ = pool.sendAll()
            pool.answer(index)
            _ = pool.sendAll()
        }
        #expect(pool.actions() == [])
        #expect(pool.state.connections.count == 3)
    }

    @Test("the connection with the fewest pushes takes the next one, a new one the first")
    func leastLoaded() {
        var pool = Pool.primed(limit: 2)
        for _ in 0..<3 { _ = pool.push() }
        _ = pool.actions()
        pool.opened(1)
        pool.limit(1, 10)
        #expect(pool.next() == 1)
        pool.answer(1)
        #expect(pool.push() == .connection(1))
        pool.answer(0)
        pool.answer(0)
        #expect(pool.push() == .connection(0))
        #expect(pool.push() == .connection(0))
        #expect(pool.push() == .connection(1))
    }
}

@Suite("When connections fail")
struct PoolFailureTests {
    @Test("failed attempts are put off longer and longer, up to the bound, and with jitter")
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

    @Test("after the third failure in a row pushes fail at once, until the next attempt is due")
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

    @Test("a connection that had served for a while is replaced at once, with no failure counted")
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

    @Test("one that served and ended young is replaced at once the first time, then more and more slowly")
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

@Suite("GOAWAY, refusals and silence")
struct PoolRetirementTests {
    @Test("a connection that went away takes nothing more; its moved pushes go to a new one at once")
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

    @Test("refused streams make room smaller for a while, answers make it grow again")
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

    @Test("a connection that refuses everything for a while is retired")
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

    @Test("a server that owes answers and is silent is asked, spared new pushes, and replaced")
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

    @Test("a server that answers the PING is not replaced, only slow")
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

    @Test("a server that answers PINGs but no push since one was sent is retired when that times out")
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

    @Test("an idle connection is asked now and then, and closed when it doesn't answer")
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

    @Test("stopping retires what stands and closes what is on its way")
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

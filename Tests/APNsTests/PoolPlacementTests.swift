import Network
import Testing

@testable import APNs

@Suite("Placing pushes", .timeLimit(.minutes(2)))
struct PoolPlacementTests {
    @Test("the first push opens a connection and waits for it; no second one is opened")
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

    @Test("one push at a time until one is accepted, then as many as SETTINGS allow")
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

    @Test("a refused push shows that the token is known; then the server's limit decides")
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

    @Test("if all tokens are refused, pushes continue one by one")
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

    @Test("one push may be sent before SETTINGS")
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

    @Test("the limit holds when lowered, even below the open streams, and when raised again")
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

    @Test("the client's own stream limit holds whatever the server allows")
    func ownBound() {
        var pool = Pool.primed(limit: 1_000_000) {
            $0.streamsPerConnectionMax = 5
            $0.connectionsMax = 1
        }
        for _ in 0..<20 { _ = pool.push() }
        #expect(pool.state.connections[0]?.streams == 5)
        #expect(pool.state.queued == 15)
    }

    @Test("the queue is bounded, and a new push never overtakes a queued one")
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

    @Test("a full connection opens a second one, which is primed and then shares the load")
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

    @Test("there are never more connections than the limit")
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

    @Test("the connection with the fewest pushes takes the next push, and a new one goes first")
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

import Storage
import Testing

@Suite("Decisions of a connection pool", .timeLimit(.minutes(2)))
struct PoolStateTests {
    private static func pool(_ connections: Int, waiting: Int = 100) -> PoolState {
        var options = ServerOptions()
        options.connectionsMax = connections
        options.waitingCallsMax = waiting
        options.checkAfterIdle = .seconds(30)
        options.lifetime = .seconds(100)
        options.reconnectDelayMin = .milliseconds(100)
        options.reconnectDelayMax = .seconds(1)
        return PoolState(options: options)
    }

    private static let down = StorageError.unavailable(logDetail: "refused")

    /// A pool whose one connection is open and idle since second 0.
    private static func openPool(_ connections: Int = 1) -> PoolState {
        var pool = pool(connections)
        _ = pool.add(0, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 1)
        _ = pool.released(slot: 0, now: .zero)
        return pool
    }

    @Test("Connections are opened for those who wait, up to the bound")
    func grows() {
        var pool = Self.pool(2)
        #expect(pool.add(1, deadline: .seconds(5), now: .zero) == [.open(slot: 0)])
        #expect(pool.add(2, deadline: .seconds(5), now: .zero) == [.open(slot: 1)])
        #expect(pool.add(3, deadline: .seconds(5), now: .zero) == [])
        #expect(pool.opened(slot: 1, now: .zero, youth: 0) == [.run(1, slot: 1, checking: false)])
        #expect(pool.opened(slot: 0, now: .zero, youth: 0) == [.run(2, slot: 0, checking: false)])
        #expect(pool.released(slot: 0, now: .zero) == [.run(3, slot: 0, checking: false)])
    }

    @Test("At most two connections are being opened, however many calls wait")
    func opensFew() {
        var pool = Self.pool(9)
        let opened = (1...9).flatMap { pool.add(UInt64($0), deadline: .seconds(5), now: .zero) }
        #expect(opened == [.open(slot: 0), .open(slot: 1)])
        let next = pool.opened(slot: 1, now: .zero, youth: 0)
        #expect(next == [.run(1, slot: 1, checking: false), .open(slot: 2)])
        #expect(pool.connections.opening == 2)
    }

    @Test("It counts what its connections do, and what became of others")
    func counts() {
        var pool = Self.pool(3)
        func expect(_ idle: Int, _ busy: Int, _ opening: Int, location: SourceLocation = #_sourceLocation) {
            let counted = pool.connections
            #expect(counted.max == 3, sourceLocation: location)
            #expect(
                [counted.idle, counted.busy, counted.opening] == [idle, busy, opening],
                sourceLocation: location)
        }
        expect(0, 0, 0)
        for call in 1...2 { _ = pool.add(UInt64(call), deadline: .seconds(5), now: .zero) }
        expect(0, 0, 2)
        _ = pool.opened(slot: 0, now: .zero, youth: 0)
        expect(0, 1, 1)
        _ = pool.opened(slot: 1, now: .zero, youth: 0)
        _ = pool.released(slot: 0, now: .zero)
        expect(1, 1, 0)
        _ = pool.lost(slot: 1, now: .zero)
        expect(1, 0, 0)
        _ = pool.lost(slot: 0, now: .zero)
        _ = pool.add(3, deadline: .seconds(5), now: .zero)
        expect(0, 0, 1)
        _ = pool.openFailed(slot: 0, error: Self.down, now: .zero, chance: 0)
        expect(0, 0, 0)
        let counted = pool.connections
        #expect(counted.opened == 2 && counted.lost == 2 && counted.failed == 1)
    }

    @Test("Calls are served in the order in which they came")
    func fair() {
        var pool = Self.pool(1)
        for call in 1...50 { _ = pool.add(UInt64(call), deadline: .seconds(5), now: .zero) }
        var served = pool.opened(slot: 0, now: .zero, youth: 0)
        for _ in 2...50 { served += pool.released(slot: 0, now: .zero) }
        #expect(served == (1...50).map { .run(UInt64($0), slot: 0, checking: false) })
    }

    @Test("One call too many is refused at once")
    func bounded() {
        var pool = Self.pool(1, waiting: 2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        guard case .fail(3, .unavailable) = pool.add(3, deadline: .seconds(5), now: .zero).first else {
            Issue.record("the third call was let in")
            return
        }
    }

    @Test("A call waits until its deadline and not longer")
    func deadline() {
        var pool = Self.pool(1)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(6), now: .seconds(1))
        #expect(pool.nextTick == .seconds(5))
        #expect(pool.tick(now: .milliseconds(4_999)) == [])
        let expected = StorageError.timeout(logDetail: "no connection to the database was free in time")
        #expect(pool.tick(now: .seconds(5)) == [.fail(1, expected)])
        #expect(pool.nextTick == .seconds(6))
        #expect(pool.opened(slot: 0, now: .seconds(5), youth: 0) == [.run(2, slot: 0, checking: false)])
    }

    @Test("A connection that lay idle is asked first whether it lives")
    func checks() {
        var pool = Self.openPool()
        #expect(
            pool.add(1, deadline: .seconds(34), now: .milliseconds(29_999))
                == [.run(1, slot: 0, checking: false)])
        _ = pool.released(slot: 0, now: .seconds(30))
        #expect(pool.add(2, deadline: .seconds(65), now: .seconds(60)) == [.run(2, slot: 0, checking: true)])
    }

    @Test("After a loss the connections that were idle are doubted, and new ones are not")
    func suspects() {
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 0)
        _ = pool.opened(slot: 1, now: .zero, youth: 0)
        _ = pool.released(slot: 0, now: .seconds(1))
        #expect(pool.lost(slot: 1, now: .seconds(2)) == [])
        #expect(pool.add(3, deadline: .seconds(9), now: .seconds(3)) == [.run(3, slot: 0, checking: true)])
        #expect(pool.add(4, deadline: .seconds(9), now: .seconds(3)) == [.open(slot: 1)])
        #expect(
            pool.opened(slot: 1, now: .seconds(3), youth: 0) == [.run(4, slot: 1, checking: false)])
    }

    @Test("By default a connection is asked after an idle time that networks may forget it in")
    func checksSoon() {
        var pool = PoolState(options: ServerOptions())
        _ = pool.add(0, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 1)
        _ = pool.released(slot: 0, now: .zero)
        #expect(pool.add(1, deadline: .seconds(9), now: .seconds(4)) == [.run(1, slot: 0, checking: false)])
        _ = pool.released(slot: 0, now: .seconds(4))
        #expect(pool.add(2, deadline: .seconds(19), now: .seconds(14)) == [.run(2, slot: 0, checking: true)])
    }

    @Test("Where an idle connection was found dead, those idle for longer are closed unasked")
    func dead() {
        var pool = Self.pool(3)
        for call in 1...3 { _ = pool.add(UInt64(call), deadline: .seconds(5), now: .zero) }
        for slot in 0...2 { _ = pool.opened(slot: slot, now: .zero, youth: 1) }
        for slot in 0...2 { _ = pool.released(slot: slot, now: .seconds(slot)) }
        #expect(
            pool.add(4, deadline: .seconds(50), now: .seconds(40)) == [.run(4, slot: 2, checking: true)])
        #expect(pool.add(5, deadline: .seconds(50), now: .seconds(40)) == [.run(5, slot: 1, checking: true)])
        _ = pool.released(slot: 1, now: .seconds(41))
        // Slot 1 has been working since then.
        #expect(pool.foundDead(slot: 2, now: .seconds(41)) == [.close(slot: 0)])
        #expect(pool.connections.lost == 2)
        #expect(
            pool.addAgain(4, deadline: .seconds(50), error: Self.down, now: .seconds(41))
                == [.run(4, slot: 1, checking: false)])
    }

    @Test("A server without a connection left is asked again for who waits, who is told why at the deadline")
    func crowded() {
        let crowded = StorageError.crowded(logDetail: "too many")
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .milliseconds(120), now: .zero)
        #expect(pool.openFailed(slot: 0, error: crowded, now: .zero, chance: 1) == [])
        #expect(pool.add(2, deadline: .seconds(5), now: .milliseconds(50)) == [])
        #expect(pool.nextTick == .milliseconds(100))
        #expect(pool.tick(now: .milliseconds(100)) == [.open(slot: 0)])
        #expect(pool.openFailed(slot: 0, error: crowded, now: .milliseconds(100), chance: 1) == [])
        #expect(pool.tick(now: .milliseconds(120)) == [.fail(1, crowded)])
        #expect(pool.tick(now: .milliseconds(300)) == [.open(slot: 0)])
        #expect(
            pool.opened(slot: 0, now: .milliseconds(310), youth: 1) == [.run(2, slot: 0, checking: false)])
    }

    @Test("A connection stays while the server would give no other for it")
    func crowdedAndOld() {
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 1)
        _ = pool.add(2, deadline: .seconds(150), now: .seconds(99))
        _ = pool.openFailed(slot: 1, error: .crowded(logDetail: ""), now: .seconds(99), chance: 1)
        #expect(pool.released(slot: 0, now: .seconds(101)) == [.run(2, slot: 0, checking: false)])
        #expect(pool.released(slot: 0, now: .seconds(102)) == [])
        #expect(pool.nextTick == nil)
        #expect(pool.tick(now: .seconds(103)) == [])
    }

    @Test("Old connections are closed when they are free, each a little earlier or later")
    func lifetime() {
        var pool = Self.pool(1)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 0.5)
        #expect(pool.released(slot: 0, now: .seconds(94)) == [])
        #expect(pool.nextTick == .seconds(95))
        #expect(pool.tick(now: .seconds(95)) == [.close(slot: 0)])
        _ = pool.add(2, deadline: .seconds(105), now: .seconds(100))
        _ = pool.opened(slot: 0, now: .seconds(100), youth: 0)
        _ = pool.add(3, deadline: .seconds(205), now: .seconds(200))
        // Another connection for the waiting call.
        #expect(pool.released(slot: 0, now: .seconds(200)) == [.close(slot: 0), .open(slot: 0)])
    }

    @Test("A server that is down fails calls at once and is tried again by itself, more and more seldom")
    func down() {
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        #expect(
            pool.openFailed(slot: 0, error: Self.down, now: .zero, chance: 1) == [.fail(1, Self.down)])
        #expect(pool.add(2, deadline: .seconds(5), now: .milliseconds(50)) == [.fail(2, Self.down)])
        var now = Duration.zero
        for delay in [100, 200, 400, 800, 1_000, 1_000] {
            now += .milliseconds(delay)
            #expect(pool.nextTick == now)
            #expect(pool.tick(now: now - .milliseconds(1)) == [])
            #expect(pool.tick(now: now) == [.open(slot: 0)])
            #expect(pool.nextTick == nil)
            // Even while the attempt is running.
            #expect(pool.add(3, deadline: now + .seconds(5), now: now) == [.fail(3, Self.down)])
            #expect(pool.openFailed(slot: 0, error: Self.down, now: now, chance: 1) == [])
        }
        _ = pool.tick(now: now + .seconds(1))
        #expect(pool.opened(slot: 0, now: now + .seconds(1), youth: 0) == [])
        #expect(
            pool.add(4, deadline: now + .seconds(9), now: now + .seconds(2))
                == [.run(4, slot: 0, checking: false)])
    }

    @Test("The waits between attempts are shortened at random, by half at most")
    func jitter() {
        for (chance, expected) in [(0.0, 50), (0.5, 75), (1.0, 100)] {
            var pool = Self.pool(1)
            _ = pool.add(1, deadline: .seconds(5), now: .zero)
            _ = pool.openFailed(slot: 0, error: Self.down, now: .zero, chance: chance)
            #expect(pool.nextTick == .milliseconds(expected))
        }
    }

    @Test("While a connection lives a failure to open another fails nobody")
    func partial() {
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 0)
        #expect(pool.add(2, deadline: .seconds(5), now: .zero) == [.open(slot: 1)])
        #expect(pool.openFailed(slot: 1, error: Self.down, now: .zero, chance: 1) == [])
        // No second attempt before its time, and then only one.
        #expect(pool.add(3, deadline: .seconds(5), now: .milliseconds(10)) == [])
        #expect(pool.nextTick == .milliseconds(100))
        #expect(pool.tick(now: .milliseconds(100)) == [.open(slot: 1)])
        #expect(pool.released(slot: 0, now: .milliseconds(110)) == [.run(2, slot: 0, checking: false)])
        #expect(
            pool.opened(slot: 1, now: .milliseconds(120), youth: 0) == [.run(3, slot: 1, checking: false)])
    }

    @Test("When the last connection is lost while others can't be opened, those who wait are told")
    func lastLost() {
        var pool = Self.pool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 0)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        _ = pool.openFailed(slot: 1, error: Self.down, now: .zero, chance: 1)
        #expect(pool.lost(slot: 0, now: .milliseconds(10)) == [.fail(2, Self.down)])
        #expect(pool.nextTick == .milliseconds(100))
    }

    @Test("A call whose connection was lost comes before all others, if it has time left")
    func again() {
        var pool = Self.pool(1)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 0, now: .zero, youth: 0)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        #expect(pool.lost(slot: 0, now: .seconds(1)) == [.open(slot: 0)])
        #expect(pool.addAgain(1, deadline: .seconds(5), error: Self.down, now: .seconds(1)) == [])
        #expect(pool.opened(slot: 0, now: .seconds(1), youth: 0) == [.run(1, slot: 0, checking: false)])
        _ = pool.lost(slot: 0, now: .seconds(5))
        #expect(
            pool.addAgain(1, deadline: .seconds(5), error: Self.down, now: .seconds(5))
                == [.fail(1, Self.down)])
    }

    @Test("A call whose connection was the last one learns why no other can be opened")
    func againWhileDown() {
        let readOnly = StorageError.readOnly(logDetail: "session is read-only")
        var pool = Self.openPool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        #expect(pool.openFailed(slot: 1, error: readOnly, now: .zero, chance: 1) == [])
        _ = pool.lost(slot: 0, now: .zero)
        #expect(
            pool.addAgain(1, deadline: .seconds(5), error: Self.down, now: .zero) == [.fail(1, readOnly)])
    }

    @Test("An old failure to connect doesn't fail a call that loses the last connection later")
    func againLater() {
        var pool = Self.openPool(2)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        #expect(pool.openFailed(slot: 1, error: Self.down, now: .zero, chance: 1) == [])
        #expect(pool.released(slot: 0, now: .zero) == [.run(2, slot: 0, checking: false)])
        _ = pool.released(slot: 0, now: .zero)
        #expect(pool.add(3, deadline: .seconds(65), now: .seconds(60)) == [.run(3, slot: 0, checking: true)])
        _ = pool.foundDead(slot: 0, now: .seconds(60))
        #expect(
            pool.addAgain(3, deadline: .seconds(65), error: Self.down, now: .seconds(60))
                == [.open(slot: 0)])
    }

    @Test("Closing fails those who wait, closes what is idle and the rest as soon as it is free")
    func closes() {
        var pool = Self.openPool(3)
        _ = pool.add(1, deadline: .seconds(5), now: .zero)
        _ = pool.add(2, deadline: .seconds(5), now: .zero)
        _ = pool.opened(slot: 1, now: .zero, youth: 0)
        _ = pool.released(slot: 0, now: .zero)
        _ = pool.add(3, deadline: .seconds(5), now: .zero)
        _ = pool.add(4, deadline: .seconds(5), now: .zero)
        // Slot 0 has call 3, slot 1 has call 2, slot 2 is being opened for call 4.
        #expect(pool.close() == [.fail(4, .closed)])
        #expect(pool.released(slot: 0, now: .zero) == [.close(slot: 0)])
        #expect(pool.lost(slot: 1, now: .zero) == [])
        #expect(pool.opened(slot: 2, now: .zero, youth: 0) == [.close(slot: 2)])
        #expect(pool.add(5, deadline: .seconds(5), now: .zero) == [.fail(5, .closed)])
        #expect(pool.nextTick == nil)
        #expect(pool.tick(now: .seconds(900)) == [])
    }
}

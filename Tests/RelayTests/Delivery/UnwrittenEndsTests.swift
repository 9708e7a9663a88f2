import Storage
import Testing

@testable import Relay

@Suite("Unwritten ends", .timeLimit(.minutes(2)))
struct UnwrittenEndsTests {
    private static let hash = RelayFixture.key.primary
    private static let full = StorageError.full(logDetail: "x")
    private static let slow = StorageError.timeout(logDetail: "x")

    private func owner(_ number: Int) -> UUIDv7 {
        var generator = Zeros()
        return UUIDv7(at: EpochMilliseconds(number), using: &generator)
    }

    private func end(_ number: Int, again: Bool = false) -> PushQueue.End {
        let delivery = Delivery(
            id: "push \(number)", secretHash: Self.hash, eventType: "error", sessionID: "s", status: .sent,
            error: nil, createdAt: EpochMilliseconds(number))
        return PushQueue.End(
            settlement: Settlement(
                id: "push \(number)", secretHash: Self.hash, owner: owner(1),
                end: again ? .again(dueAt: 0, attempts: 1) : .over(delivery)))
    }

    private func ends(_ count: Int) -> Ends {
        let ends = Ends()
        for number in 0..<count { #expect(ends.add(end(number))) }
        return ends
    }

    private func push(_ number: Int) -> PendingPush {
        PendingPush(
            id: "push \(number)", secretHash: Self.hash, deviceID: "device", eventType: "error",
            sessionID: "s", payload: [], pushType: "alert", priority: 5, collapseID: nil, attempts: 1,
            dueAt: 0, createdAt: 0, expiresAt: 1)
    }

    /// Writes until nothing is left.
    ///
    /// `error` returns why a batch is not written. Returns the batches' sizes, negative for those without the log.
    private func write(
        _ ends: Ends, _ error: (UnwrittenEnds.Batch) -> StorageError?
    ) -> (sizes: [Int], unlogged: Int) {
        var sizes: [Int] = []
        var unlogged = 0
        while sizes.count < 1_000, let batch = ends.next() {
            sizes.append(batch.isLogged ? batch.ends.count : -batch.ends.count)
            if let error = error(batch) {
                _ = ends.failed(batch, error, isEnding: false)
            } else {
                unlogged += ends.wrote(batch, leased: batch.ends.map { _ in true }).unlogged.count
            }
        }
        return (sizes, unlogged)
    }

    @Test("The oldest end is the first one that waits or is being written")
    func oldest() throws {
        var ends = UnwrittenEnds()
        #expect(ends.oldest == nil)
        for end in [end(1, again: true), end(3), end(4)] { _ = ends.add(end) }
        #expect(ends.oldest == 3)
        let next = ends.next()
        let batch = try #require(next)
        _ = ends.add(end(5))
        #expect(ends.oldest == 3)
        _ = ends.wrote(batch, leased: [true, true, true])
        #expect(ends.oldest == 5)
    }

    @Test("A batch that only the log refuses is written without log rows")
    func unlogged() {
        let ends = ends(300)
        let written = write(ends) { $0.isLogged ? Self.full : nil }
        #expect(written.sizes == [256, -256, 44, -44] && written.unlogged == 300)
        #expect(ends.count == 0)
    }

    @Test("When the database refuses everything, attempts are few and no end is lost")
    func allRefused() {
        let ends = ends(2_000)
        let first = write(ends) { _ in Self.full }
        #expect(first.sizes.count <= 2 + 2 * Bounds.endsRefusedInRowMax)
        #expect(ends.count == 2_000 && ends.refusedCount == 2_000)
        // Ends that arrive meanwhile are tried once with the log and once without.
        #expect(ends.add(end(2_000)) && ends.add(end(2_001)))
        #expect(write(ends) { _ in Self.full }.sizes == [2, -2])
        #expect(ends.refusedCount == 2_002)
        // When the database accepts ends again, whole batches are written.
        var written = 0
        while let batch = ends.nextRefused() {
            written += ends.wrote(batch, leased: [true]).unlogged.count
        }
        #expect(written == 2_002 && ends.count == 0)
        for number in 0..<300 { #expect(ends.add(end(number))) }
        #expect(write(ends) { _ in nil }.sizes == [256, 44])
    }

    @Test("A locked log costs one timeout per batch")
    func locked() {
        let ends = ends(1_000)
        let written = write(ends) { $0.isLogged ? Self.slow : nil }
        #expect(ends.count == 0 && written.unlogged == 1_000)
        let timeouts = written.sizes.count { $0 > 0 }
        #expect(timeouts <= Bounds.endsLoggedTimeoutsMax + 11, "\(written.sizes)")
        // When the log is free, ends are written with it again, even after a while without it.
        #expect(ends.add(end(0)))
        #expect(write(ends) { _ in nil }.sizes == [1])
    }

    @Test("A locked row doesn't block other ends")
    func lockedRow() throws {
        let ends = ends(300)
        let written = write(ends) { batch in
            batch.ends.contains { $0.settlement.id == "push 77" } ? Self.slow : nil
        }
        #expect(ends.count == 1 && ends.refusedCount == 1)
        #expect(written.sizes.count < 30, "\(written.sizes)")
        // The end of a push that will be sent again isn't set aside.
        let other = Ends()
        #expect(other.add(end(0, again: true)))
        var steps: [UnwrittenEnds.Step] = []
        for _ in 0..<3 {
            let batch = try #require(other.next())
            steps.append(other.failed(batch, Self.slow, isEnding: false))
        }
        #expect(steps == [.resume, .wait(.milliseconds(250)), .wait(.milliseconds(500))])
        #expect(other.count == 1 && other.refusedCount == 0)
    }

    @Test("Waits grow up to a bound while the database is down; the batch stays whole and logged")
    func away() {
        let ends = ends(10)
        var waits: [Duration] = []
        for _ in 0..<6 {
            guard let batch = ends.next() else { break }
            #expect(batch.ends.count == 10 && batch.isLogged)
            let step = ends.failed(batch, .unavailable(logDetail: "x"), isEnding: false)
            if case .wait(let delay) = step { waits.append(delay) }
        }
        #expect(
            waits == [
                .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(2), .seconds(2),
            ])
        #expect(ends.count == 10)
    }

    @Test(
        "A refused postponement is dropped: its push becomes due when the lease runs out"
    )
    func again() {
        let ends = Ends()
        #expect(ends.add(end(0, again: true)) && ends.add(end(1)))
        _ = write(ends) { _ in Self.full }
        #expect(ends.count == 1 && ends.takeLost() == 1 && ends.takeLost() == 0)
        #expect(!ends.reclaimed(push(0), owner: owner(2)))
        #expect(ends.reclaimed(push(1), owner: owner(2)))
    }

    @Test(
        "A push with an unwritten end is recognised when it is claimed again, and its end gets the new lease"
    )
    func reclaimed() throws {
        let ends = ends(3)
        #expect(!ends.reclaimed(push(9), owner: owner(2)))
        #expect(ends.reclaimed(push(1), owner: owner(2)))
        let batch = try #require(ends.next())
        #expect(batch.ends.map(\.settlement.owner) == [owner(1), owner(2), owner(1)])
        _ = ends.wrote(batch, leased: [true, true, false])
        #expect(ends.count == 0)
        #expect(!ends.reclaimed(push(0), owner: owner(4)) && !ends.reclaimed(push(1), owner: owner(4)))
        // Another process held the row when its end was written; under this lease the end can be written.
        #expect(ends.reclaimed(push(2), owner: owner(4)) && ends.count == 1)
        let late = try #require(ends.next())
        #expect(late.ends.map(\.settlement.owner) == [owner(4)])
        _ = ends.wrote(late, leased: [true])
        #expect(!ends.reclaimed(push(2), owner: owner(5)))
    }

    @Test("A push that is claimed again while its end is being written gets its end under the new lease")
    func reclaimedInHand() throws {
        let ends = ends(2)
        let first = try #require(ends.next())
        #expect(ends.reclaimed(push(0), owner: owner(2)) && ends.reclaimed(push(1), owner: owner(2)))
        // The first end was in time, the other one too late.
        #expect(ends.wrote(first, leased: [true, false]).notLeased == 0)
        #expect(ends.count == 1)
        let second = try #require(ends.next())
        #expect(second.ends.map(\.settlement.owner) == [owner(2)])
        #expect(ends.reclaimed(push(1), owner: owner(3)))
        _ = ends.failed(second, Self.full, isEnding: false)
        let third = try #require(ends.next())
        #expect(third.ends.map(\.settlement.owner) == [owner(3)])
        _ = ends.failed(third, Self.full, isEnding: false)
        let alone = try #require(ends.nextRefused())
        #expect(ends.reclaimed(push(1), owner: owner(4)))
        ends.failedAgain(alone)
        #expect(ends.nextRefused()?.ends.map(\.settlement.owner) == [owner(4)])
        #expect(!ends.reclaimed(push(0), owner: owner(5)))
    }

    @Test("Claiming a refused push again updates its lease and adds no second end")
    func reclaimedRefused() throws {
        let ends = ends(2)
        _ = write(ends) { _ in Self.full }
        for number in 2..<9 { #expect(ends.reclaimed(push(0), owner: owner(number))) }
        #expect(ends.count == 2 && ends.refusedCount == 2)
        let batch = try #require(ends.nextRefused())
        #expect(batch.ends.map(\.settlement.owner) == [owner(8)] && !batch.isLogged)
        ends.failedAgain(batch)
        #expect(ends.nextRefused()?.ends.map(\.settlement.id) == ["push 1"])
    }

    @Test("The newest late ends are remembered, up to a limit")
    func remembered() {
        let count = Bounds.endsRememberedMax + 10
        let ends = ends(count)
        while let batch = ends.next() { _ = ends.wrote(batch, leased: batch.ends.map { _ in false }) }
        #expect(!ends.reclaimed(push(9), owner: owner(2)))
        #expect(ends.reclaimed(push(10), owner: owner(2)) && ends.reclaimed(push(count - 1), owner: owner(2)))
        #expect(ends.count == 2)
    }

    @Test(
        "Ends are bounded, refused ones included; refused ends are dropped when the process ends"
    )
    func bounded() {
        let ends = ends(1_000)
        _ = write(ends) { _ in Self.full }
        for number in 1_000..<Bounds.endsWaitingMax { #expect(ends.add(end(number))) }
        #expect(!ends.add(end(-1)))
        ends.giveUpRefused()
        #expect(ends.takeLost() == 1_000 && ends.count == Bounds.endsWaitingMax - 1_000)
        #expect(!ends.reclaimed(push(0), owner: owner(2)))
    }
}

private struct Zeros: RandomNumberGenerator {
    func next() -> UInt64 { 0 }
}

/// Ends behind a reference, so that expectations can change them.
private final class Ends {
    private var value = UnwrittenEnds()

    var count: Int { value.count }
    var refusedCount: Int { value.refusedCount }

    func add(_ end: PushQueue.End) -> Bool { value.add(end) }
    func next() -> UnwrittenEnds.Batch? { value.next() }
    func nextRefused() -> UnwrittenEnds.Batch? { value.nextRefused() }

    func wrote(_ batch: UnwrittenEnds.Batch, leased: [Bool]) -> UnwrittenEnds.Written {
        value.wrote(batch, leased: leased)
    }

    func failed(
        _ batch: UnwrittenEnds.Batch, _ error: StorageError, isEnding: Bool
    ) -> UnwrittenEnds.Step {
        value.failed(batch, error, isEnding: isEnding)
    }

    func failedAgain(_ batch: UnwrittenEnds.Batch) { value.failedAgain(batch) }
    func reclaimed(_ push: PendingPush, owner: UUIDv7) -> Bool { value.reclaimed(push, owner: owner) }
    func giveUpRefused() { value.giveUpRefused() }
    func takeLost() -> Int { value.takeLost() }
}

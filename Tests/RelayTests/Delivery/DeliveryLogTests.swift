import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Delivery log", .timeLimit(.minutes(2)))
struct DeliveryLogTests {
    private let time = Lock<EpochMilliseconds>(0)

    /// Rows with the same IDs as the previous ones, at a later time.
    private func rows(_ count: Int) -> [Delivery] {
        let time = time.withLock { time in
            time += 1
            return time
        }
        return (0..<count).map { index in
            Delivery(
                id: "row-\(index)", secretHash: RelayFixture.key.primary, eventType: "complete",
                sessionID: "s", status: .sent, error: nil, createdAt: time)
        }
    }

    private func options(waiting: Int = 100, batch: Int = 10) -> DeliveryLog.Options {
        DeliveryLog.Options(waitingMax: waiting, batchMax: batch, pause: { _ in })
    }

    @Test("Rows are written in batches, and all of them before the end")
    func batches() async throws {
        let storage = FakeStorage()
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options())
        log.append(rows(25))
        log.finish()
        await log.run()
        #expect(storage.state.withLock(\.batches) == [10, 10, 5])
        #expect(storage.state.withLock { $0.deliveries.map(\.id) } == rows(25).map(\.id))
        #expect(try await lines.closed().isEmpty)
    }

    @Test("Rows that arrive while it runs are written automatically")
    func running() async throws {
        let storage = FakeStorage()
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options())
        async let run: Void = log.run()
        for round in 1...3 {
            log.append(rows(2))
            #expect(await eventually { storage.state.withLock { $0.deliveries.count } == 2 * round })
        }
        log.finish()
        await run
        #expect(storage.state.withLock { $0.deliveries.count } == 6)
        await lines.log.close()
    }

    @Test("Rows that don't fit are dropped, counted and logged")
    func bounded() async throws {
        let storage = FakeStorage()
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options(waiting: 7))
        log.append(rows(5))
        log.append(rows(5))
        log.finish()
        log.append(rows(1))
        await log.run()
        #expect(storage.state.withLock { $0.deliveries.count } == 7)
        let written = try await lines.closed()
        #expect(written.map { $0["event"] } == ["delivery.dropped"])
        #expect(written.first?["rows"] == 4)
        #expect(log.figures == DeliveryLog.Figures(waiting: 0, waitingMax: 7, dropped: 4))
    }

    @Test("Rows being written count towards the buffer's limit")
    func inHand() async throws {
        let storage = FakeStorage()
        let gate = Gate()
        storage.state.withLock { $0.appendGate = gate }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options(waiting: 7))
        log.append(rows(5))
        async let run: Void = log.run()
        #expect(await eventually { gate.waiting == 1 })
        log.append(rows(5))
        #expect(log.figures == DeliveryLog.Figures(waiting: 7, waitingMax: 7, dropped: 3))
        gate.open()
        log.finish()
        await run
        #expect(log.figures == DeliveryLog.Figures(waiting: 0, waitingMax: 7, dropped: 3))
        await lines.log.close()
    }

    @Test("The oldest unwritten row needn't be the first, and counts until it is written")
    func oldest() async throws {
        let storage = FakeStorage()
        let gate = Gate()
        storage.state.withLock { $0.appendGate = gate }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options())
        let (early, late) = (rows(1), rows(2))
        log.append(late + early)
        #expect(log.unwrittenSince == 1)
        async let run: Void = log.run()
        #expect(await eventually { gate.waiting == 1 })
        log.append(rows(1))
        #expect(log.unwrittenSince == 1)
        gate.open()
        log.finish()
        await run
        #expect(log.unwrittenSince == nil)
        await lines.log.close()
    }

    @Test("A nearly full log is crowded while it is written, but not while the database can't be written")
    func crowded() async throws {
        let storage = FakeStorage()
        let gate = Gate()
        storage.state.withLock { $0.appendGate = gate }
        let lines = LogLines()
        let (paused, retry) = (Gate(), Lock(false))
        var options = options(waiting: 10, batch: 5)
        options.crowdedAt = 5
        options.pause = { _ in if retry.withLock({ $0 }) { await paused.pass() } }
        let log = DeliveryLog(storage: storage, log: lines.log, options: options)
        log.append(rows(4))
        #expect(!log.isCrowded)
        log.append(rows(1))
        #expect(log.isCrowded)
        async let run: Void = log.run()
        #expect(await eventually { gate.waiting == 1 })
        #expect(log.isCrowded)
        // The database becomes unavailable, so nothing makes room.
        storage.state.withLock { $0.appendFailures = [.unavailable(logDetail: "x")] }
        retry.withLock { $0 = true }
        gate.open()
        #expect(await eventually { paused.waiting == 1 })
        #expect(!log.isCrowded)
        retry.withLock { $0 = false }
        paused.open()
        #expect(await eventually { log.figures.waiting == 0 })
        log.append(rows(5))
        log.finish()
        await run
        #expect(!log.isCrowded)
        await lines.log.close()
    }

    @Test("A batch that can't be written now is retried")
    func retried() async throws {
        let storage = FakeStorage()
        storage.state.withLock {
            $0.appendFailures = [.unavailable(logDetail: "x"), .timeout(logDetail: "y")]
        }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options())
        async let run: Void = log.run()
        log.append(rows(3))
        #expect(await eventually { storage.state.withLock { $0.deliveries.count } == 3 })
        log.finish()
        await run
        #expect(storage.state.withLock(\.batches) == [3, 3, 3])
        #expect(try await lines.closed().map { $0["event"] } == ["delivery.delayed", "delivery.resumed"])
    }

    @Test("Unconfirmed rows are stored once")
    func unconfirmed() async throws {
        let storage = FakeStorage()
        storage.state.withLock { $0.losesConfirmation = true }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options())
        async let run: Void = log.run()
        log.append(rows(5))
        #expect(await eventually { log.figures.waiting == 0 })
        log.finish()
        await run
        #expect(storage.state.withLock(\.batches) == [5, 5])
        #expect(storage.state.withLock { $0.deliveries.map(\.id) } == rows(5).map(\.id))
        #expect(log.figures.dropped == 0)
        await lines.log.close()
    }

    @Test("A minute without the database loses only rows that don't fit, and these are counted")
    func minute() async throws {
        let storage = FakeStorage()
        storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
        let lines = LogLines()
        let waited = Lock(Duration.zero)
        var options = options(waiting: 50)
        options.pause = { duration in
            let sum = waited.withLock { waited in
                waited += duration
                return waited
            }
            if sum > .seconds(60) { storage.state.withLock { $0.failure = nil } }
            await Task.yield()
        }
        let log = DeliveryLog(storage: storage, log: lines.log, options: options)
        for _ in 0..<6 { log.append(rows(10)) }
        async let run: Void = log.run()
        #expect(await eventually { storage.state.withLock { $0.deliveries.count } == 50 })
        log.finish()
        await run
        #expect(storage.state.withLock { $0.deliveries.count } == 50)
        let written = try await lines.closed()
        #expect(written.first { $0["event"] == "delivery.dropped" }?["rows"] == 10)
        #expect(!written.contains { $0["event"] == "delivery.lost" })
    }

    @Test(
        "Only a refused row is lost; the rest of its batch is written",
        arguments: [0, 7, 99])
    func lost(_ bad: Int) async throws {
        let storage = FakeStorage()
        storage.state.withLock { $0.refusedRows = ["row-\(bad)": .internalFault(logDetail: "value")] }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options(waiting: 300, batch: 200))
        log.append(rows(300))
        log.finish()
        await log.run()
        let expected = rows(300).map(\.id).filter { $0 != "row-\(bad)" }
        #expect(storage.state.withLock { $0.deliveries.map(\.id) } == expected)
        let written = try await lines.closed()
        #expect(written.map { $0["event"] } == ["delivery.lost"])
        #expect(written.first?["rows"] == 1 && written.first?["level"] == "error")
        #expect(log.figures.dropped == 1)
    }

    @Test(
        "While the database can't be written rows wait, however long, and only those that don't fit are dropped",
        arguments: [
            StorageError.full(logDetail: "disk"), .refused(logDetail: "INSERT"),
            .readOnly(logDetail: "standby"),
            .unavailable(logDetail: "down"),
        ])
    func unwritable(_ error: StorageError) async throws {
        let storage = FakeStorage()
        storage.state.withLock { $0.writeFailure = error }
        let lines = LogLines()
        let waited = Lock(Duration.zero)
        var options = options(waiting: 50)
        options.pause = { duration in
            let sum = waited.withLock { waited in
                waited += duration
                return waited
            }
            if sum > .seconds(3_600) { storage.state.withLock { $0.writeFailure = nil } }
        }
        let log = DeliveryLog(storage: storage, log: lines.log, options: options)
        for _ in 0..<6 { log.append(rows(10)) }
        async let run: Void = log.run()
        // Reading the rows each time would block the log's access to its lock.
        #expect(await eventually { log.figures.waiting == 0 })
        log.finish()
        await run
        #expect(storage.state.withLock { $0.deliveries.count } == 50)
        #expect(log.figures.dropped == 10)
        let written = try await lines.closed().compactMap { $0["event"]?.string }
        #expect(written.count { $0 == "delivery.delayed" } == 1)
        #expect(written.count { $0 == "delivery.resumed" } == 1)
        #expect(!written.contains("delivery.lost"))
        // One line when writing first fails and one when it works again, not one per attempt.
        let isKnown = !error.isTransient
        #expect(written.count { $0 == "database.not_writable" } == (isKnown ? 1 : 0))
        #expect(written.count { $0 == "database.writable" } <= (isKnown ? 1 : 0))
    }

    @Test("Rows that are all refused by a writable database are dropped without further attempts")
    func refused() async throws {
        let storage = FakeStorage()
        storage.state.withLock { state in
            for row in rows(20_000) { state.refusedRows[row.id] = .refused(logDetail: "row") }
        }
        let lines = LogLines()
        let log = DeliveryLog(
            storage: storage, log: lines.log, options: options(waiting: 90_000, batch: 2_000))
        async let run: Void = log.run()
        for lost in [20_000, 40_000, 60_000] {
            log.append(rows(20_000))
            #expect(await eventually { log.figures.dropped == UInt64(lost) })
        }
        // Of thirty batches, only the first is searched for the row at fault.
        #expect(storage.state.withLock(\.batches).count < 60)
        storage.state.withLock { $0.refusedRows = [:] }
        log.append(rows(10))
        #expect(await eventually { storage.state.withLock { $0.deliveries.count } == 10 })
        log.finish()
        await run
        #expect(log.figures.dropped == 60_000)
        let written = try await lines.closed()
        #expect(written.allSatisfy { $0["event"] == "delivery.lost" })
        #expect(written.compactMap { $0["rows"]?.int }.reduce(0, +) == 60_000)
    }

    @Test("At the end each batch is tried once, so that a missing database doesn't delay shutdown")
    func end() async throws {
        let storage = FakeStorage()
        storage.state.withLock {
            $0.appendFailures = Array(repeating: .unavailable(logDetail: "x"), count: 100)
        }
        let lines = LogLines()
        let log = DeliveryLog(storage: storage, log: lines.log, options: options(batch: 2))
        log.append(rows(3))
        log.finish()
        await log.run()
        #expect(storage.state.withLock(\.batches) == [2, 1])
        #expect(log.figures.dropped == 3)
        await lines.log.close()
    }
}

import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Whether the database can be written", .timeLimit(.minutes(2)))
struct WriteWatchTests {
    @Test(
        "/ready is 503 while the database answers and can't be written, and says why in a word",
        arguments: [
            (StorageError.full(logDetail: "x"), "full"), (.readOnly(logDetail: "x"), "read_only"),
            (.refused(logDetail: "x"), "refused"), (.timeout(logDetail: "x"), "timeout"),
            (.internalFault(logDetail: "x"), "failed"),
        ])
    func ready(_ error: StorageError, _ word: String) async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.writeFailure = error }
            let response = await relay.answer(Request(target: "/ready"))
            #expect(response.status == 503)
            #expect(
                response.json["checks"] == [
                    "storage": "ok", "write": .string(word), "apns": "ok", "queue": "ok", "clock": "ok",
                ])
            relay.storage.state.withLock { $0.writeFailure = nil }
            relay.pass(Bounds.writeTrialInterval)
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
        }
    }

    @Test(
        "However often /ready is asked, the database is written once an interval, and the log says it twice in all"
    )
    func bounded() async throws {
        let lines = try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.writeFailure = .full(logDetail: "disk") }
            let interval = Bounds.writeTrialInterval.components.seconds
            for _ in 0..<(3 * interval) {
                for _ in 0..<50 { #expect(await relay.answer(Request(target: "/ready")).status == 503) }
                relay.pass(.seconds(1))
            }
            #expect(relay.storage.state.withLock(\.trials) == 3)
            relay.storage.state.withLock { $0.writeFailure = nil }
            for _ in 0..<2 {
                #expect(await relay.answer(Request(target: "/ready")).status == 200)
                relay.pass(Bounds.writeTrialInterval)
            }
            return try await relay.lines.closed()
        }
        let said = lines.filter { $0["event"]?.string?.hasPrefix("database.") == true }
        #expect(said.map { $0["event"] } == ["database.not_writable", "database.writable"])
        #expect(said.first?["level"] == "error" && "\(said)".contains("disk"))
    }

    @Test("An outage found by /ready is in the log with its beginning and its end")
    func outage() async throws {
        let lines = try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "connection refused") }
            for _ in 0..<3 {
                #expect(await relay.answer(Request(target: "/ready")).status == 503)
                relay.pass(Bounds.writeTrialInterval)
            }
            #expect(relay.storage.state.withLock(\.trials) == 0)
            relay.storage.state.withLock { $0.failure = nil }
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
            return try await relay.lines.closed()
        }
        let said = lines.filter { $0["event"]?.string?.hasPrefix("database.") == true }
        #expect(said.map { $0["event"] } == ["database.not_writable", "database.writable"])
        #expect("\(said)".contains("connection refused"))
    }

    @Test("All who ask at the same time share one trial and one look at the database")
    func shared() async throws {
        try await RelayFixture.with { relay in
            let gate = Gate()
            relay.storage.state.withLock { $0.trialGate = gate }
            await withTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask { #expect(await relay.answer(Request(target: "/ready")).status == 200) }
                }
                #expect(await eventually { gate.waiting == 1 })
                gate.open()
            }
            #expect(relay.storage.state.withLock(\.trials) == 1)
        }
    }

    @Test("After a failure it tries by itself until the database can be written, and then no more")
    func untilBack() async throws {
        let storage = FakeStorage()
        storage.state.withLock { $0.writeFailure = .readOnly(logDetail: "x") }
        let lines = LogLines()
        let time = Lock(MonotonicTime(nanoseconds: 1_000_000_000))
        let watch = WriteWatch(
            storage: storage, clock: WallClock { 0 }, monotonic: { time.withLock { $0 } }, log: lines.log
        ) { duration in
            try Task.checkCancellation()
            time.withLock { $0 = $0 + duration }
            if storage.state.withLock(\.trials) == 4 { storage.state.withLock { $0.writeFailure = nil } }
        }
        let running = Task { await watch.run() }
        guard case .readOnly? = await watch.fault() else {
            Issue.record("no fault was found")
            return
        }
        #expect(await eventually { lines.count(of: "database.writable") == 1 })
        running.cancel()
        await running.value
        #expect(storage.state.withLock(\.trials) == 5)
        #expect(
            try await lines.closed().map { $0["event"] } == ["database.not_writable", "database.writable"])
    }
}

import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Maintenance", .timeLimit(.minutes(2)))
struct MaintenanceTests {
    private let storage = FakeStorage()

    private func maintenance(
        _ lines: LogLines = LogLines(), at time: EpochMilliseconds = 100_000,
        pause: @escaping @Sendable (Duration) async throws -> Void = { _ in }
    ) -> Maintenance {
        Maintenance(
            storage: storage, log: lines.log, clock: WallClock { time },
            monotonic: { MonotonicTime(nanoseconds: 0) }, retention: .seconds(60), pause: pause)
    }

    private var prunes: [PruneRound.Step] { storage.state.withLock(\.prunes) }

    @Test("A round removes what is past its time from every table, in steps that go on where the last ended")
    func round() async throws {
        storage.state.withLock { $0.expired = [.deliveries: 1_200, .receipts: 1] }
        let lines = LogLines()
        #expect(try await maintenance(lines).round())
        #expect(storage.state.withLock { $0.expired.values.allSatisfy { $0 == 0 } })
        let steps = prunes
        #expect(Set(steps.map(\.table)) == Set(ExpiringTable.allCases))
        #expect(steps.filter { $0.table == .deliveries }.map(\.end) == [40_000, 40_000])
        #expect(steps.filter { $0.table == .deliveries }.map(\.start) == [.min, 1])
        #expect(steps.first { $0.table == .receipts }?.end == 100_001)
        #expect(try await lines.closed().first?["deliveries"] == 1200)
    }

    @Test("A table that can't be pruned doesn't keep the others from being pruned")
    func oneTable() async throws {
        storage.state.withLock { state in
            state.pruneFailures[.deliveries] = .refused(logDetail: "x")
            state.expired[.receipts] = 700
        }
        let lines = LogLines()
        #expect(try await maintenance(lines).round())
        #expect(storage.state.withLock { $0.expired[.receipts] } == 0)
        #expect(prunes.filter { $0.table == .deliveries }.count == 1)
        let written = try await lines.closed()
        #expect(written.map { $0["event"] } == ["maintenance.failed", "maintenance"])
        #expect(written.last?["receipts"] == 700)
    }

    @Test("A table that is far behind takes turns with the others")
    func turns() async throws {
        storage.state.withLock { $0.expired = [.deliveries: 1_000_000, .tokens: 10_000] }
        #expect(try await maintenance().round())
        let tables = prunes.map(\.table)
        let last = try #require(tables.lastIndex(of: .tokens))
        #expect(tables[..<last].count { $0 == .deliveries } <= tables.count { $0 == .tokens })
        #expect(Set(tables[..<6]).count == 6)
    }

    @Test("A step that takes too long is tried with fewer rows, and given up at last")
    func slow() async throws {
        storage.state.withLock { $0.pruneFailures[.deliveries] = .timeout(logDetail: "x") }
        #expect(try await maintenance().round())
        #expect(prunes.filter { $0.table == .deliveries }.map(\.limit) == [500, 125, 31])
    }

    @Test("A round that can't be finished in time says so, and the next follows without a pause")
    func behind() async throws {
        storage.state.withLock { $0.expired[.deliveries] = .max }
        let lines = LogLines()
        let elapsed = Lock(Duration.zero)
        let firstSteps = Lock<[Int]>([])
        let storage = storage
        // Each step takes five seconds.
        let maintenance = Maintenance(
            storage: storage, log: lines.log,
            clock: WallClock { elapsed.withLock { 100_000 + $0.inMilliseconds } },
            monotonic: {
                elapsed.withLock { elapsed in
                    elapsed += .seconds(5)
                    return MonotonicTime(nanoseconds: 0) + elapsed
                }
            }, retention: .seconds(60)
        ) { time in
            elapsed.withLock { $0 += time }
            let count = storage.state.withLock(\.prunes.count)
            if time == Bounds.upkeepInterval { firstSteps.withLock { $0.append(count) } }
            if count > 200 { throw CancellationError() }
        }
        await maintenance.run()
        // Only the first round was preceded by a pause.
        #expect(firstSteps.withLock { $0 } == [0])
        let behind = try await lines.closed().filter { $0["event"] == "maintenance.behind" }
        #expect(behind.count >= 2)
        #expect(behind.first?["table"] == "delivery_log")
        #expect(behind.first?["removed"]?.int ?? 0 > 500)
        #expect(maintenance.figures.removed[.deliveries] ?? 0 > 500)
        #expect(maintenance.figures.oldest[.deliveries] != nil)
    }

    @Test("A failing storage ends the round, not the maintenance; cancelling ends it")
    func failure() async throws {
        storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
        let lines = LogLines()
        let rounds = Lock(0)
        let maintenance = maintenance(lines, at: 0) { time in
            guard time == Bounds.upkeepInterval else { return }
            let count = rounds.withLock { rounds in
                rounds += 1
                return rounds
            }
            if count > 3 { throw CancellationError() }
        }
        await maintenance.run()
        #expect(rounds.withLock { $0 } == 4)
        #expect(
            try await lines.closed().map { $0["event"] }
                == Array(repeating: "maintenance.failed", count: 21))
    }

    @Test(
        "After the clock was set forward a round is left out; a clock that is put right by the next costs no row"
    )
    func clockSetForward() async throws {
        let minutes = Lock(0)
        let hours = Lock([0, 0, 5_000, 0, 0, 0])
        let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
        let maintenance = Maintenance(
            storage: storage, log: LogLines().log,
            clock: WallClock {
                // In one expression, the compiler took six seconds to infer the types.
                let seconds: Int = minutes.withLock { $0 } * 60 + hours.withLock { $0.first ?? 0 } * 3_600
                return EpochMilliseconds(seconds) * 1_000
            },
            monotonic: { start + .seconds(minutes.withLock { $0 } * 60) }, retention: .seconds(60)
        ) { time in
            guard time == Bounds.upkeepInterval else { return }
            minutes.withLock { $0 += 10 }
            let isOver = hours.withLock { hours in
                hours.removeFirst()
                return hours.isEmpty
            }
            if isOver { throw CancellationError() }
        }
        await maintenance.run()
        let before = storage.state.withLock {
            $0.prunes.filter { $0.table == .deliveries }.map { $0.end / 60_000 }
        }
        // Rounds start ten minutes apart, so the second one is left out.
        #expect(before == [9, 29, 39, 49])
    }
}

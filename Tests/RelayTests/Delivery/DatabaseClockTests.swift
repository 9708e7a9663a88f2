import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("The database server's clock", .timeLimit(.minutes(2)))
struct DatabaseClockTests {
    private static let limit = Bounds.clockSkewMax.inMilliseconds

    @Test("A relay whose clock differs too much isn't ready; the log reports the start and the end once")
    func ready() async throws {
        try await RelayFixture.with { relay in
            func clock(_ ahead: EpochMilliseconds?) async -> JSON.Value? {
                relay.storage.state.withLock { $0.clockAhead = ahead }
                relay.pass(Bounds.readinessCacheTime)
                let response = await relay.answer(Request(target: "/ready"))
                let clock = response.json["checks"]?["clock"]
                #expect(response.status.rawValue == (clock == "ok" ? 200 : 503))
                return clock
            }
            for ahead in [nil, 0, Self.limit, -Self.limit] { #expect(await clock(ahead) == "ok") }
            for ahead in [Self.limit + 1, Self.limit * 60, -Self.limit - 1] {
                #expect(await clock(ahead) == "differs")
            }
            #expect(await clock(500) == "ok")
            await relay.lines.log.close()
            #expect(relay.lines.count(of: "clock.differs") == 1)
            #expect(relay.lines.count(of: "clock.agrees") == 1)
        }
    }

    @Test("The clock is also read without requests, and an unresponsive database doesn't end that")
    func reading() async throws {
        let storage = FakeStorage()
        let lines = LogLines()
        storage.state.withLock { state in
            state.clockAhead = Self.limit + 1
            state.failure = .timeout(logDetail: "x")
        }
        let rounds = Lock(0)
        let clock = DatabaseClock(
            storage: storage, clock: WallClock { 1_800_000_000_000 }, log: lines.log,
            pause: { duration in
                #expect(duration == Bounds.databaseClockInterval)
                storage.state.withLock { $0.failure = nil }
                let round = rounds.withLock { rounds in
                    rounds += 1
                    return rounds
                }
                if round == 3 { throw CancellationError() }
            })
        await clock.run()
        #expect(clock.isOff)
        await lines.log.close()
        #expect(lines.count(of: "clock.differs") == 1)
    }
}

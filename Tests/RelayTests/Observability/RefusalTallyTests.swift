import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Refusals in the log", .timeLimit(.minutes(2)))
struct RefusalTallyTests {
    private static let notFound = RefusalTally.Kind(route: .none, code: .notFound)
    private static let limited = RefusalTally.Kind(route: .event, code: .rateLimited)

    @Test("A kind's first refusals have lines, the others are in its summary")
    func burst() {
        var tally = RefusalTally()
        let verdicts = (0..<1000).map { tally.note(Self.notFound, .info, at: 5 + $0) }
        #expect(verdicts.map(\.hasLine) == (0..<1000).map { $0 < Bounds.refusalLinesPerKind })
        #expect(verdicts.map(\.beginsInterval) == (0..<1000).map { $0 == 0 })
        let count = 1000 - Bounds.refusalLinesPerKind
        #expect(
            tally.end() == [
                RefusalTally.Summary(kind: Self.notFound, count: count, level: .info, since: 5)
            ])
    }

    @Test("A flood of one kind leaves the lines of another; an interval that ended leaves nothing")
    func kinds() {
        var tally = RefusalTally()
        for _ in 0..<500 { _ = tally.note(Self.notFound, .info, at: 0) }
        #expect(tally.note(Self.limited, .info, at: 0).hasLine)
        #expect(tally.end().map(\.kind) == [Self.notFound])
        #expect(tally.end().isEmpty)
        #expect(
            tally.note(Self.notFound, .info, at: 9)
                == RefusalTally.Verdict(hasLine: true, beginsInterval: true))
        #expect(tally.end().isEmpty)
    }

    @Test("All kinds together have no more lines than their bound, and nothing is lost")
    func allKinds() {
        var tally = RefusalTally()
        let kinds = RouteName.allCases.flatMap { route in
            ErrorCode.allCases.map { RefusalTally.Kind(route: route, code: $0) }
        }
        var lines = 0
        for kind in kinds { for _ in 0..<30 where tally.note(kind, .info, at: 0).hasLine { lines += 1 } }
        #expect(lines == Bounds.refusalLinesMax)
        let summaries = tally.end()
        #expect(summaries.map(\.count).reduce(0, +) == 30 * kinds.count - lines)
        #expect(Set(summaries.map(\.kind)).count == summaries.count)
    }

    @Test("Every refusal is in the log once: by its line, or in a summary when the log is closed")
    func closed() async throws {
        let lines = LogLines()
        for index in 0..<1000 { lines.log.refused(Self.notFound, .info, [.count("n", index)]) }
        lines.log.refused(Self.limited, .warning, [])
        let written = try await lines.closed()
        let own = written.filter { $0["event"] == "request" }
        #expect(own.compactMap { $0["n"]?.int } == Array(0..<Bounds.refusalLinesPerKind))
        #expect(own.count == Bounds.refusalLinesPerKind + 1)
        #expect(
            written.last == [
                "time": "1970-01-01T00:00:00.000Z", "level": "info", "event": "request.summary", "route": "-",
                "status": 404, "code": "not_found",
                "unlogged": .int(1000 - Bounds.refusalLinesPerKind), "since": "1970-01-01T00:00:00.000Z",
            ])
        #expect(written.count == own.count + 1)
    }

    @Test("The summary comes when the interval ends, and the next refusals have lines again")
    func interval() async throws {
        let lines = LogLines(refusalInterval: .milliseconds(10))
        let flood = { for _ in 0..<2000 { lines.log.refused(Self.notFound, .info, []) } }
        var summaries = 0
        for _ in 0..<3 {
            flood()
            let before = summaries
            #expect(await eventually { lines.count(of: "request.summary") > before })
            summaries = lines.count(of: "request.summary")
        }
        let written = try await lines.closed()
        let own = written.count { $0["event"] == "request" }
        let unlogged = written.compactMap { $0["unlogged"]?.int }
        #expect(own >= 3 * Bounds.refusalLinesPerKind)
        #expect(own + unlogged.reduce(0, +) == 6000)
    }

    @Test("Refusals below the level leave neither lines nor a summary")
    func level() async throws {
        let lines = LogLines(level: .warning)
        for _ in 0..<100 { lines.log.refused(Self.notFound, .info, []) }
        #expect(try await lines.closed().isEmpty)
    }

    @Test("Refusals on many threads are all in the log")
    func threads() async throws {
        let lines = LogLines(refusalInterval: .milliseconds(1))
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<500 { lines.log.refused(Self.notFound, .info, []) } }
            }
        }
        let written = try await lines.closed()
        let unlogged = written.compactMap { $0["unlogged"]?.int }
        #expect(written.count { $0["event"] == "request" } + unlogged.reduce(0, +) == 2000)
    }

    @Test(
        "A flood of refusals, or of requests while the database is down, has few log lines; successes and defects keep theirs"
    )
    func routes() async throws {
        let (written, samples) = try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for _ in 0..<300 {
                _ = await relay.answer(Request(target: "/nothing"))
                _ = await relay.post("/v1/event", ["secret": 1])
                _ = await relay.event()
            }
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            for _ in 0..<50 { _ = await relay.event() }
            relay.storage.state.withLock { $0.failure = .internalFault(logDetail: "x") }
            for _ in 0..<50 { _ = await relay.event() }
            let samples = await relay.onLoop { $0.services.counts.requestSamples }
            return (try await relay.lines.closed(), samples)
        }
        func lines(_ route: String, _ status: Int) -> Int {
            written.count {
                $0["event"] == "request" && $0["route"] == .string(route) && $0["status"] == .int(status)
            }
        }
        #expect(lines("-", 404) == Bounds.refusalLinesPerKind)
        #expect(lines("POST /v1/event", 400) == Bounds.refusalLinesPerKind)
        #expect(lines("POST /v1/event", 200) == 300)
        #expect(lines("POST /v1/event", 503) == Bounds.refusalLinesPerKind)
        #expect(lines("POST /v1/event", 500) == 50)
        let summaries = written.filter { $0["event"] == "request.summary" }
        #expect(summaries.map { $0["code"] } == ["not_found", "invalid_field", "storage_unavailable"])
        #expect(
            summaries.map { $0["unlogged"]?.int } == [300, 300, 50].map { $0 - Bounds.refusalLinesPerKind })
        #expect(samples.contains(Metric.Sample(["other", "404"], UInt64(300))))
        #expect(samples.contains(Metric.Sample(["POST /v1/event", "400"], UInt64(300))))
    }

    @Test("A relay that isn't ready says so in a few lines, however often it is asked")
    func notReady() async throws {
        var options = RelayFixture.Options()
        options.credentialsFault = "SigningFailed"
        let written = try await RelayFixture.with(options) { relay in
            for _ in 0..<200 { _ = await relay.answer(Request(target: "/ready")) }
            return try await relay.lines.closed()
        }
        #expect(written.count { $0["event"] == "request" } == Bounds.refusalLinesPerKind)
        #expect(written.last?["code"] == "not_ready" && written.last?["level"] == "warning")
    }
}

import APNsSimulator
import HTTP2
import Testing

@Suite("Recording", .timeLimit(.minutes(2)))
struct RecordingTests {
    private func record(
        _ stream: Int32 = 1, id: MessageID = MessageID(high: 0, low: 0),
        _ outcome: PushOutcome = .answered(status: 200, reason: nil)
    ) -> PushRecord {
        PushRecord(
            receivedAt: 0, push: PushFixture().recorded(stream), id: id, detail: nil, rule: nil,
            outcome: outcome)
    }

    private func log(_ count: Int32, kept: Int) -> PushLog {
        var log = PushLog(kept: kept)
        for stream in 0..<count { log.append(record(stream)) }
        return log
    }

    @Test("Pages list the pushes after the cursor in order")
    func pages() {
        let log = log(10, kept: 100)
        let first = log.page(after: 0, limit: 4) { _ in true }
        #expect(first.records.map(\.sequence) == [1, 2, 3, 4])
        #expect(first.next == 4 && first.hasMore && first.missed == 0)
        let rest = log.page(after: first.next, limit: 100) { _ in true }
        #expect(rest.records.compactMap(\.apns?.stream.rawValue) == [4, 5, 6, 7, 8, 9])
        #expect(rest.next == 10 && !rest.hasMore)
        #expect(log.page(after: 10, limit: 1) { _ in true }.records.isEmpty)
        #expect(log.page(after: .max, limit: 1) { _ in true }.next == 10)
    }

    @Test("Old pushes are dropped, and the page reports how many the caller missed")
    func bounded() {
        let log = log(25, kept: 10)
        #expect(log.dropped == 15)
        let page = log.page(after: 3, limit: 100) { _ in true }
        #expect(page.records.map(\.sequence) == Array(16...25))
        #expect(page.records.compactMap(\.apns?.stream.rawValue) == Array(15...24))
        #expect(page.missed == 12)
        #expect(log.page(after: 20, limit: 2) { _ in true }.records.map(\.sequence) == [21, 22])
    }

    @Test("A filter skips pushes and advances the cursor")
    func filtered() {
        let page = log(10, kept: 5).page(after: 0, limit: 2) {
            $0.apns.map { $0.stream.rawValue % 2 == 1 } ?? false
        }
        #expect(page.records.compactMap(\.apns?.stream.rawValue) == [5, 7])
        #expect(page.next == 8 && page.hasMore)
    }

    @Test("A log that keeps nothing still counts pushes")
    func nothingKept() {
        let log = log(3, kept: 0)
        #expect(log.last == 3 && log.dropped == 3)
        let page = log.page(after: 0, limit: 10) { _ in true }
        #expect(page.records.isEmpty && page.missed == 3 && page.next == 3)
    }

    @Test("Numbering continues after a reset")
    func numbersGoOn() {
        var log = log(12, kept: 10)
        log.removeAll()
        #expect(log.dropped == 0)
        log.append(record())
        #expect(log.page(after: 12, limit: 10) { _ in true }.records.map(\.sequence) == [13])
    }

    @Test("A push delivered twice is detected")
    func duplicates() {
        var state = SimulatorState(SimulatorState.Start())
        let id = MessageID(high: 1, low: 1)
        state.seal(record(1, id: id, .answered(status: 503, reason: "Shutdown")), hasClientID: true)
        state.seal(record(3, id: id), hasClientID: true)
        #expect(state.statistics[.production].repeatedIDs == 1)
        #expect(state.statistics[.production].acceptedTwice == 0)
        state.seal(record(5, id: id), hasClientID: true)
        state.seal(record(7, id: MessageID(high: 2, low: 2)), hasClientID: true)
        state.seal(record(9), hasClientID: false)
        state.seal(record(11), hasClientID: false)
        #expect(state.statistics[.production].repeatedIDs == 2)
        #expect(state.statistics[.production].acceptedTwice == 1)
        #expect(state.statistics[.production].accepted == 5)
        #expect(state.statistics[.sandbox].pushes == 0)
    }

    @Test("The memory of identifiers is bounded and forgets the oldest first")
    func boundedMemory() {
        var memory = MessageIDMemory(generationSize: 10)
        func expect(_ id: MessageID, _ expected: MessageIDMemory.Earlier) {
            let earlier = memory.note(id, isAccepted: true)
            #expect(earlier == expected)
        }
        for low: UInt64 in 0..<25 {
            expect(MessageID(high: 0, low: low), .nothing)
        }
        expect(MessageID(high: 0, low: 24), .accepted)
        expect(MessageID(high: 0, low: 12), .accepted)
        expect(MessageID(high: 0, low: 0), .nothing)
    }

    @Test("Outcomes are counted by status and by reason")
    func statistics() {
        var statistics = Statistics()
        let outcomes: [PushOutcome] = [
            .answered(status: 200, reason: nil), .answered(status: 400, reason: "BadTopic"),
            .answered(status: 400, reason: "BadPriority"), .answered(status: 500, reason: nil), .stalled,
            .reset(.cancel), .closed, .abandoned,
        ]
        for outcome in outcomes { statistics.count(outcome) }
        #expect(statistics.pushes == 8)
        #expect(statistics.statuses == [400: 2, 500: 1])
        #expect(statistics.reasons == ["BadTopic": 1, "BadPriority": 1])
    }

    @Test("A reset restores the initial state")
    func reset() {
        var start = SimulatorState.Start()
        start.rules = [Rule(id: "a", action: .stall)]
        start.settings.streams = 7
        var state = SimulatorState(start)
        state.settings.streams = 9
        let put = [state.put(Rule(id: "b", action: .close)), state.put(Rule(id: "a", action: .close))]
        #expect(put == [true, true])
        #expect(state.rules.map(\.action) == [.close, .close])
        let removed = [state.removeRule("b"), state.removeRule("b")]
        #expect(removed == [true, false])
        let isKept = state.devices.put(.init(), for: "ab")
        #expect(isKept)
        state.seal(record(), hasClientID: true)
        state.statistics[.production].connectionsOpen = 2
        state.reset()
        #expect(state.statistics[.production].connectionsOpen == 2)
        #expect(state.settings.streams == 7)
        #expect(state.rules.map(\.action) == [.stall])
        #expect(state.devices.count == 0)
        #expect(state.log.page(after: 0, limit: 9) { _ in true }.records.isEmpty)
        #expect(state.statistics[.production].pushes == 0)
    }
}

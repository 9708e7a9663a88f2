import Storage
import Testing

@Suite("Rounds of removing expired rows", .timeLimit(.minutes(1)))
struct PruneRoundTests {
    private func round(
        _ tables: [ExpiringTable] = [.deliveries], atMost duration: Duration = .seconds(600)
    ) -> PruneRound {
        PruneRound(tables.map { ($0, 1_000) }, atMost: duration)
    }

    /// The next step, with the total of the pauses before it.
    private func step(_ round: inout PruneRound) -> (step: PruneRound.Step?, paused: Duration) {
        var paused = Duration.zero
        while let move = round.next() {
            switch move {
            case .pause(let duration): paused += duration
            case .remove(let step): return (step, paused)
            }
        }
        return (nil, paused)
    }

    @Test(
        "The first step begins at the oldest row, the next where the last ended; without rows left it is over"
    )
    func walk() throws {
        var round = round()
        let first = try #require(step(&round).step)
        #expect(first == PruneRound.Step(table: .deliveries, start: .min, end: 1_000, limit: 500))
        round.note(Pruning(removed: 500, next: 7), took: .milliseconds(30))
        #expect(step(&round).step?.start == 7)
        round.note(Pruning(removed: 3), took: .milliseconds(30))
        #expect(step(&round).step == nil)
        #expect(round.removed == [.deliveries: 503])
        #expect(round.unfinished == [])
    }

    @Test("A pause is half as long as the step before it, but not longer than the maximum")
    func pauses() {
        var round = round()
        _ = step(&round)
        for (took, pause): (Duration, Duration) in [
            (.milliseconds(40), .milliseconds(20)), (.zero, .milliseconds(1)), (.seconds(60), .seconds(5)),
        ] {
            round.note(Pruning(removed: 100, next: 7), took: took)
            #expect(step(&round).paused == pause)
        }
    }

    @Test("Steps grow while they are short and shrink when they are long")
    func sizes() {
        var round = round()
        func limits(took: Duration, _ count: Int) -> [Int] {
            (0..<count).map { _ in
                let limit = step(&round).step?.limit ?? 0
                round.note(Pruning(removed: limit, next: 7), took: took)
                return limit
            }
        }
        #expect(limits(took: .milliseconds(1), 5) == [500, 1_000, 2_000, 4_000, 4_000])
        #expect(limits(took: .milliseconds(50), 2) == [4_000, 4_000])
        #expect(limits(took: .milliseconds(100), 9).suffix(3) == [62, 31, 30])
    }

    @Test("A short step doesn't end the round")
    func short() {
        var round = round()
        _ = step(&round)
        round.note(Pruning(removed: 1, next: 7), took: .zero)
        #expect(step(&round).step?.start == 7)
    }

    @Test("A table whose rows others remove is left to them for a while, longer each time; the others go on")
    func yielding() {
        var round = round([.deliveries, .receipts])
        var waits: [Duration] = []
        for _ in 0..<6 {
            let (next, paused) = step(&round)
            #expect(next?.table == .deliveries)
            waits.append(paused)
            round.note(Pruning(removed: 0, next: 7), took: .zero)
            if waits.count == 1 {
                for _ in 0..<3 {
                    let (next, paused) = step(&round)
                    #expect(next?.table == .receipts && paused < .seconds(1))
                    round.note(Pruning(removed: 9, next: 9), took: .zero)
                }
                _ = step(&round)
                round.note(Pruning(removed: 9), took: .zero)
            }
        }
        #expect(waits.last == .seconds(8))
        #expect(zip(waits.dropFirst(2), waits.dropFirst(3)).allSatisfy { $0 <= $1 })
        // A table that gets rows again takes short breaks again.
        _ = step(&round)
        round.note(Pruning(removed: 9, next: 9), took: .zero)
        _ = step(&round)
        round.note(Pruning(removed: 0, next: 9), took: .zero)
        #expect(step(&round).paused == .seconds(1))
    }

    @Test("A round ends after its time, also while a table is left to others, and says what it left")
    func duration() {
        for removed in [0, 9] {
            var round = round([.deliveries, .receipts, .tokens], atMost: .seconds(20))
            var steps = 0
            while let next = step(&round).step {
                steps += 1
                round.note(
                    Pruning(removed: removed, next: next.table == .receipts ? nil : 7), took: .seconds(1))
            }
            #expect(4..<20 ~= steps)
            #expect(round.unfinished == [.deliveries, .tokens])
        }
    }

    @Test("A step that failed is tried with fewer rows if that may help; otherwise its table is over")
    func failures() {
        var round = round([.deliveries, .receipts])
        #expect(step(&round).step?.table == .deliveries)
        round.noteFailure(mayRetry: false, took: .zero)
        var limits: [Int] = []
        while let next = step(&round).step {
            #expect(next.table == .receipts)
            limits.append(next.limit)
            round.noteFailure(mayRetry: true, took: .seconds(5))
        }
        #expect(limits == [500, 125, 31])
        #expect(round.unfinished == [])
    }
}

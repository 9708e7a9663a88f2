import Storage
import StorageContract
import Testing

@Suite("The rounds of claims", .timeLimit(.minutes(2)))
struct ClaimRoundsTests {
    private var generator = SeededGenerator(seed: 7)

    private func parts(_ rounds: inout ClaimRounds, _ scope: ClaimScope) -> [Int] {
        var parts: [Int] = []
        while let part = rounds.next(scope) { parts.append(part) }
        return parts
    }

    @Test("A round visits each part with a backlog once, and the next one does so in another order")
    mutating func round() {
        var rounds = ClaimRounds()
        #expect(rounds.next(.oldest) == nil)
        let backlogs = Array(0..<StorageLimits.buckets)
        rounds.begin(.oldest, backlogs, using: &generator)
        let first = parts(&rounds, .oldest)
        rounds.begin(.oldest, backlogs, using: &generator)
        let second = parts(&rounds, .oldest)
        #expect(first.sorted() == backlogs && second.sorted() == backlogs)
        #expect(first != second)
    }

    @Test("A round that isn't over goes on, each scope with its own")
    mutating func continues() {
        var rounds = ClaimRounds()
        rounds.begin(.oldest, [1, 2, 3], using: &generator)
        rounds.begin(.everySecret, [4], using: &generator)
        let first = rounds.next(.oldest)
        rounds.begin(.oldest, [8, 9], using: &generator)
        #expect(Set([first].compactMap(\.self) + parts(&rounds, .oldest)) == [1, 2, 3])
        #expect(parts(&rounds, .everySecret) == [4])
    }
}

import Network
import Storage
import Testing

@testable import Relay

@Suite("The times of retries")
struct RetryScheduleTests {
    private typealias Later = OutcomePolicy.RetryLater

    private let schedule = RetrySchedule(delayMax: .seconds(60))
    private let now: EpochMilliseconds = 1_800_000_000_000

    private func delay(
        _ trouble: Later.Trouble, attempts: Int, after: Int? = nil, random: Double,
        expiresIn: EpochMilliseconds = 86_400_000
    ) -> EpochMilliseconds {
        schedule.due(
            after: Later(reason: "x", trouble: trouble, after: after), attempts: attempts, at: now,
            expiresAt: now + expiresIn, random: random) - now
    }

    @Test("Each failure doubles the delay that the jitter is taken from, up to the bound")
    func doubling() {
        let almostOne = 1.0.nextDown
        let delays = (1...9).map { delay(.unreachable, attempts: $0, random: almostOne) }
        #expect(delays == [999, 1_999, 3_999, 7_999, 15_999, 31_999, 59_999, 59_999, 59_999])
        #expect(delay(.server, attempts: 1, random: almostOne) == 1_999)
        #expect(delay(.tooMany, attempts: 1, random: almostOne) == 4_999)
    }

    @Test("The jitter is full: from nothing to the whole delay, each time as likely")
    func jitter() {
        #expect(delay(.unreachable, attempts: 5, random: 0) == 0)
        #expect(delay(.unreachable, attempts: 5, random: 0.25) == 4_000)
        #expect(delay(.unreachable, attempts: 5, random: 0.5) == 8_000)
    }

    @Test("It is never sooner than APNs asks for, also beyond the bound, and not all at once")
    func retryAfter() {
        #expect(delay(.tooMany, attempts: 1, after: 300, random: 0) == 300_000)
        #expect(delay(.tooMany, attempts: 1, after: 300, random: 0.5) == 302_500)
        #expect(delay(.tooMany, attempts: 9, after: 1, random: 0.5) == 30_000)
        for random in stride(from: 0.0, to: 1, by: 0.05) {
            #expect(delay(.server, attempts: 1, after: 3, random: random) >= 3_000)
        }
    }

    @Test("It is never later than the push's end")
    func expiration() {
        #expect(delay(.server, attempts: 9, random: 0.9, expiresIn: 1_000) == 1_000)
        #expect(delay(.tooMany, attempts: 1, after: 86_400, random: 0, expiresIn: 5) == 5)
        #expect(delay(.server, attempts: 1, random: 0.9, expiresIn: -5) == -5)
    }

    @Test("Any number of attempts has a delay", arguments: [Int.min, -1, 0, 1, 62, 63, 64, Int.max])
    func extremes(attempts: Int) {
        #expect((0...60_000).contains(delay(.server, attempts: attempts, random: 0.99)))
    }

    @Test("Retries give way to new events, and never all of it")
    func budget() {
        let budget = RetryBudget(inFlightMax: 10)
        #expect([0, 3, 9, 10, 1_000].map(budget.inFlightMax(besides:)) == [10, 7, 1, 1, 1])
        #expect([0, 5, 20, 21].map(budget.room(held:)) == [20, 15, 0, 0])
        #expect(RetryBudget(inFlightMax: 1).claimMin == 1)
    }
}

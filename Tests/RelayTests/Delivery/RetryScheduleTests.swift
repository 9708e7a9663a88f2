import APNs
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Times of retries", .timeLimit(.minutes(2)))
struct RetryScheduleTests {
    private typealias Later = OutcomePolicy.RetryLater

    private let schedule = RetrySchedule(delayMax: .seconds(60))
    private let now: EpochMilliseconds = 1_800_000_000_000

    private func delay(
        _ cause: Later.Cause, attempts: Int, after: Int? = nil, random: Double,
        expiresIn: EpochMilliseconds = 86_400_000
    ) -> EpochMilliseconds {
        schedule.due(
            after: Later(reason: "x", cause: cause, after: after), attempts: attempts, at: now,
            expiresAt: now + expiresIn, random: random) - now
    }

    @Test("Each failure doubles the base delay of the jitter, up to the maximum")
    func doubling() {
        let almostOne = 1.0.nextDown
        let delays = (1...9).map { delay(.unreachable, attempts: $0, random: almostOne) }
        #expect(delays == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
        #expect(delay(.server, attempts: 1, random: almostOne) == 2_000)
        #expect(delay(.tooMany, attempts: 1, random: almostOne) == 5_000)
    }

    @Test("The jitter is uniform between zero and the whole delay")
    func jitter() {
        #expect(delay(.unreachable, attempts: 5, random: 0) == 0)
        #expect(delay(.unreachable, attempts: 5, random: 0.000_001) == 1)
        #expect(delay(.unreachable, attempts: 5, random: 0.25) == 4_000)
        #expect(delay(.unreachable, attempts: 5, random: 0.5) == 8_000)
    }

    @Test("Retries are never sooner than APNs asks, even beyond the maximum, and are spread out")
    func retryAfter() {
        #expect(delay(.tooMany, attempts: 1, after: 300, random: 0) == 300_000)
        #expect(delay(.tooMany, attempts: 1, after: 300, random: 0.5) == 302_500)
        #expect(delay(.tooMany, attempts: 9, after: 1, random: 0.5) == 30_000)
        for random in stride(from: 0.0, to: 1, by: 0.05) {
            #expect(delay(.server, attempts: 1, after: 3, random: random) >= 3_000)
        }
    }

    @Test("Retries are never later than the push's expiry")
    func expiration() {
        #expect(delay(.server, attempts: 9, random: 0.9, expiresIn: 1_000) == 1_000)
        #expect(delay(.tooMany, attempts: 1, after: 86_400, random: 0, expiresIn: 5) == 5)
        #expect(delay(.server, attempts: 1, random: 0.9, expiresIn: -5) == -5)
    }

    @Test("Any number of attempts has a delay", arguments: [Int.min, -1, 0, 1, 62, 63, 64, Int.max])
    func extremes(attempts: Int) {
        #expect((0...60_000).contains(delay(.server, attempts: attempts, random: 0.99)))
    }

    @Test("Claims stop when enough pushes are claimed or too many ends are unwritten")
    func room() {
        let budget = RetryBudget(inFlightMax: 10, unwrittenMax: 30)
        #expect([0, 5, 20, 21].map { budget.room(slots: 10, claimed: $0, unwritten: 0) } == [20, 15, 0, 0])
        #expect(
            [0, 10, 25, 30, 31].map { budget.room(slots: 10, claimed: 0, unwritten: $0) } == [
                20, 20, 5, 0, 0,
            ])
        #expect([8, 10].map { budget.room(slots: $0, claimed: 4, unwritten: 0) } == [12, 16])
        #expect([1, 10, 128].map { budget.claimMin(slots: $0) } == [1, 5, 64])
    }

    /// The moment this many milliseconds after the start.
    private func moment(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .milliseconds(milliseconds)
    }

    /// Takes all slots that a destination may have and returns their number.
    private func fill(
        _ destinations: inout ConcurrencyLimiter, _ destination: PushDestination,
        besides eventPushes: Int = 0,
        at now: Int = 0
    ) -> Int {
        var taken = 0
        while destinations.hasSlot(in: destination, besides: eventPushes) {
            destinations.take(in: destination, at: moment(now))
            taken += 1
        }
        return taken
    }

    private let here = PushDestination.apns(
        APNsHealth.Destination(key: TestKey.first, environment: .production))
    private let there = PushDestination.apns(
        APNsHealth.Destination(key: TestKey.first, environment: .sandbox))
    private let elsewhere = PushDestination.apns(
        APNsHealth.Destination(key: TestKey.second, environment: .sandbox))

    @Test("Retries give way to new events, keep a minimum, and leave slots for other destinations")
    func destinations() {
        for (eventPushes, expected) in [(0, [60, 30, 15]), (60, [30, 15, 8]), (118, [8, 8, 8])] {
            var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 120, perDestinationMin: 8))
            let taken = [here, there, elsewhere].map { fill(&destinations, $0, besides: eventPushes) }
            #expect(taken == expected)
            #expect(destinations.inFlight == expected.reduce(0, +))
            // Even when new events have taken the rest.
            #expect(!destinations.hasSlot(in: here, besides: 1_000))
            for _ in 0..<expected[1] { destinations.giveBack(there, .ended, at: moment(1)) }
            #expect(destinations.hasSlot(in: there, besides: 1_000))
        }
    }

    @Test("Pushes to destinations that don't answer take none of the queue's room")
    func roomWhileOthersStall() {
        let time = Int(Bounds.retryStallTime.inMilliseconds)
        let budget = RetryBudget(inFlightMax: 64, perDestinationMin: 8)
        var destinations = ConcurrencyLimiter(budget)
        func room(at now: Int) -> Int {
            budget.room(
                slots: destinations.width, claimed: destinations.inFlightToAnswering(at: moment(now)),
                unwritten: 0)
        }
        for number in 0..<16 { _ = fill(&destinations, .webPush(host: "push\(number).example.org")) }
        #expect(room(at: 0) == 0)
        #expect(room(at: time) == 128)
        destinations.take(in: here, at: moment(time))
        #expect(room(at: time) == 127)
    }

    @Test("A destination that uses all its slots and hasn't answered for a while is silent")
    func silence() {
        let time = Int(Bounds.retryStallTime.inMilliseconds)
        var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 20, perDestinationMin: 1))
        destinations.take(in: there, at: moment(0))
        let taken = fill(&destinations, here, at: 0)
        #expect(destinations.silent(besides: 0, at: moment(time - 1)) == [])
        #expect(destinations.silent(besides: 0, at: moment(time)) == [here])
        destinations.giveBack(here, .ended, at: moment(100))
        destinations.take(in: here, at: moment(101))
        #expect(destinations.silent(besides: 0, at: moment(time)) == [])
        // A push that was given up doesn't count as a response.
        destinations.giveBack(here, .none, at: moment(101))
        destinations.take(in: here, at: moment(102))
        #expect(destinations.silent(besides: 0, at: moment(100 + time)) == [here])
        for _ in 0..<taken { destinations.giveBack(here, .none, at: moment(200)) }
        destinations.take(in: here, at: moment(300))
        #expect(destinations.silent(besides: 19, at: moment(299 + time)) == [there])
    }

    /// Sends a number of pushes one after another, all with the same result.
    private func send(
        _ count: Int, _ answer: ConcurrencyLimiter.Answer, _ destinations: inout ConcurrencyLimiter,
        at now: Int
    ) {
        for _ in 0..<count {
            destinations.take(in: here, at: moment(now))
            destinations.giveBack(here, answer, at: moment(now))
        }
    }

    @Test(
        "A destination that rejects pushes gets fewer slots, at least one, and all again once it accepts most"
    )
    func window() {
        var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 64, perDestinationMin: 4))
        var widths: [Int] = []
        for _ in 0..<6 {
            widths.append(destinations.width)
            send(destinations.width, .putOff, &destinations, at: 0)
        }
        #expect(widths == [64, 32, 16, 8, 4, 4])
        #expect(fill(&destinations, here) == 4)
        for _ in 0..<4 { destinations.giveBack(here, .ended, at: moment(0)) }
        #expect(destinations.width == 8)
        // It is enough that as many pushes end as go unanswered.
        send(4, .none, &destinations, at: 0)
        send(4, .ended, &destinations, at: 0)
        #expect(destinations.width == 16)
        send(16, .ended, &destinations, at: 0)
        send(32, .ended, &destinations, at: 0)
        #expect(destinations.width == 64)
        #expect(fill(&destinations, here) == 32)
    }

    @Test("A destination gets more slots while it accepts most pushes, and soon fewer when it stops")
    func growth() {
        let first = Bounds.retriesInFlightFirst
        var destinations = ConcurrencyLimiter(RetryBudget())
        #expect(destinations.width == first)
        send(first, .ended, &destinations, at: 0)
        #expect(destinations.width == 2 * first)
        send(2 * first - 1, .ended, &destinations, at: 0)
        #expect(destinations.width == 2 * first)
        send(1, .ended, &destinations, at: 0)
        #expect(destinations.width == 4 * first)
        // As few responses as at first are enough to show that it accepts nothing.
        for expected in [2 * first, first, first / 2] {
            send(first, .putOff, &destinations, at: 0)
            #expect(destinations.width == expected)
        }
        send(100 * Bounds.retriesInFlightMax, .ended, &destinations, at: 0)
        #expect(destinations.width == Bounds.retriesInFlightMax)
    }

    @Test(
        "A silent or failing destination gets fewer slots; a device's rate limit doesn't count"
    )
    func answers() {
        var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 64, perDestinationMin: 4))
        send(64, .none, &destinations, at: 0)
        #expect(destinations.width == 32)
        func answer(_ cause: Later.Cause) -> ConcurrencyLimiter.Answer {
            ConcurrencyLimiter.Answer(.retryLater(Later(reason: "x", cause: cause)))
        }
        #expect(
            [.unreachable, .server, .tooMany, .token].map(answer) == [.none, .putOff, .ended, .tokenRefused])
        #expect(ConcurrencyLimiter.Answer(.sent(apnsID: nil, storeEnvironment: nil)) == .ended)
        #expect(ConcurrencyLimiter.Answer(.failed(OutcomePolicy.Failure(reason: "x"))) == .ended)
    }

    @Test("A failing destination doesn't take another's slots, and is forgotten after a while")
    func windowOfOne() {
        let memory = Int(Bounds.retryWindowMemory.inMilliseconds)
        var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 64, perDestinationMin: 4))
        send(64 + 32 + 16, .putOff, &destinations, at: 0)
        #expect(destinations.width == 8)
        destinations.take(in: there, at: moment(0))
        destinations.giveBack(there, .ended, at: moment(0))
        #expect(destinations.width == 64)
        #expect(fill(&destinations, here, at: memory - 1) == 8)
        for _ in 0..<8 { destinations.giveBack(here, .putOff, at: moment(memory - 1)) }
        #expect(fill(&destinations, here, at: 2 * memory) == 32)
    }

    @Test("A refused token doesn't reduce its destination's slots, because it says nothing about capacity")
    func tokenRefused() {
        var destinations = ConcurrencyLimiter(RetryBudget(inFlightMax: 64, perDestinationMin: 4))
        send(200, .tokenRefused, &destinations, at: 0)
        #expect(destinations.width == 64)
        #expect(destinations.silent(besides: 0, at: moment(10_000)) == [])
    }

    @Test("An app with a refused token is probed once a second with one push until it is accepted")
    func refusedTokens() {
        var refused = RefusedTokens()
        let here = APNsHealth.Destination(key: TestKey.first, environment: .production)
        let target = APNsHealth.Target(bundleID: "org.example.a", destination: here)
        let other = APNsHealth.Target(bundleID: "org.example.b", destination: here)
        #expect(!refused.spares(target, at: moment(0)))
        for _ in 0..<3 {
            refused.sent(to: target)
            #expect(!refused.spares(target, at: moment(0)), "nothing has been refused")
        }
        for _ in 0..<3 { refused.answered(target, .tokenRefused, at: moment(10)) }
        #expect(refused.spares(target, at: moment(1_009)))
        #expect(!refused.spares(other, at: moment(1_009)), "the key may be good for another app")
        for second in 1..<5 {
            #expect(!refused.spares(target, at: moment(1_010 * second)))
            refused.sent(to: target)
            #expect(refused.spares(target, at: moment(1_010 * second + 5_000)), "one push asks")
            refused.answered(target, .tokenRefused, at: moment(1_010 * second))
            #expect(refused.spares(target, at: moment(1_010 * second + 999)))
        }
        // Without a response nothing is known about the token, so the next push tests it.
        refused.sent(to: target)
        refused.answered(target, .none, at: moment(6_000))
        #expect(!refused.spares(target, at: moment(6_000)))
        refused.sent(to: target)
        refused.answered(target, .ended, at: moment(6_001))
        refused.sent(to: target)
        #expect(!refused.spares(target, at: moment(6_001)))
    }

    @Test("Pushes that wait for a slot are sent in order, each when its destination is free")
    func lines() {
        var lines = FairQueue<String, Int>()
        #expect(lines.isEmpty && lines.takeFirst { _ in true } == nil)
        for number in 0..<100 { lines.append(number, for: number % 2 == 0 ? "even" : "odd") }
        let odd = (0..<30).map { _ in lines.takeFirst { $0 == "odd" } }
        #expect(odd == (0..<30).map { 2 * $0 + 1 })
        #expect(lines.count == 70)
        #expect(lines.takeFirst { $0 == "none" } == nil)
        #expect(lines.takeAll { line, number in line == "even" && number < 10 } == [0, 2, 4, 6, 8])
        lines.append(101, for: "odd")
        #expect(lines.takeFirst { _ in true } == nil, "both were not free")
        lines.free("even")
        #expect(lines.takeFirst { $0 == "even" } == 10)
        lines.free("odd")
        #expect((0..<4).map { _ in lines.takeFirst { _ in true } } == [12, 61, 14, 63])
        let rest = lines.takeAll()
        #expect(rest.count == 61 && rest.filter { $0 % 2 == 1 }.last == 101)
        #expect(lines.isEmpty && lines.takeAll().isEmpty)
    }

    @Test("Looking for a push costs nothing for destinations that were not free")
    func manyLines() {
        var lines = FairQueue<Int, Int>()
        for number in 0..<1_000 { lines.append(number, for: number) }
        var asked = 0
        let isFree = { (line: Int) in
            asked += 1
            return line == 999
        }
        #expect(lines.takeFirst(whereFree: isFree) == 999)
        #expect(asked == 1_000)
        for number in 0..<10 {
            lines.append(number, for: 999)
            #expect(lines.takeFirst(whereFree: isFree) == number)
        }
        #expect(asked == 1_010)
        #expect(lines.takeAll { line, _ in line < 500 }.count == 500)
        for line in 0..<1_000 { lines.free(line) }
        #expect(lines.takeFirst { _ in true } == 500)
        #expect(lines.count == 498)
    }

    @Test(
        "Looking past backlogs takes a tenth of the time, and pushes behind one wait for a bounded time"
    )
    func pace() {
        let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
        var pace = ClaimPace()
        #expect(pace.scope(at: start) == .everySecret)
        pace.claimed(.everySecret, from: start, to: start + .milliseconds(10))
        #expect(pace.scope(at: start + .milliseconds(99)) == .oldest)
        pace.claimed(.oldest, from: start + .milliseconds(50), to: start + .milliseconds(90))
        #expect(pace.scope(at: start + .milliseconds(100)) == .everySecret)
        pace.claimed(.everySecret, from: start, to: start + .seconds(60))
        #expect(pace.scope(at: start + .seconds(60) + Bounds.wideClaimRestMax) == .everySecret)
    }
}

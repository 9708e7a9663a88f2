import Storage
import Testing

@testable import Relay

@Suite("What is due of a schedule", .timeLimit(.minutes(2)))
struct OccurrencePlanTests {
    private static let start: EpochMilliseconds = 1_800_000_000_000
    private static let hour: EpochMilliseconds = 3_600_000

    private func schedule(
        rule: String? = nil, endsIn: EpochMilliseconds? = nil, lateBy: EpochMilliseconds = hour,
        window: EpochMilliseconds = 0
    ) -> Schedule {
        var generator = IDGenerator()
        return Schedule(
            id: UUIDv7(at: Self.start, using: &generator),
            secretHash: RelayFixture.key.primary, kind: .schedule, rule: rule, content: "{}",
            nextAt: Self.start, endsAt: endsIn.map { Self.start + $0 }, lateBy: lateBy, window: window,
            createdAt: Self.start)
    }

    /// The plan for an hourly schedule, or for one that happens once.
    private func plan(
        _ schedule: Schedule, after time: EpochMilliseconds
    ) -> (send: EpochMilliseconds?, skipped: Int, next: EpochMilliseconds?) {
        let plan = OccurrencePlan(of: schedule, at: Self.start + time) { time in
            guard schedule.rule != nil else { return nil }
            let passed = time - Self.start
            let hours = passed < 0 ? 0 : passed / Self.hour + 1
            return Self.start + hours * Self.hour
        }
        return (plan.send.map { $0 - Self.start }, plan.skipped, plan.next.map { $0 - Self.start })
    }

    @Test("Once, it is sent within its time, and then there is no other")
    func once() {
        #expect(plan(schedule(), after: 0) == (0, 0, nil))
        #expect(plan(schedule(), after: Self.hour) == (0, 0, nil))
        #expect(plan(schedule(), after: Self.hour + 1) == (nil, 1, nil))
        // A minute is always allowed; otherwise a busy relay would skip everything.
        #expect(plan(schedule(lateBy: 0), after: 60_000) == (0, 0, nil))
        #expect(plan(schedule(lateBy: 0), after: 60_001) == (nil, 1, nil))
    }

    @Test("After an outage, the newest occurrence is sent once and the others are skipped")
    func outage() {
        let hourly = schedule(rule: "hourly", lateBy: Self.hour / 2)
        #expect(plan(hourly, after: 5) == (0, 0, Self.hour))
        #expect(plan(hourly, after: 3 * Self.hour + 9) == (3 * Self.hour, 3, 4 * Self.hour))
        #expect(plan(hourly, after: 3 * Self.hour + Self.hour / 2 + 1) == (nil, 4, 4 * Self.hour))
    }

    @Test("After a very long outage, the newest occurrence is sent, too, though not all are counted")
    func longOutage() {
        let hourly = schedule(rule: "hourly", lateBy: 5 * Self.hour)
        let missed = Int64(3 * Bounds.scheduleStepsMax)
        let plan = plan(hourly, after: missed * Self.hour + 7)
        #expect(plan.send == missed * Self.hour && plan.next == (missed + 1) * Self.hour)
        #expect((Bounds.scheduleStepsMax..<Int(missed)).contains(plan.skipped))
    }

    @Test("No occurrence is after the end")
    func end() {
        let hourly = schedule(rule: "hourly", endsIn: Self.hour)
        #expect(plan(hourly, after: 0) == (0, 0, Self.hour))
        #expect(plan(hourly, after: Self.hour) == (Self.hour, 1, nil))
        #expect(plan(hourly, after: 9 * Self.hour) == (nil, 2, nil))
    }

    @Test("Looked at early, it keeps its time or gets the one that its rule has now")
    func early() {
        #expect(plan(schedule(), after: -5) == (nil, 0, 0))
        #expect(plan(schedule(rule: "hourly"), after: -5) == (nil, 0, 0))
        let moved = OccurrencePlan(of: schedule(rule: "moved"), at: Self.start - 9) { $0 + 4 }
        #expect(moved.next == Self.start - 5)
        let ended = OccurrencePlan(of: schedule(rule: "ended"), at: Self.start - 9) { _ in nil }
        #expect(ended.send == nil && ended.next == nil)
    }

    @Test("The spread delays each occurrence by the same time, and makes none late")
    func spread() {
        let hourly = schedule(rule: "hourly", lateBy: 60_000, window: 1_800_000)
        let delay = hourly.dueAt - hourly.nextAt
        #expect((0..<1_800_000).contains(delay))
        #expect(plan(hourly, after: delay - 1).send == nil)
        #expect(plan(hourly, after: delay) == (0, 0, Self.hour))
        #expect(plan(hourly, after: delay + 60_000) == (0, 0, Self.hour))
        #expect(plan(hourly, after: Self.hour + delay - 1) == (nil, 1, Self.hour))
        #expect(plan(hourly, after: Self.hour + delay) == (Self.hour, 1, 2 * Self.hour))
    }

    @Test("A rule that stands still ends, and a very frequent one costs a bounded number of steps")
    func unruly() {
        let stuck = OccurrencePlan(of: schedule(rule: "stuck"), at: Self.start) { $0 }
        #expect(stuck.send == Self.start && stuck.next == nil)
        var steps = 0
        let quick = OccurrencePlan(of: schedule(rule: "quick"), at: Self.start + 100_000_000) { time in
            steps += 1
            return time + 1
        }
        #expect(steps < 2 * Bounds.scheduleStepsMax + 10)
        #expect(quick.next == Self.start + 100_000_001)
    }
}

import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("A clock that is set back while something is scheduled", .timeLimit(.minutes(2)))
struct ScheduleClockTests {
    private static let start = RelayFixture.start
    private static let hours3: EpochMilliseconds = 3 * 3_600_000

    private static func schedule(
        _ kind: ScheduleKind = .schedule, rule: String? = nil, at next: EpochMilliseconds,
        endsAt: EpochMilliseconds? = nil, created: EpochMilliseconds, last: EpochMilliseconds? = nil
    ) -> Schedule {
        var schedule = Schedule(
            id: UUIDv7("01890a5d-ac96-774b-bcce-b302099a8057") ?? UUIDv7(at: 0, using: &generator),
            secretHash: RelayFixture.key.primary, kind: kind, rule: rule, content: "{}", nextAt: next,
            endsAt: endsAt, lateBy: 60_000, createdAt: created)
        schedule.lastAt = last
        schedule.skipped = 4
        return schedule
    }

    nonisolated(unsafe) private static var generator = SystemRandomNumberGenerator()

    @Test("What is counted from its creation is counted from now on")
    func delays() {
        let made = Self.start + Self.hours3
        let delay = Self.schedule(at: made + 60_000, created: made)
        let redated = delay.redated(at: Self.start, isDelay: true)
        #expect(redated == Self.schedule(at: Self.start + 60_000, created: Self.start))
        // Schedules made by the right clock stay as they are.
        #expect(redated.redated(at: Self.start, isDelay: true) == redated)
        let event = Self.schedule(.async, at: made, created: made).redated(at: Self.start, isDelay: false)
        #expect(event == Self.schedule(.async, at: Self.start, created: Self.start))
    }

    @Test("A repetition goes on after its interval, and no longer than was asked for")
    func repetition() {
        let made = Self.start + Self.hours3
        let repetition = Self.schedule(
            .repeat, rule: "{}", at: made + 180_000, endsAt: made + 600_000, created: made,
            last: made + 120_000)
        let redated = repetition.redated(at: Self.start, isDelay: false)
        #expect(redated.nextAt == Self.start + 60_000 && redated.dueAt == redated.nextAt)
        #expect(redated.endsAt == Self.start + 600_000 && redated.lastAt == Self.start)
        #expect(redated.skipped == 4)
    }

    @Test("A time of day stays; a recurrence and what was held for quiet hours are looked at now")
    func absolute() {
        let made = Self.start + Self.hours3
        let at = Self.schedule(at: made + 60_000, created: made).redated(at: Self.start, isDelay: false)
        #expect(at == Self.schedule(at: made + 60_000, created: Self.start))
        let recurrence = Self.schedule(rule: "{}", at: made + 60_000, created: 0, last: made)
            .redated(at: Self.start, isDelay: false)
        #expect(recurrence.nextAt == made + 60_000 && recurrence.dueAt == Self.start)
        #expect(recurrence.lastAt == Self.start && recurrence.createdAt == 0)
        let held = Self.schedule(.held, at: made + 60_000, created: made)
            .redated(at: Self.start, isDelay: false)
        #expect(held.nextAt == Self.start && held.dueAt == Self.start)
    }

    /// Creates a schedule while the clock is three hours ahead, sets the clock back, and lets a worker look.
    private static func afterStep(
        isRunning: Bool, _ members: JSON.Value, _ check: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.time.withLock { $0 += hours3 }
            func create() async {
                var body = members.object ?? JSON.Object()
                body["secret"] = .string(RelayFixture.secret)
                body["notification"] = ["title": "Later"]
                #expect(await relay.post("/v1/schedule/create", .object(body)).status.rawValue == 200)
            }
            if !isRunning { await create() }
            if !isRunning { relay.time.withLock { $0 -= hours3 } }
            try await relay.withScheduleWorker { worker in
                if isRunning {
                    await create()
                    #expect(await eventually { relay.storage.state.withLock(\.scheduleLooks) > 0 })
                    relay.time.withLock { $0 -= hours3 }
                    await relay.loop.run { _ in worker.value.look() }
                }
                #expect(await eventually { relay.schedules.allSatisfy { $0.createdAt <= start } })
            }
            try await check(relay)
        }
    }

    @Test("A delay is over when it has passed by the clock as it is now", arguments: [true, false])
    func delayed(isRunning: Bool) async throws {
        try await Self.afterStep(isRunning: isRunning, ["in": 60]) { relay in
            #expect(relay.schedules.map(\.dueAt) == [Self.start + 60_000])
            relay.pass(.seconds(60))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("A time of day isn't moved")
    func atTime() async throws {
        // 2027-01-15T08:00:00Z is the fixture's time.
        try await Self.afterStep(isRunning: false, ["at": "2027-01-15T12:00:00Z", "window": 0]) { relay in
            #expect(relay.schedules.map(\.dueAt) == [Self.start + 4 * 3_600_000])
        }
    }
}

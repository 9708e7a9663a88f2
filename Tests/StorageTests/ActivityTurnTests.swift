import Storage
import Testing

@Suite("Turns of Live Activities", .timeLimit(.minutes(1)))
struct ActivityTurnTests {
    private static let start: EpochMilliseconds = 1_800_000_000_000
    private static let interval: EpochMilliseconds = 15_000

    private func activity(_ token: String) -> PushToken {
        PushToken(
            id: token, secretHash: SecretHash(Digest256(of: [1])), kind: .activity, token: token,
            sessionID: "ses", deviceID: "device of \(token)", bundleID: "b", environment: .production,
            createdAt: 0, updatedAt: 0)
    }

    private func state(
        at time: EpochMilliseconds, now: EpochMilliseconds? = nil, isHeld: Bool = false
    ) -> ActivityState {
        ActivityState(
            sessionID: "ses", at: Self.start + time, now: Self.start + (now ?? time),
            urgency: .progress(interval: Self.interval, starting: false), isHeld: isHeld)
    }

    /// Activities as stored in a database, which each turn updates.
    private struct Phones {
        var activities: [PushToken]

        mutating func take(_ state: ActivityState) -> ActivityTurn {
            let turn = ActivityTurn(of: state, among: activities)
            for next in turn.updates { activities = activities.map { $0.id == next.id ? next : $0 } }
            return turn
        }
    }

    @Test("Activities that are out of step get each state once")
    func outOfStep() {
        var phones = Phones(activities: [activity("a")])
        #expect(phones.take(state(at: 0)).updates.map(\.token) == ["a"])
        phones.activities.append(activity("b"))
        let second = phones.take(state(at: 8_000))
        #expect(second.updates.map(\.token) == ["b"])
        #expect(second.held == 1 && second.heldUntil == Self.start + 15_000)
        #expect(second.devices == ["device of a", "device of b"])
        let held = phones.take(state(at: 8_000, now: 15_000, isHeld: true))
        #expect(held.updates.map(\.token) == ["a"] && held.held == 0)
        for now in [23_000, 30_000, 38_000] as [EpochMilliseconds] {
            #expect(phones.take(state(at: 8_000, now: now, isHeld: true)).isEmpty)
        }
    }

    @Test("States of one millisecond are told apart, and none is lost")
    func sameMillisecond() {
        var phones = Phones(activities: [activity("a")])
        _ = phones.take(state(at: 0))
        phones.activities.append(activity("b"))
        #expect(phones.take(state(at: 8_000)).updates.map(\.token) == ["b"])
        let second = phones.take(state(at: 8_000))
        #expect(second.held == 2 && second.at == Self.start + 8_001)
        let held = state(at: 8_001, now: 23_000, isHeld: true)
        #expect(phones.take(held).updates.map(\.token) == ["a", "b"])
        #expect(phones.take(held).isEmpty)
    }

    @Test("What has waited isn't sent after a state of the same millisecond that didn't wait")
    func overtaken() {
        var phones = Phones(activities: [activity("a")])
        _ = phones.take(state(at: 0))
        #expect(phones.take(state(at: 8_000)).held == 1)
        let permission = ActivityState(sessionID: "ses", at: Self.start + 8_000, urgency: .immediate)
        #expect(phones.take(permission).updates.count == 1)
        #expect(phones.take(state(at: 8_000, now: 15_000, isHeld: true)).isEmpty)
        // A state that arrives later is a different one.
        #expect(phones.take(state(at: 8_000)).held == 1)
        #expect(phones.take(state(at: 8_001, now: 15_000, isHeld: true)).updates.count == 1)
    }

    @Test("A replaced token gets the last state once, and no older one")
    func replaced() {
        var phones = Phones(activities: [activity("a")])
        _ = phones.take(state(at: 0))
        _ = phones.take(state(at: 20_000))
        let before = phones.activities
        phones.activities = [activity("b").succeeding(before)]
        #expect(phones.activities.map(\.stamp) == before.map(\.stamp))
        #expect(phones.take(state(at: 19_999, now: 20_001, isHeld: true)).isEmpty)
        let last = state(at: 20_000, now: 20_001, isHeld: true)
        #expect(phones.take(last).updates.map(\.token) == ["b"])
        #expect(phones.take(last).isEmpty)
        #expect(activity("c").succeeding([activity("d")]) == activity("c"))
    }

    @Test("After a clock that was far ahead, states are again sent once each")
    func clockAhead() {
        var phones = Phones(activities: [activity("a"), activity("b")])
        let ahead = 2 * StorageLimits.activityStartInterval
        #expect(phones.take(state(at: ahead)).updates.count == 2)
        #expect(phones.take(state(at: 0)).updates.count == 2)
        #expect(phones.take(state(at: 0, now: 30_000, isHeld: true)).isEmpty)
        #expect(phones.take(state(at: 5_000)).heldUntil == Self.start + 15_000)
    }
}

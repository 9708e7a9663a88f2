import APNs
import Storage
import Testing

@testable import Relay

@Suite("The end of a lease", .timeLimit(.minutes(2)))
struct LeasedPushTests {
    private let now: EpochMilliseconds = 1_800_000_000_000
    private let device = Device(
        id: "device", secretHash: RelayFixture.key.primary, token: "aa00", bundleID: "org.example.app",
        environment: .production, createdAt: 1, updatedAt: 2)

    /// A leased push that has been sent the given number of times.
    private func leased(attempts: Int) -> LeasedPush {
        var generator = IDGenerator(seed: 1)
        let push = PendingPush(
            id: "push", secretHash: device.secretHash, deviceID: device.id, eventType: "error",
            sessionID: "ses_9", payload: [], pushType: "alert", priority: 10, collapseID: nil,
            attempts: attempts, dueAt: now, createdAt: now - 5_000, expiresAt: now + 86_400_000)
        return LeasedPush(push, to: device, owner: UUIDv7(at: 0, using: &generator))
    }

    private func end(after pushEnd: PushEnd, attempts: Int) -> PushQueue.End {
        leased(attempts: attempts).end(after: pushEnd, RetrySchedule(), at: now, random: 0.5)
    }

    @Test("Each further failed attempt doubles the delay")
    func backOff() {
        let later = PushEnd.retryLater(
            OutcomePolicy.RetryLater(reason: "Timeout", cause: .unreachable))
        for (attempts, delay) in [(0, 500), (1, 1_000), (2, 2_000), (5, 16_000)] {
            let end = end(after: later, attempts: attempts)
            #expect(
                end.settlement.end
                    == .again(dueAt: now + EpochMilliseconds(delay), attempts: attempts + 1))
            #expect(end.removal == nil)
        }
    }

    @Test("A push that is given back is due as before, and no attempt counts")
    func givenBack() {
        #expect(leased(attempts: 2).givenBack().settlement.end == .again(dueAt: now, attempts: 2))
    }

    @Test("A push to be resent immediately is due at once, and the attempt counts")
    func atOnce() {
        #expect(end(after: .unfinished, attempts: 2).settlement.end == .again(dueAt: now, attempts: 3))
    }

    @Test("A push to an app that the relay no longer knows waits for a relay that knows it")
    func unknownApp() {
        let end = end(after: .unknownApp, attempts: 0)
        #expect(end.settlement.end == .again(dueAt: now + 1_000, attempts: 1) && end.removal == nil)
    }

    @Test("A final end is recorded with its time, its reason and the registration to remove")
    func over() throws {
        let failure = OutcomePolicy.Failure(reason: "Unregistered", removeIfNotUpdatedAfter: 7)
        let end = end(after: .failed(failure), attempts: 1)
        guard case .over(let row) = end.settlement.end else {
            Issue.record("it waits again")
            return
        }
        #expect(row.id == "push" && row.deviceID == "device" && row.createdAt == now)
        #expect(row.status == .failed && row.error == "Unregistered")
        let removal = try #require(end.removal)
        #expect(removal.device == device && removal.ifNotUpdatedAfter == 7 && removal.at == now)
    }
}

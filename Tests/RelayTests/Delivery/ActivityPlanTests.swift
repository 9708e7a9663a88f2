import APNs
import JSON
import Storage
import Testing

@testable import Relay

private let now: EpochMilliseconds = 1_800_000_000_999

private func content(
    _ type: EventType, title: String = "Title", body: String = "Text",
    state: JSON.Value = ["status": "working"]
) -> ActivityContent {
    ActivityContent(
        type: type, sessionID: "ses_1", serverID: "srv", state: state.object ?? JSON.Object(),
        attributes: nil, title: title,
        body: body, at: now)
}

private func target(_ kind: PushTokenKind = .activity) -> PushToken {
    PushToken(
        id: "id", secretHash: SecretHash(Digest256(of: [1])), kind: kind, token: "aa", deviceID: nil,
        bundleID: "org.example.app", environment: .production,
        attributesType: kind == .start ? "App.Attributes" : nil, createdAt: 0, updatedAt: 0,
        stamp: 1_800_000_007)
}

@Suite("Plan of a Live Activity's push", .timeLimit(.minutes(2)))
struct ActivityPlanTests {
    @Test("Each event has its priority, times and alert")
    func table() {
        let rows: [(EventType, Bool, ActivityEvent, Priority, Int64, Int64?, Int64?, Bool)] = [
            (.start, false, .start, .immediate, 600, 120, nil, true),
            (.start, true, .update, .conserveDevicePower, 60, 120, nil, false),
            (.progress, true, .update, .conserveDevicePower, 60, 120, nil, false),
            (.permission, true, .update, .immediate, 600, nil, nil, true),
            (.complete, true, .end, .immediate, 14_400, nil, 900, false),
            (.error, true, .end, .immediate, 14_400, nil, 900, false),
            (.end, true, .end, .immediate, 14_400, nil, 0, false),
        ]
        for (type, isShown, event, priority, ttl, stale, dismissal, alerts) in rows {
            let plan = ActivityPlan(type, isShown: isShown)
            #expect(plan.event == event && plan.priority == priority && plan.alerts == alerts)
            #expect(plan.timeToLive.components.seconds == ttl)
            #expect(plan.staleAfter?.components.seconds == stale)
            #expect(plan.dismissAfter?.components.seconds == dismissal)
        }
    }

    @Test("Payloads have the members that Apple requires", arguments: EventType.allCases)
    func payloads(_ type: EventType) throws {
        let plan = ActivityPlan(type, isShown: type != .start)
        let payload = content(type).payload(
            plan, to: target(type == .start ? .start : .activity), plan.alerts ? .silent : .none, at: now)
        let aps = try #require(try JSON.parse(payload, maxBytes: 4_096)["aps"])
        #expect(aps["timestamp"] == 1_800_000_007)
        #expect(aps["event"]?.string == plan.event.rawValue)
        #expect(aps["content-state"] == ["status": "working"])
        #expect(aps["stale-date"]?.int == plan.staleAfter.map { _ in 1_800_000_120 })
        #expect(
            aps["dismissal-date"]?.int == plan.dismissAfter.map { 1_800_000_000 + Int($0.components.seconds) }
        )
        #expect(aps["alert"] == (plan.alerts ? ["title": "Title", "body": "Text"] : nil))
        #expect(aps["attributes-type"]?.string == (type == .start ? "App.Attributes" : nil))
        #expect(aps["attributes"] == (type == .start ? ["sessionID": "ses_1", "serverID": "srv"] : nil))
    }

    @Test("An alert's texts are cut so that the push fits, its state isn't")
    func cut() throws {
        let state: JSON.Value = ["text": .string(String(repeating: "x", count: 3_480))]
        for (title, body) in [
            ("T", String(repeating: "é\"", count: 3_000)), (String(repeating: "t", count: 9_000), "b"),
        ] {
            let content = content(.permission, title: title, body: body, state: state)
            #expect(content.sizeMax <= 4_096)
            let payload = content.payload(
                ActivityPlan(.permission, isShown: true), to: target(), .sound("default"), at: now)
            #expect(payload.count <= 4_096)
            let aps = try #require(try JSON.parse(payload, maxBytes: 4_096)["aps"])
            #expect(aps["content-state"] == state)
            #expect(aps["alert"]?["sound"] == "default")
        }
    }

    @Test("The newest state of each session is kept, for a bounded number of sessions")
    func states() {
        let states = DeferredStates<Int>(capacity: 2)
        func place(_ session: String) -> DeferredStates<Int>.Session {
            .init(secret: SecretHash(Digest256(of: [1])), sessionID: session)
        }
        #expect(states.keep(1, of: place("a"), at: 10))
        #expect(!states.keep(2, of: place("a"), at: 12))
        #expect(!states.keep(3, of: place("a"), at: 11))
        #expect(states.keep(4, of: place("b"), at: 10))
        #expect(!states.keep(5, of: place("c"), at: 10) && states.count == 2)
        #expect(states.take(place("a")) == 2 && states.take(place("a")) == nil)
    }

    @Test("A clock that was ahead neither silences an activity nor moves its time backwards")
    func clockSteps() {
        let ahead = target().turn(
            for: ActivityState(
                sessionID: "s", at: now + 86_400_000, urgency: .progress(interval: 15_000, starting: false)))
        guard case .now(let stamped) = ahead else { return #expect(Bool(false)) }
        let state = ActivityState(
            sessionID: "s", at: now, urgency: .progress(interval: 15_000, starting: false))
        guard case .now(let again) = stamped.turn(for: state) else { return #expect(Bool(false)) }
        #expect(again.stamp == stamped.stamp + 1 && again.stateAt == now && again.progressAt == now)
        #expect(again.turn(for: state) == .never)
        let later = ActivityState(
            sessionID: "s", at: now, now: now + 15_000, urgency: .immediate)
        guard case .now(let next) = stamped.turn(for: later) else { return #expect(Bool(false)) }
        #expect(next.stamp == stamped.stamp + 1)
    }
}

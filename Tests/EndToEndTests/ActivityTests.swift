import JSON
import Testing

/// Live Activities through the real relay and a simulated APNs.
@Suite(.timeLimit(.minutes(3)))
struct ActivityTests {
    private static let secret = "a secret of the test"

    private static func state(_ status: String) -> JSON.Value { ["status": .string(status)] }

    /// The token of the activity that a phone is showing.
    private static func activity(_ phone: Int) -> String { token(100 + phone) }

    private static func register(_ stack: Stack, phone: Int) async throws {
        try await stack.register(secret, token(phone))
        let body: JSON.Value = [
            "secret": .string(secret), "sessionID": "ses_1", "activityToken": .string(activity(phone)),
            "deviceToken": .string(token(phone)),
        ]
        let answer = try await stack.http.post("/v1/activity/register", body.object ?? JSON.Object())
        guard answer.status == 200 else { throw Program.Failure(description: answer.text) }
    }

    /// The states that APNs accepted for an activity: event and status.
    private static func states(_ stack: Stack, _ phone: Int) async throws -> [[String]] {
        let pushes = try await stack.control.pushes(token: activity(phone))
        return pushes.filter { $0["status"] == 200 }.map { push in
            let aps = push["payload"]?["aps"]
            return [aps?["event"]?.string ?? "", aps?["content-state"]?["status"]?.string ?? ""]
        }
    }

    @Test("A session's activity is updated within its interval and ends, on two phones")
    func course() async throws {
        try await Stack.run(["RELAY_ACTIVITY_INTERVAL": "2s"]) { stack in
            for phone in 1...2 { try await Self.register(stack, phone: phone) }
            for status in ["working", "retry", "last"] {
                let result = try await stack.event(
                    Self.secret, ["eventType": "progress", "contentState": Self.state(status)])
                #expect(result.sent == 0)
            }
            var seen: [[String]] = []
            let deadline = ContinuousClock.now + .seconds(60)
            while seen.last?.last != "last", ContinuousClock.now < deadline {
                seen = try await Self.states(stack, 2)
            }
            let end = try await stack.event(Self.secret, ["contentState": Self.state("complete")])
            #expect(end.sent == 2)
            for phone in 1...2 {
                let states = try await Self.states(stack, phone)
                #expect(states.first == ["update", "working"])
                #expect(Array(states.suffix(2)) == [["update", "last"], ["end", "complete"]])
            }
            let rejected = try await stack.control.stats()["reasons"]?.object?.members ?? []
            #expect(rejected.isEmpty)
            let late = try await stack.event(
                Self.secret, ["eventType": "progress", "contentState": Self.state("late")])
            #expect(late.deliveries.isEmpty)
        }
    }

    @Test("A dead activity is removed, and its device still gets its notifications")
    func dead() async throws {
        try await Stack.run { stack in
            for phone in 1...2 { try await Self.register(stack, phone: phone) }
            try await stack.control.put(
                "/tokens",
                ["token": .string(Self.activity(1)), "state": "unregistered", "since": 4_000_000_000_000])
            let members: JSON.Value = ["eventType": "permission", "contentState": Self.state("permission")]
            let first = try await stack.event(Self.secret, members)
            #expect(first.sent == 2 && first.failed == 0)
            #expect(first.isRemoved(Self.activity(1)) && first.status(Self.activity(2)) == "sent")
            let second = try await stack.event(Self.secret, members)
            #expect(second.sent == 2 && second.deliveries.count == 3)
        }
    }

    @Test("A start that APNs can't accept is repeated by the session's next start, and then no more")
    func failedStart() async throws {
        try await Stack.run { stack in
            let body: JSON.Value = [
                "secret": .string(Self.secret), "deviceToken": .string(token(1)),
                "pushToStartToken": .string(Self.activity(1)), "attributesType": "App.Attributes",
            ]
            let registered = try await stack.http.post("/v1/device/register", try #require(body.object))
            #expect(registered.status == 200)
            try await stack.control.put(
                "/rules", ["id": "away", "status": 503, "reason": "ServiceUnavailable"])
            let members: JSON.Value = ["eventType": "start", "contentState": Self.state("working")]
            var outcomes = [try await stack.event(Self.secret, members).status(Self.activity(1))]
            try await stack.control.delete("/rules")
            for _ in 1...2 {
                outcomes.append(try await stack.event(Self.secret, members).status(Self.activity(1)))
            }
            #expect(outcomes == ["failed", "sent", nil])
        }
    }

    @Test("An end that APNs can't accept survives a restart")
    func restart() async throws {
        try await Stack.run(["RELAY_RETRY_DELAY_MAX": "1s"]) { stack in
            try await Self.register(stack, phone: 1)
            try await stack.control.put(
                "/rules", ["id": "away", "status": 503, "reason": "ServiceUnavailable"])
            for (type, queued) in [("progress", false), ("complete", true)] {
                let result = try await stack.event(
                    Self.secret, ["eventType": .string(type), "contentState": Self.state(type)])
                #expect(result.status(Self.activity(1)) == (queued ? "queued" : "failed"))
            }
            #expect(try await stack.relay.stop() == 0)
            try await stack.control.delete("/rules")
            try await stack.restartRelay()
            var seen: [[String]] = []
            let deadline = ContinuousClock.now + .seconds(90)
            while seen.isEmpty, ContinuousClock.now < deadline { seen = try await Self.states(stack, 1) }
            #expect(seen == [["end", "complete"]])
        }
    }
}

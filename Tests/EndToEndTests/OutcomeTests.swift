import ChildProcess
import Glibc
import JSON
import Testing

/// Each row of the outcome table, through the real relay and a simulated APNs.
@Suite(.timeLimit(.minutes(3)))
struct OutcomeTests {
    static let secret = "a secret of the test"

    private func registered(_ stack: Stack, environment: String? = nil, bundleID: String? = nil) async throws
    {
        try await stack.register(Self.secret, token(1), environment: environment, bundleID: bundleID)
    }

    @Test(
        "410 removes the registration if it is not newer than APNs' timestamp",
        arguments: ["Unregistered", "ExpiredToken"])
    func gone(reason: String) async throws {
        try await Stack.run { stack in
            let state = reason == "Unregistered" ? "unregistered" : "expired"
            // The app has registered again since this old timestamp, so the response is stale.
            try await registered(stack)
            try await stack.control.put(
                "/tokens", ["token": .string(token(1)), "state": .string(state), "since": 1_600_000_000_000])
            let stale = try await stack.event(Self.secret)
            #expect(stale.reason(token(1)) == reason && !stale.isRemoved(token(1)))
            try await stack.control.put(
                "/tokens", ["token": .string(token(1)), "state": .string(state), "since": 4_000_000_000_000])
            let final = try await stack.event(Self.secret)
            #expect(final.reason(token(1)) == reason && final.isRemoved(token(1)))
            #expect(try await stack.event(Self.secret).deliveries.isEmpty)
        }
    }

    @Test("BadDeviceToken tries the other environment once, keeps what works and removes what doesn't")
    func badDeviceToken() async throws {
        try await Stack.run { stack in
            try await registered(stack, environment: "production")
            try await stack.control.put("/tokens", ["token": .string(token(1)), "environment": "sandbox"])
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await stack.control.stats("production")["pushes"]?.int == 1)
            #expect(try await stack.control.stats("sandbox")["pushes"]?.int == 2)
            try await stack.control.put("/rules", ["reason": "BadDeviceToken"])
            let result = try await stack.event(Self.secret)
            #expect(result.reason(token(1)) == "BadDeviceToken" && result.isRemoved(token(1)))
            #expect(try await stack.event(Self.secret).deliveries.isEmpty)
        }
    }

    @Test(
        "A key for the other environment is tried there, and never removes a registration",
        arguments: ["BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken"])
    func environmentKey(reason: String) async throws {
        try await Stack.run { stack in
            try await registered(stack)
            try await stack.control.put(
                "/rules",
                [
                    "id": "wrong", "match": ["environment": "production"],
                    "reason": .string(reason),
                    "status": 403,
                ])
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await stack.control.stats("production")["pushes"]?.int == 1)
            try await stack.control.put(
                "/rules", ["id": "wrong", "reason": .string(reason), "status": 403])
            let both = try await stack.event(Self.secret)
            #expect(both.failed == 1 && !both.isRemoved(token(1)))
            try await stack.control.delete("/rules")
            #expect(try await stack.event(Self.secret).sent == 1)
        }
    }

    @Test("DeviceTokenNotForTopic removes only a registration that named its app itself")
    func notForTopic() async throws {
        try await Stack.run { stack in
            try await stack.control.put("/rules", ["reason": "DeviceTokenNotForTopic"])
            try await registered(stack)
            let kept = try await stack.event(Self.secret)
            #expect(kept.reason(token(1)) == "DeviceTokenNotForTopic" && !kept.isRemoved(token(1)))
            try await registered(stack, bundleID: "com.example.other")
            let removed = try await stack.event(Self.secret)
            #expect(removed.reason(token(1)) == "DeviceTokenNotForTopic" && removed.isRemoved(token(1)))
        }
    }

    @Test(
        "An expired provider token is renewed if allowed, otherwise reported; no registration is removed"
    )
    func expiredProviderToken() async throws {
        try await Stack.run { stack in
            try await registered(stack)
            try await stack.control.put("/rules", ["reason": "ExpiredProviderToken", "count": 1])
            let result = try await stack.event(Self.secret)
            // A provider token younger than 20 minutes isn't replaced, so the push is retried with the same one.
            #expect(result.sent == 1)
            #expect(try await stack.event(Self.secret).sent == 1)
        }
    }

    @Test(
        "The operator's faults fail, keep the registration and show in /ready",
        arguments: [
            "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken", "TopicDisallowed",
            "BadTopic",
        ])
    func operatorFaults(reason: String) async throws {
        try await Stack.run { stack in
            try await registered(stack)
            #expect(try await stack.http.get("/ready").status == 200)
            try await stack.control.put("/rules", ["reason": .string(reason)])
            let result = try await stack.event(Self.secret)
            #expect(result.reason(token(1)) == reason && !result.isRemoved(token(1)))
            let ready = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                $0.status == 503
            }
            #expect(ready.text.contains(reason))
            try await stack.control.delete("/rules")
            #expect(try await stack.event(Self.secret).sent == 1)
            _ = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                $0.status == 200
            }
        }
    }

    @Test(
        "A push that APNs can't accept now is queued with its reason and arrives under the same apns-id",
        arguments: [
            "TooManyRequests", "TooManyProviderTokenUpdates", "InternalServerError", "ServiceUnavailable",
        ])
    func waits(reason: String) async throws {
        try await Stack.run(["RELAY_RETRY_DELAY_MAX": "300ms"]) { stack in
            try await registered(stack)
            try await stack.control.put("/rules", ["reason": .string(reason), "count": 3])
            let result = try await stack.event(Self.secret)
            #expect(result.queued == 1 && result.failed == 0 && result.reason(token(1)) == reason)
            let id = try #require(result.deliveries.values.first?["apnsID"]?.string)
            let pushes = try await eventually {
                try await stack.control.pushes()
            } until: {
                $0.last?["status"]?.int == 200
            }
            #expect(pushes.map { $0["status"]?.int == 200 } == [false, false, false, true])
            #expect(pushes.allSatisfy { $0["apnsID"]?.string == id })
            // The push's end is logged once.
            _ = try await eventually {
                try deliveryRows(stack.directory.file("relay.db"))
            } until: {
                $0 == 1
            }
        }
    }

    @Test("Retry-After is respected")
    func retryAfter() async throws {
        try await Stack.run(["RELAY_RETRY_DELAY_MAX": "100ms"]) { stack in
            try await registered(stack)
            try await stack.control.put(
                "/rules", ["reason": "TooManyRequests", "retryAfter": 2, "count": 1])
            #expect(try await stack.event(Self.secret).queued == 1)
            let pushes = try await eventually {
                try await stack.control.pushes()
            } until: {
                $0.count == 2
            }
            let times = pushes.compactMap { $0["receivedAt"]?.int }
            #expect(times.count == 2 && times[1] - times[0] >= 1_990)
        }
    }

    @Test("A queued push is dropped with its device")
    func unregisteredMeanwhile() async throws {
        let clock = try FakeClock()
        let settings = ["RELAY_RETRY_DELAY_MAX": "100ms"].merging(clock.environment) { $1 }
        try await Stack.run(settings) { stack in
            try await registered(stack)
            try await stack.register(Self.secret, token(2))
            try await stack.control.put(
                "/rules", ["reason": "ServiceUnavailable", "retryAfter": 50, "count": 2])
            #expect(try await stack.event(Self.secret).queued == 2)
            var body = JSON.Object()
            body["secret"] = .string(Self.secret)
            body["deviceToken"] = .string(token(1))
            #expect(try await stack.http.post("/v1/device/unregister", body).status == 200)
            // Only now are the pushes due. A larger step would count as a clock that was set.
            try await stack.control.put("/limits", ["clockOffset": 58])
            try clock.set(ahead: 58)
            _ = try await eventually {
                try await stack.control.pushes(token: token(2))
            } until: {
                $0.count == 2
            }
            #expect(try await stack.control.pushes(token: token(1)).count == 1)
        }
    }

    @Test("A queued push survives kill -9 and is sent once")
    func crash() async throws {
        try await Stack.run(["RELAY_RETRY_DELAY_MAX": "100ms"]) { stack in
            try await registered(stack)
            try await stack.control.put("/limits", ["acceptConnections": false])
            #expect(try await stack.event(Self.secret).queued == 1)
            stack.relay.signal(SIGKILL)
            _ = try await stack.relay.ended()
            try await stack.control.put("/limits", ["acceptConnections": true])
            try await stack.restartRelay()
            _ = try await eventually {
                try await stack.control.pushes()
            } until: {
                $0.count == 1
            }
            _ = try await eventually {
                try deliveryRows(stack.directory.file("relay.db"))
            } until: {
                $0 == 1
            }
            #expect(try await stack.control.pushes().count == 1)
        }
    }

    @Test(
        "A rejection that only a defect causes fails with its reason and keeps the registration",
        arguments: ["PayloadTooLarge", "BadPriority"])
    func kept(reason: String) async throws {
        try await Stack.run { stack in
            try await registered(stack)
            try await stack.control.put("/rules", ["reason": .string(reason)])
            let result = try await stack.event(Self.secret)
            #expect(result.reason(token(1)) == reason && !result.isRemoved(token(1)))
            try await stack.control.delete("/rules")
            #expect(try await stack.event(Self.secret).sent == 1)
        }
    }

    @Test("A push answered with a proxy's 502 is queued with its status")
    func proxyError() async throws {
        try await Stack.run { stack in
            try await registered(stack)
            try await stack.control.put("/rules", ["status": 502, "body": "<html>Bad gateway</html>"])
            let result = try await stack.event(Self.secret)
            #expect(result.reason(token(1)) == "Status 502" && !result.isRemoved(token(1)))
        }
    }

    @Test("While APNs is unreachable, events are answered in time, and pushes wait and are sent afterwards")
    func unreachable() async throws {
        try await Stack.run(["RELAY_EVENT_DEADLINE": "3s"]) { stack in
            try await registered(stack)
            try await stack.control.put("/limits", ["acceptConnections": false])
            let result = try await stack.event(Self.secret)
            #expect(result.queued == 1 && !result.isRemoved(token(1)))
            try await stack.control.put("/limits", ["acceptConnections": true])
            _ = try await eventually {
                try await stack.event(Self.secret)
            } until: {
                $0.sent == 1
            }
        }
    }
}

/// Polls until the result is as wanted; fails with the last result after 90 seconds.
///
/// Pauses between polls, to leave the processors to the programs under test.
func eventually<Value>(
    _ ask: () async throws -> Value, until isWanted: (Value) throws -> Bool
) async throws -> Value {
    let end = ContinuousClock.now + .seconds(90)
    while true {
        let value = try await ask()
        if try isWanted(value) { return value }
        guard ContinuousClock.now < end else {
            throw Program.Failure(
                description: "not as wanted after 90 s: \(String(describing: value).prefix(4000))")
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

import JSON
import Testing

/// The machine's clock is wrong and is then set: no event may be lost, and none may wait for the clock to catch up.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ClockTests {
    static let secret = "a secret of the test"
    static let minutes40 = 40 * 60
    /// More than a provider token's date may be off, so APNs always refuses the token.
    static let hours2 = 2 * 3_600

    /// Runs a relay and an APNs whose clocks are ahead, with a registered device; a test can set either clock right.
    private func run(
        ahead seconds: Int = 0, apnsAhead: Int = 0, _ settings: [String: String] = [:],
        _ body: (Stack, FakeClock) async throws -> Void
    ) async throws {
        let clock = try FakeClock()
        try clock.set(ahead: seconds)
        try await Stack.run(settings.merging(clock.environment) { $1 }) { stack in
            try await stack.control.put("/limits", ["clockOffset": .int(apnsAhead)])
            try await stack.register(Self.secret, token(1))
            try await body(stack, clock)
        }
    }

    /// Waits until APNs has accepted `count` pushes, none of them twice, and none refused for an early token renewal.
    private func accepted(_ count: Int, _ stack: Stack) async throws {
        let stats = try await eventually {
            try await stack.control.stats()
        } until: {
            ($0["accepted"]?.int ?? 0) >= count
        }
        #expect(stats["accepted"]?.int == count)
        #expect(stats["acceptedTwice"]?.int == 0)
        #expect(stats["reasons"]?["TooManyProviderTokenUpdates"] == nil)
    }

    @Test(
        "Pushes that APNs refuses because of the clock wait, and are sent once the clock is set",
        arguments: [(-hours2, "InvalidProviderToken"), (hours2, "ExpiredProviderToken")])
    func wrongFromTheStart(apnsAhead: Int, reason: String) async throws {
        // The clock that is wrong at first is never before the start of APNs' certificate.
        let base = max(0, -apnsAhead)
        try await run(ahead: base, apnsAhead: base + apnsAhead) { stack, clock in
            let refused = try await stack.event(Self.secret)
            #expect(refused.queued == 1 && refused.reason(token(1)) == reason, "\(refused)")
            #expect(try await stack.http.get("/ready").text.contains(reason))
            try clock.set(ahead: base + apnsAhead)
            let next = try await stack.event(Self.secret)
            #expect(next.sent == 1, "\(next)")
            try await accepted(2, stack)
            let ready = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                $0.status == 200
            }
            #expect(ready.text.contains(#""apns":"ok""#))
        }
    }

    @Test(
        "Setting the clock back loses no event: the token from the future is replaced when refused")
    func setBack() async throws {
        try await run(ahead: Self.hours2, apnsAhead: Self.hours2) { stack, clock in
            #expect(try await stack.event(Self.secret).sent == 1)
            try await stack.control.put("/limits", ["clockOffset": 0])
            try clock.set(ahead: 0)
            for _ in 0..<3 {
                let event = try await stack.event(Self.secret)
                #expect(event.sent == 1, "\(event)")
            }
            try await accepted(4, stack)
        }
    }

    @Test(
        "A push queued while the clock was ahead is sent when the clock is set, not when it is due")
    func dueInTheFuture() async throws {
        let settings = ["RELAY_RETRY_DELAY_MAX": "1s"]
        try await run(ahead: Self.minutes40, apnsAhead: Self.minutes40, settings) { stack, clock in
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable"])
            #expect(try await stack.event(Self.secret).queued == 1)
            try clock.set(ahead: 0)
            try await stack.control.put("/limits", ["clockOffset": 0])
            try await stack.control.delete("/rules")
            try await accepted(1, stack)
        }
    }

    @Test("A push left by a relay with a wrong clock is also sent at once")
    func dueInTheFutureAfterRestart() async throws {
        try await run(ahead: Self.minutes40, ["RELAY_RETRY_DELAY_MAX": "1s"]) { stack, clock in
            try await stack.control.put("/limits", ["acceptConnections": false])
            #expect(try await stack.event(Self.secret).queued == 1)
            #expect(try await stack.relay.stop() == 0)
            try clock.set(ahead: 0)
            try await stack.control.put("/limits", ["acceptConnections": true])
            try await stack.restartRelay()
            try await accepted(1, stack)
        }
    }

    @Test("Setting the clock forward ends no lease: pushes in flight aren't sent again")
    func setForward() async throws {
        let settings = ["RELAY_EVENT_DEADLINE": "1s", "APNS_PUSH_TIMEOUT": "15s"]
        try await run(settings) { stack, clock in
            try await stack.control.put("/limits", ["latency": "9s"])
            #expect(try await stack.event(Self.secret).queued == 1)
            try await stack.control.put("/limits", ["latency": 0, "clockOffset": .int(Self.minutes40)])
            try clock.set(ahead: Self.minutes40)
            // The relay checks the queue every five seconds; the response comes after the first check.
            _ = try await eventually {
                try await stack.control.connections()
            } until: {
                $0.allSatisfy { $0["openStreams"]?.int == 0 }
            }
            try await accepted(1, stack)
            let stats = try await stack.control.stats()
            #expect(stats["pushes"]?.int == 1 && stats["repeatedIDs"]?.int == 0, "\(stats)")
            #expect(try await stack.http.get("/ready").status == 200)
        }
    }
}

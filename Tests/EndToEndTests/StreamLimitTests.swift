import JSON
import PrometheusText
import Testing

/// A stream limit of 0, which the simulator sets on existing connections and on new ones.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StreamLimitTests {
    static let secret = "a secret of the test"

    /// The number of connections that the relay replaced because they allowed no streams.
    private func replaced(_ stack: Stack) async throws -> Double {
        let text = try await stack.admin.get("/metrics").text
        let metric = "relay_apns_connections_replaced_total"
        return try PrometheusText(text).sum(metric, ["reason": "no_streams"])
    }

    @Test("Connections whose stream limit drops to 0 are replaced without a restart, and counted")
    func dropped() async throws {
        let flags = ["--streams", "1", "--latency", "50ms"]
        // The connections are replaced after three seconds, and all pushes must then be sent in time.
        let settings = [
            "RELAY_LOOPS": "1", "APNS_CONNECTIONS_MAX": "8", "APNS_PUSH_TIMEOUT": "30s",
            "RELAY_EVENT_DEADLINE": "25s",
        ]
        try await Stack.run(settings, simulator: flags) { stack in
            for number in 0..<20 { try await stack.register(Self.secret, token(number)) }
            // One push at a time per connection, until the maximum number of connections is open.
            _ = try await eventually {
                _ = try await stack.event(Self.secret)
                return try await stack.control.stats()["connections"]?["open"]?.int
            } until: {
                $0 == 8
            }
            let blocked = try await stack.control.post("/streams", ["limit": 0])
            #expect(blocked["connections"]?.int == 8)
            let event = try await stack.event(Self.secret)
            #expect(event.sent == 20, "\(event)")
            #expect(try await replaced(stack) == 8)
            #expect(try await stack.control.stats()["acceptedTwice"]?.int == 0)
        }
    }

    @Test(
        "A server that allows no streams on any connection gets few connections, and the pushes once it does")
    func never() async throws {
        let settings = ["RELAY_LOOPS": "1", "RELAY_EVENT_DEADLINE": "2s", "RELAY_RETRY_DELAY_MAX": "500ms"]
        try await Stack.run(settings) { stack in
            for number in 0..<20 { try await stack.register(Self.secret, token(number)) }
            try await stack.control.put("/limits", ["initialStreams": 0, "streams": 0])
            var events = 0
            var reasons: [String] = []
            let began = ContinuousClock.now
            // After three connections the relay knows that waiting for streams is useless.
            _ = try await eventually {
                let event = try await stack.event(Self.secret)
                events += 1
                #expect(event.queued == 20, "\(event)")
                let reason = event.reason(token(1))
                reasons.append(reason ?? "none")
                return reason
            } until: {
                $0 == "NoStreams"
            }
            // The relay stores what it can't send, so it is still ready.
            #expect(try await stack.http.get("/ready").status == 200)
            #expect(try await replaced(stack) >= 3)
            let opened = try await stack.control.stats()["connections"]?["opened"]?.int
            // Each connection gets three seconds, however many events arrive; a few may be tried at once.
            let most = 8 + Int((ContinuousClock.now - began) / .seconds(3))
            #expect(
                (3...most).contains(opened ?? 0),
                "\(opened ?? 0) connections for \(events) events: \(reasons)")
            try await stack.control.delete("/limits")
            let stats = try await eventually {
                try await stack.control.stats()
            } until: {
                ($0["accepted"]?.int ?? 0) >= events * 20
            }
            #expect(stats["accepted"]?.int == events * 20)
            #expect(stats["acceptedTwice"]?.int == 0)
        }
    }
}

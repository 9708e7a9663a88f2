import JSON
import Testing

/// A stream limit of 0, set by the simulator on connections that stand and on new ones.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StreamLimitTests {
    static let secret = "a secret of the test"

    @Test("Connections whose stream limit drops to 0 are replaced without a restart, and counted")
    func dropped() async throws {
        let flags = ["--streams", "1", "--latency", "50ms"]
        try await Stack.run(["RELAY_LOOPS": "1", "APNS_CONNECTIONS_MAX": "8"], simulator: flags) { stack in
            for number in 0..<20 { try await stack.register(Self.secret, token(number)) }
            // One push at a time on each: until there are as many connections as there may be.
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
        }
    }
}

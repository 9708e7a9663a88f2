import JSON
import PrometheusText
import Testing

/// Failures on APNs' side under load: no push may be lost, and none sent twice.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ConnectionFaultTests {
    static let secret = "a secret of the test"
    static let devices = 20
    static let events = 150

    /// Sends events, eight at a time, while `disturb` runs; every push must be accepted exactly once.
    private func exactlyOnce(
        _ flags: [String] = [], _ settings: [String: String] = [:],
        disturb: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        try await Stack.run(settings, simulator: flags) { stack in
            for number in 0..<Self.devices { try await stack.register(Self.secret, token(number)) }
            let queued = try await withThrowingTaskGroup(of: Int.self) { group in
                for lane in 0..<8 {
                    group.addTask {
                        var queued = 0
                        for number in stride(from: lane, to: Self.events, by: 8) {
                            let result = try await stack.event(
                                Self.secret, ["sessionID": .string("ses_\(number)")])
                            #expect(result.failed == 0, "\(result.deliveries)")
                            #expect(result.sent + result.queued == Self.devices)
                            queued += result.queued
                        }
                        return queued
                    }
                }
                group.addTask {
                    try await disturb(stack)
                    return 0
                }
                return try await group.reduce(0, +)
            }
            let stats = try await eventually {
                try await stack.control.stats()
            } until: {
                Self.arrived($0) >= Self.devices * Self.events
            }
            #expect(Self.arrived(stats) == Self.devices * Self.events)
            let metrics = try await stack.metrics()
            let silent = Self.silentConnections(metrics)
            #expect(silent <= Self.connectionsMax)
            // Each retry of a push on a silent connection may be a repeat.
            let repeatsMax = silent > 0 ? metrics.sum("relay_queue_retries_total") : 0
            #expect(Double(stats["acceptedTwice"]?.int ?? .max) <= repeatsMax)
            // A push that failed on every connection is queued; there are few of these.
            if silent == 0 { #expect(queued <= Self.devices * Self.events / 100) }
        }
    }

    /// The number of different pushes that the simulator accepted.
    private static func arrived(_ stats: JSON.Value) -> Int {
        (stats["accepted"]?.int ?? 0) - (stats["acceptedTwice"]?.int ?? 0)
    }

    /// The default of `APNS_CONNECTIONS_MAX`.
    private static let connectionsMax = 8.0

    /// The number of connections that the relay replaced because they were silent.
    ///
    /// There are none unless the machine pauses the simulator for seconds, which ends each connection at most once. Nobody
    /// knows which of their pushes were accepted.
    private static func silentConnections(_ metrics: PrometheusText) -> Double {
        metrics.sum("relay_apns_connections_replaced_total", ["reason": "silent"])
    }

    @Test("Repeated GOAWAY: streams above the last one are sent again elsewhere")
    func goAway() async throws {
        try await exactlyOnce(["--latency", "5ms"]) { stack in
            for round in 0..<6 {
                let last: JSON.Value = round % 2 == 0 ? "received" : "answered"
                try await stack.control.post("/goaway", ["lastStream": last])
                _ = try await stack.event("nobody's secret at all")
            }
        }
    }

    @Test("Refused streams are sent again")
    func refused() async throws {
        try await exactlyOnce(["--rule", #"{"action": "refuse", "share": 0.2, "count": 400}"#]) { _ in }
    }

    @Test("A stream limit that changes from 1 to 1,000 and back under load")
    func streamLimit() async throws {
        try await exactlyOnce(["--initial-streams", "1", "--streams", "1", "--latency", "1ms"]) { stack in
            for limit in [1000, 2, 500, 1, 1000] {
                try await stack.control.put("/limits", ["streams": .int(limit)])
                _ = try await stack.event("nobody's secret at all")
            }
            // Obeying a limit costs no connections: at most APNS_CONNECTIONS_MAX were opened.
            let opened = try await stack.control.stats()["connections"]?["opened"]?.int ?? .max
            #expect(Double(opened) <= Self.connectionsMax + Self.silentConnections(try await stack.metrics()))
        }
    }

    @Test("A black hole delays its pushes until the deadline, not all traffic, and none is sent twice")
    func blackHole() async throws {
        try await Stack.run([
            "RELAY_LOOPS": "1", "RELAY_EVENT_DEADLINE": "8s", "APNS_PUSH_TIMEOUT": "4s",
            "RELAY_LOG_LEVEL": "debug",
        ]) {
            stack in
            for number in 0..<Self.devices { try await stack.register(Self.secret, token(number)) }
            #expect(try await stack.event(Self.secret).sent == Self.devices)
            try await stack.control.post("/stall")
            let lost = try await stack.event(Self.secret)
            #expect(lost.sent + lost.queued == Self.devices)
            // The relay has given up the stalled connection by now and uses a new one.
            let next = try await stack.event(Self.secret)
            #expect(next.sent == Self.devices, "\(lost)\n\(next)\n\(stack.relay.output)")
            let stats = try await stack.control.stats()
            #expect(stats["acceptedTwice"]?.int == 0)
            #expect(stats["connections"]?["opened"]?.int == 2)
        }
    }

    @Test("Cut connections and reset streams affect only their pushes, which are sent again and arrive")
    func cuts() async throws {
        let rules = [
            "--rule", #"{"action": "close", "share": 0.01, "count": 5}"#,
            "--rule", #"{"action": "reset", "share": 0.02, "count": 20}"#,
        ]
        try await Stack.run(simulator: rules) { stack in
            for number in 0..<Self.devices { try await stack.register(Self.secret, token(number)) }
            var sent = 0
            var queued = 0
            for _ in 0..<40 {
                let result = try await stack.event(Self.secret)
                sent += result.sent
                queued += result.queued
            }
            #expect(sent + queued == 40 * Self.devices)
            #expect(sent > 0 && queued > 0)
            // Every push arrives. Even a retry's response may be lost with its connection: each retry may be a repeat.
            let stats = try await eventually {
                try await stack.control.stats()
            } until: {
                Self.arrived($0) == 40 * Self.devices
            }
            let metrics = try PrometheusText(try await stack.admin.get("/metrics").text)
            let retries = metrics.sum("relay_queue_retries_total")
            #expect(Double(stats["acceptedTwice"]?.int ?? 0) <= retries)
            try await stack.control.delete("/rules")
            _ = try await eventually {
                try await stack.event(Self.secret)
            } until: {
                $0.sent == Self.devices
            }
        }
    }
}

import ChildProcess
import JSON
import Network
import Testing

/// `RELAY_LOG`, with the real relay.
@Suite(.timeLimit(.minutes(3)))
struct LoggedDeliveriesTests {
    private static let secret = "a secret of the test"

    @Test(
        "RELAY_LOG decides which results are logged; queued and counted pushes always are",
        arguments: [("all", 3, 1), ("failures", 2, 1), ("off", 2, 0)])
    func kept(choice: String, sent: Int, failed: Int) async throws {
        let settings = ["RELAY_LOG": choice, "RELAY_RETRY_DELAY_MAX": "100ms"]
        try await Stack.run(settings) { stack in
            let file = stack.directory.file("relay.db")
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
            try await stack.control.put("/rules", ["reason": "BadTopic"])
            #expect(try await stack.event(Self.secret).failed == 1)
            try await stack.control.delete("/rules")
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 1])
            #expect(try await stack.event(Self.secret).queued == 1)
            _ = try await eventually {
                try deliveryRows(file, table: "pending_push")
            } until: {
                $0 == 0
            }
            try await sendCounted(stack)
            // A stopped relay has written all rows.
            #expect(try await stack.relay.stop() == 0)
            #expect(try deliveryRows(file, table: "delivery_log WHERE status = 'sent'") == sent)
            #expect(try deliveryRows(file, table: "delivery_log WHERE status = 'failed'") == failed)
            try await stack.restartRelay()
        }
    }

    /// Sends two events to a device that allows one push per day; only the first is sent.
    private func sendCounted(_ stack: Stack) async throws {
        var body = JSON.Object()
        body["secret"] = "another secret of the test"
        body["deviceToken"] = .string(token(2))
        body["preferences"] = ["perDay": 1]
        #expect(try await stack.http.post("/v1/device/register", body).status == 200)
        #expect(try await stack.event("another secret of the test").sent == 1)
        #expect(try await stack.event("another secret of the test").sent == 0)
    }
}

import JSON
import Network
import Testing

@Suite("Final outcomes", .timeLimit(.minutes(5)))
struct FinalOutcomeTests {
    private static let secret = "a secret of the test"
    private static let settings = ["RELAY_RETRY_DELAY_MAX": "100ms", "RELAY_LOG": "off"]

    private func post(_ stack: Stack, _ path: String, _ members: JSON.Value) async throws -> JSON.Value {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        for member in members.object?.members ?? [] { body[member.name] = member.value }
        return try await stack.http.post(path, body).json()
    }

    /// Queues a push and removes a device, with a restart in between, and follows the outcomes with one cursor.
    private func check(_ stack: Stack) async throws {
        try await stack.register(Self.secret, token(1))
        let start = try await post(stack, "/v1/outcomes", [:])
        #expect(start["outcomes"] == [])
        try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 1])
        let event: JSON.Value = [
            "eventType": "permission", "sessionID": "ses_1", "eventID": "per_1", "actions": ["once"],
        ]
        let sent = try await post(stack, "/v1/event", event)
        let apnsID = try #require(sent["deliveries"]?.array?.first?["apnsID"])
        #expect(sent["queued"] == 1)
        let page = try await post(
            stack, "/v1/outcomes", ["cursor": start["cursor"] ?? nil, "timeout": 20])
        let push = try #require(page["outcomes"]?.array?.first)
        #expect(push["type"] == "push" && push["status"] == "sent" && push["apnsID"] == apnsID)
        #expect(push["eventID"] == "per_1")
        #expect(page["outcomes"]?.array?.count == 1)

        let replied = try await post(stack, "/v1/reply", ["eventID": "per_1", "action": "once"])
        #expect(replied["ok"] == true)
        #expect(try await stack.relay.stop() == 0)
        try await stack.restartRelay()
        try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 1_000])
        #expect(try await stack.event(Self.secret).queued == 1)
        // Acknowledgements and replies are removed with the last device.
        try await stack.register(Self.secret, token(2))
        let gone = try await post(stack, "/v1/device/unregister", ["deviceToken": .string(token(1))])
        #expect(gone["ok"] == true)
        var later: [JSON.Value] = []
        var cursor = page["cursor"] ?? nil
        while later.count < 3 {
            let next = try await post(stack, "/v1/outcomes", ["cursor": cursor, "timeout": 20])
            let found = try #require(next["outcomes"]?.array)
            try #require(!found.isEmpty, "\(later)")
            later += found
            cursor = next["cursor"] ?? nil
        }
        #expect(later.map { $0["type"] } == ["acknowledgement", "reply", "push"])
        #expect(later[1]["eventID"] == "per_1" && later[1]["action"] == "once")
        #expect(later[2]["status"] == "failed" && later[2]["removed"] == true)
    }

    @Test("are listed across restarts, whatever RELAY_LOG leaves out, in SQLite")
    func sqlite() async throws {
        try await Stack.run(Self.settings) { stack in try await check(stack) }
    }

    @Test(
        "are listed on a database server", .enabled(if: ServerUnderTest.areThere),
        arguments: ServerUnderTest.all)
    func servers(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await Stack.run(Self.settings.merging(["DATABASE_URL": url]) { $1 }) { stack in
            try await check(stack)
        }
    }
}

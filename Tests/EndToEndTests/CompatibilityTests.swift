import JSON
import Testing

/// Requests from OpenCode's servers, and registrations made with OpenCode's own relay.
@Suite(.timeLimit(.minutes(3)))
struct CompatibilityTests {
    private static let short = "tiny"

    @Test("Half an emoji at a body's end reaches the phone as U+FFFD")
    func halfAnEmoji() async throws {
        try await Stack.run { stack in
            try await stack.register("a secret of the test", token(1))
            let body = #"""
                {"secret":"a secret of the test","eventType":"complete","sessionID":"ses_1",
                 "title":"Fix 🎉","body":"完成\ud83c…"}
                """#
            let answer = try await stack.http.send("POST", "/v1/event", body: body)
            #expect(try answer.json()["sent"]?.int == 1, "\(answer.text)")
            let push = try #require(try await stack.control.pushes(token: token(1)).first)
            let alert: JSON.Value = ["title": "Fix 🎉", "body": "完成\u{FFFD}…"]
            #expect(push["payload"]?["aps"]?["alert"] == alert, "\(push)")
        }
    }

    @Test("A registration with a secret under the minimum stays valid; a new one is refused")
    func shortSecret() async throws {
        try await Stack.run(["RELAY_SECRET_BYTES_MIN": "1"]) { stack in
            try await stack.register(Self.short, token(1))
            try await stack.relay.stop()
            try await stack.restartRelay(["RELAY_SECRET_BYTES_MIN": "16"])
            #expect(try await stack.event(Self.short).sent == 1)
            try await stack.register(Self.short, token(2))
            #expect(try await stack.event(Self.short).sent == 2)
            let list = try await stack.http.post("/v1/device/list", #"{"secret":"tiny"}"#)
            #expect(try list.json()["devices"]?.array?.count == 2)
            let other = try await stack.http.post(
                "/v1/device/register", #"{"secret":"tiny2","deviceToken":"\#(token(3))"}"#)
            #expect(other.status == 400)
            #expect(try other.json()["code"] == "weak_secret")
            #expect(try await stack.event("tiny2").sent == 0)
        }
    }

    @Test("A flood of invalid requests leaves few log lines, and their number when the relay ends")
    func flood() async throws {
        try await Stack.run { stack in
            let request = "GET /nothing HTTP/1.1\r\nHost: relay\r\n\r\n"
            let floods = 5
            let each = 400
            for _ in 0..<floods {
                let connection = try await HeldConnection(stack.http)
                for _ in 0..<(each / 8) { await connection.send(String(repeating: request, count: 8)) }
                await connection.send("GET /health HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n")
                await connection.closed()
            }
            try await stack.relay.stop()
            let lines = stack.relay.lines
            let own = lines.count { $0.contains(#""status":404"#) && $0.contains(#""event":"request""#) }
            let summaries = try lines.filter { $0.contains("request.summary") }
                .map { try JSON.parse(Array($0.utf8), maxBytes: 10_000) }
            #expect(summaries.allSatisfy { $0["code"] == "not_found" })
            #expect(own + summaries.compactMap { $0["unlogged"]?.int }.reduce(0, +) == floods * each)
            // One summary interval is likely; a slow machine may need a few more.
            #expect(own <= 200 && !summaries.isEmpty)
            try await stack.restartRelay()
        }
    }
}

import ChildProcess
import JSON
import Network
import PrometheusText
import Testing

@Suite("The history", .timeLimit(.minutes(5)))
struct HistoryTests {
    private static let secret = "a secret of the test"
    private static let on = ["RELAY_HISTORY_DAYS": "30", "RELAY_HISTORY_TEXT": "on"]

    private func post(
        _ stack: Stack, _ path: String, _ members: JSON.Value
    ) async throws -> JSON.Value {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        for member in members.object?.members ?? [] { body[member.name] = member.value }
        return try await stack.http.post(path, body).json()
    }

    /// The relay's `Bounds.historyWaitMax`: if storing an item takes longer, its pushes are sent without a badge.
    private static let storingMax = Duration.seconds(2)

    private func badges(_ stack: Stack, _ token: String) async throws -> [Int?] {
        try await stack.control.pushes(token: token).map { $0["payload"]?["aps"]?["badge"]?.int }
    }

    /// Sends, lists, marks as read and deletes items, with a restart in between.
    private func check(_ stack: Stack) async throws {
        try await stack.register(Self.secret, token(1))
        try await stack.register(Self.secret, token(2))
        let wish: JSON.Value = ["deviceToken": .string(token(1)), "preferences": ["badge": "unread"]]
        #expect(try await post(stack, "/v1/device/register", wish)["ok"] == true)
        let duration = try await ContinuousClock().measure {
            for _ in 0..<2 {
                let event = try await stack.event(
                    Self.secret, ["eventID": "e-1", "title": "Done", "body": "naïve 🦊"])
                #expect(event.sent == 2)
            }
            for badge: JSON.Value in [2, "unread"] {
                let notification: JSON.Value = ["title": "Build", "badge": badge, "threadID": "thread"]
                let answer = try await post(stack, "/v1/notify", ["notification": notification])
                #expect(answer["sent"] == 2)
            }
        }
        if duration < Self.storingMax {
            #expect(try await badges(stack, token(1)) == [1, 2, 3])
            #expect(try await badges(stack, token(2)) == [nil, 2, 3])
        }

        let page = try await post(stack, "/v1/history/list", ["limit": 2])
        let items = page["items"]?.array ?? []
        #expect(page["unread"] == 3 && items.map { $0["eventType"] } == ["notify", "notify"])
        let rest = try await post(stack, "/v1/history/list", ["before": page["next"] ?? nil])
        let event = try #require(rest["items"]?.array?.first)
        #expect(rest["items"]?.array?.count == 1 && rest["next"] == nil)
        #expect(event["title"] == "Done" && event["body"] == "naïve 🦊" && event["eventID"] == "e-1")
        let ids = JSON.Value.array([items[0]["id"], event["id"]].compactMap(\.self))
        let read = try await post(stack, "/v1/history/read", ["ids": ids])
        #expect(read == ["ok": true, "read": 2, "unread": 1])

        let metrics = try await stack.metrics()
        #expect(metrics.value("relay_history_items_total", ["result": "stored"]) == 3)
        #expect(try await stack.relay.stop() == 0)
        try await stack.restartRelay()
        let after = try await post(stack, "/v1/history/list", [:])
        #expect(after["unread"] == 1)
        #expect(after["items"]?.array?.map { $0["readAt"] == nil } == [false, true, false])

        for number in 1...2 {
            let answer = try await post(
                stack, "/v1/device/unregister", ["deviceToken": .string(token(number))])
            #expect(answer["ok"] == true)
            let left = try await post(stack, "/v1/history/list", [:])
            #expect(left["items"]?.array?.count == (number == 1 ? 3 : 0))
        }
        #expect(!stack.relay.output.contains("naïve"))
    }

    @Test("keeps sent items in SQLite, counts them as badges, and is removed with the last device")
    func sqlite() async throws {
        try await Stack.run(Self.on) { stack in try await check(stack) }
    }

    @Test(
        "does the same on a database server", .enabled(if: ServerUnderTest.areThere),
        arguments: ServerUnderTest.all)
    func servers(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await Stack.run(Self.on.merging(["DATABASE_URL": url]) { $1 }) { stack in
            try await check(stack)
        }
    }

    @Test("is removed by relay revoke, and is off without its setting")
    func revoked() async throws {
        let directory = try TemporaryDirectory()
        // The address at which relay revoke reaches the relay.
        let admin = ["RELAY_ADMIN_LISTEN": "unix:" + directory.file("admin.sock")]
        try await Stack.run(Self.on.merging(admin) { $1 }) { stack in
            try await stack.register(Self.secret, token(1))
            _ = try await stack.event(Self.secret)
            #expect(try await post(stack, "/v1/history/list", [:])["unread"] == 1)
            let revoked = try await CommandRun(
                ["revoke", "--yes", "--json"], on: stack, ["RELAY_SECRET": Self.secret])
            #expect(revoked.status == 0 && revoked.output.contains(#""history":1"#), "\(revoked.output)")
            #expect(try await post(stack, "/v1/history/list", [:])["items"] == [])
            #expect(try await stack.relay.stop() == 0)
            try await stack.restartRelay(["RELAY_HISTORY_DAYS": "0", "RELAY_HISTORY_TEXT": "off"])
            #expect(try await post(stack, "/v1/history/list", [:])["code"] == "history_off")
            #expect(try await stack.event(Self.secret).sent == 0)
        }
    }
}

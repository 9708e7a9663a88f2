import ChildProcess
import JSON
import Testing

@Suite("Schedules", .timeLimit(.minutes(5)))
struct ScheduleCommandTests {
    private static let secret = "a secret of the test"
    private static let given = ["RELAY_SECRET": secret]

    private static func post(
        _ stack: Stack, _ route: String, _ members: JSON.Value = [:]
    ) async throws -> JSON.Value {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        for member in members.object?.members ?? [] { body[member.name] = member.value }
        return try await stack.http.post("/v1/schedule/\(route)", body).json()
    }

    private static func list(_ stack: Stack) async throws -> [JSON.Value] {
        try #require(try await post(stack, "list")["schedules"]?.array)
    }

    private static func titles(_ stack: Stack, _ token: String) async throws -> [String?] {
        try await stack.control.pushes(token: token).map {
            $0["payload"]?["aps"]?["alert"]?["title"]?.string
        }
    }

    @Test(
        "are sent once at their time, listed until then, and cancelled by clients, operators and revoking",
        arguments: CommandTests.databases)
    func lifecycle(_ server: ServerUnderTest?) async throws {
        let directory = try TemporaryDirectory()
        // The address at which commands reach the relay; on SQLite, only the relay may change the file.
        var settings = ["RELAY_ADMIN_LISTEN": "unix:" + directory.file("admin.sock")]
        if let server { settings["DATABASE_URL"] = try server.makeDatabase() }
        try await Stack.run(settings) { stack in
            #expect(
                try await Self.post(stack, "create", ["in": 1, "notification": ["title": "x"]])["code"]
                    == "no_devices")
            for number in 1...2 { try await stack.register(Self.secret, token(number)) }
            let every: JSON.Value = [
                "unit": "week", "on": ["mon"], "at": ["08:00"], "timeZone": "Europe/Berlin",
            ]
            for name: JSON.Value in ["weekly", "other"] {
                let weekly: JSON.Value = ["every": every, "name": name, "notification": ["title": "Private"]]
                #expect(try await Self.post(stack, "create", weekly)["ok"] == true)
            }
            let soon: JSON.Value = ["in": 1, "eventType": "error", "sessionID": "s", "title": "Soon"]
            #expect(try await Self.post(stack, "create", soon)["ok"] == true)
            let one: JSON.Value = [
                "in": 1, "notification": ["title": "One"], "deviceToken": .string(token(2)),
            ]
            #expect(try await Self.post(stack, "create", one)["ok"] == true)
            let left = try await eventually {
                try await Self.list(stack)
            } until: {
                $0.count == 2
            }
            #expect(Set(left.map { $0["name"]?.string }) == ["weekly", "other"])
            #expect(left[0]["nextAt"]?.string != nil && left[0]["every"]?["on"] == ["mon"])
            #expect(try await Self.titles(stack, token(1)) == ["Soon"])
            #expect(Set(try await Self.titles(stack, token(2))) == ["Soon", "One"])

            let all = try await CommandRun(["schedules", "--json"], on: stack).json()
            let own = try await CommandRun(["schedules", "--json"], on: stack, Self.given).json()
            #expect(all["schedules"]?.array?.count == 2 && own["schedules"]?.array?.count == 2)
            let hash = try #require(all["schedules"]?.array?.first?["secretHash"]?.string)
            let page = try await CommandRun(["schedules", "--limit", "1", "--json"], on: stack).json()
            let next = try #require(page["next"]?.string)
            let second = try await CommandRun(["schedules", "--after", next], on: stack)
            #expect(second.status == 0 && second.output.contains("week on mon at 08:00 Europe/Berlin"))
            #expect(!second.output.contains("Private"))

            let digits = String(hash.prefix(8))
            let cancelled = try await CommandRun(
                ["schedules", "--secret-hash", digits, "--cancel", "weekly"], on: stack)
            #expect(cancelled.status == 0 && cancelled.output.contains(": cancelled"))
            let again = try await CommandRun(
                ["schedules", "--cancel", "weekly", "--json"], on: stack, Self.given)
            #expect(try again.json() == ["ok": true, "cancelled": 0])
            #expect(try await Self.list(stack).map { $0["name"] } == ["other"])
            let revoked = try await CommandRun(["revoke", "--yes"], on: stack, Self.given)
            #expect(revoked.status == 0)
            #expect(try await Self.list(stack).isEmpty)
            #expect(!stack.relay.output.contains("Private"))
        }
    }

    @Test("that became due while the relay was down are sent once when it is back")
    func restart() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            let soon: JSON.Value = ["in": 2, "notification": ["title": "Soon"]]
            #expect(try await Self.post(stack, "create", soon)["ok"] == true)
            #expect(try await stack.relay.stop() == 0)
            try await stack.restartRelay()
            _ = try await eventually {
                try await Self.list(stack)
            } until: {
                $0.isEmpty
            }
            #expect(try await Self.titles(stack, token(1)) == ["Soon"])
        }
    }
}

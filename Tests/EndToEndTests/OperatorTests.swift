import ChildProcess
import Foundation
import JSON
import Network
import Testing

/// What operators do with the hashes in logs, using the real programs on every database.
@Suite("Operators' commands with a hash", .timeLimit(.minutes(4)))
struct OperatorTests {
    private static let secret = "a secret of the test"
    private static let other = "another secret of it"

    /// Runs a body with a relay that retries waiting pushes soon.
    private static func onEach(
        _ server: ServerUnderTest?, _ more: [String: String] = [:], _ body: (Stack) async throws -> Void
    ) async throws {
        var settings = ["RELAY_RETRY_DELAY_MAX": "500ms"].merging(more) { $1 }
        if let server { settings["DATABASE_URL"] = try server.makeDatabase() }
        try await Stack.run(settings, body)
    }

    /// The address at which commands reach the stack's relay; on SQLite, only the relay may change the file.
    private static func asked(_ stack: Stack) async throws -> [String: String] {
        let admin = try await stack.admin.endpoint
        return ["RELAY_ADMIN_LISTEN": "\(admin.host):\(admin.port)"]
    }

    /// The 12 digits that the relay's log shows for the secret of the last event.
    private static func logged(_ stack: Stack) async throws -> String {
        let line = try await stack.relay.line("an event") { $0.contains("POST /v1/event") }
        let json = try JSON.parse(Array(line.utf8), maxBytes: 65_536)
        return try #require(json["secret"]?.string)
    }

    private static func post(
        _ path: String, _ secret: String, on http: HTTPClient, token: String = token(7)
    ) async throws -> HTTPClient.Answer {
        var body = JSON.Object()
        body["secret"] = .string(secret)
        switch path {
        case "/v1/event":
            body["eventType"] = "complete"
            body["sessionID"] = "ses_1"
        case "/v1/notify": body["notification"] = ["title": "x"]
        case "/v1/device/list": break
        default: body["deviceToken"] = .string(token)
        }
        return try await http.post(path, body)
    }

    /// Waits until events get the given status.
    private static func answers(_ status: Int, _ secret: String, on http: HTTPClient) async throws {
        _ = try await eventually {
            try await post("/v1/event", secret, on: http).status
        } until: {
            $0 == status
        }
    }

    @Test(
        "A secret is blocked by its hash in the log on every relay of the database, and unblocked",
        arguments: CommandTests.databases)
    func block(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            let given = try await Self.asked(stack)
            for secret in [Self.secret, Self.other] { try await stack.register(secret, token(1)) }
            #expect(try await stack.event(Self.secret).sent == 1)
            let digits = try await Self.logged(stack)
            #expect(digits.count == 12)
            var second: Program?
            var relays = [stack.http]
            if server != nil {
                let more = ["RELAY_ADMIN_LISTEN": "off"]
                let started = try Program(
                    "relay", ["serve"], environment: stack.environment.merging(more) { $1 })
                relays.append(HTTPClient(endpoint: try await Stack.listening(started), loop: stack.loop))
                second = started
            }

            let blocked = try await CommandRun(["block", digits + "…", "--note", "spam"], on: stack, given)
            #expect(
                blocked.status == 0 && blocked.output.contains("Secret \(digits)…: blocked"), "\(blocked)")
            for http in relays {
                try await Self.answers(403, Self.secret, on: http)
                for path in ["/v1/event", "/v1/notify", "/v1/device/register"] {
                    let refused = try await Self.post(path, Self.secret, on: http)
                    #expect(refused.status == 403, "\(path)")
                    #expect(try refused.json()["code"]?.string == "blocked")
                }
                #expect(try await Self.post("/v1/device/list", Self.secret, on: http).status == 200)
                #expect(try await Self.post("/v1/device/unregister", Self.secret, on: http).status == 200)
                #expect(try await Self.post("/v1/event", Self.other, on: http).status == 200)
            }
            let again = try await CommandRun(["block", digits, "--json"], on: stack, given)
            #expect(try again.status == 0 && again.json()["outcome"]?.string == "already_blocked")
            let list = try await CommandRun(["block", "--list"], on: stack, given)
            #expect(list.status == 0 && list.output.contains(digits) && list.output.contains("spam"))
            let tenants = try await CommandRun(["tenants", "--json"], on: stack)
            let rows = try tenants.json()["tenants"]?.array ?? []
            #expect(rows.count { $0["blocked"]?.bool == true } == 1 && rows.count == 2)

            let unblocked = try await CommandRun(["unblock", digits], on: stack, given)
            #expect(unblocked.status == 0 && unblocked.output.contains("no longer blocked"), "\(unblocked)")
            for http in relays { try await Self.answers(200, Self.secret, on: http) }
            #expect(try await CommandRun(["unblock", digits], on: stack, given).status == 65)
            for run in [blocked, again, list, tenants, unblocked] {
                #expect(!run.output.contains(Self.secret) && !run.output.contains(token(1)))
            }
            second?.signal(SIGTERM)
            _ = try await second?.ended()
        }
    }

    @Test(
        "The queue shows waiting pushes, and a blocked secret's pushes end",
        arguments: CommandTests.databases)
    func queue(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            let given = try await Self.asked(stack)
            for number in 1...3 { try await stack.register(Self.secret, token(number)) }
            try await stack.register(Self.other, token(4))
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable"])
            #expect(try await stack.event(Self.secret).queued == 3)
            #expect(try await stack.event(Self.other).queued == 1)

            let all = try await CommandRun(["queue", "--json"], on: stack).json()
            #expect(all["waiting"]?.int == 4 && all["pushes"]?.array?.count == 4)
            let page = try await CommandRun(["queue", "--json", "--limit", "3"], on: stack).json()
            #expect(page["pushes"]?.array?.count == 3 && page["next"]?.string != nil)
            let text = try await CommandRun(["queue"], on: stack)
            #expect(text.status == 0 && text.output.contains("4 pushes are waiting"), "\(text.output)")
            #expect(!text.output.contains(Self.secret) && !text.output.contains(token(1)))

            let tenants = try await CommandRun(["tenants", "--sort", "waiting", "--json"], on: stack).json()
            let rows = try #require(tenants["tenants"]?.array)
            #expect(rows.map { $0["waiting"]?.int } == [3, 1] && rows.map { $0["devices"]?.int } == [3, 1])
            let hash = try #require(rows[0]["secretHash"]?.string)
            let one = try await CommandRun(
                ["queue", "--json", "--secret-hash", String(hash.prefix(8))], on: stack
            ).json()
            #expect(one["waiting"]?.int == 3)
            #expect(one["pushes"]?.array?.allSatisfy { $0["secretHash"]?.string == hash } == true)

            #expect(try await CommandRun(["block", hash], on: stack, given).status == 0)
            let deliveries = try await eventually {
                try await CommandRun(["deliveries", "--json"], on: stack, ["RELAY_SECRET": Self.secret])
                    .json()["deliveries"]?.array ?? []
            } until: {
                $0.count == 3
            }
            #expect(deliveries.allSatisfy { $0["reason"]?.string == "Blocked" })
            let left = try await CommandRun(["queue", "--json"], on: stack).json()
            #expect(left["waiting"]?.int == 1)
        }
    }

    @Test("Tenants are paged in the requested order", arguments: CommandTests.databases)
    func tenants(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            for number in 1...5 {
                for device in 0..<(number == 5 ? 2 : number) {
                    try await stack.register("a secret of the test \(number)", token(10 * number + device))
                }
            }
            var devices: [Int] = []
            var arguments = ["tenants", "--json", "--limit", "2"]
            while true {
                let run = try await CommandRun(arguments, on: stack)
                let page = try run.json()
                #expect(page["secrets"]?.int == 5)
                devices += (page["tenants"]?.array ?? []).compactMap { $0["devices"]?.int }
                guard let next = page["next"]?.string else { break }
                arguments = ["tenants", "--json", "--limit", "2", "--after", next]
            }
            #expect(devices == [4, 3, 2, 2, 1])
            let text = try await CommandRun(["tenants", "--limit", "1"], on: stack)
            #expect(text.output.contains("5 secrets, sorted by devices"), "\(text.output)")
            #expect(text.output.contains("More: relay tenants --sort devices --limit 1 --after 4-"))
            #expect(try await CommandRun(["tenants", "--after", "nonsense"], on: stack).status == 64)
        }
    }

    @Test("A secret is revoked by its hash in the log", arguments: CommandTests.databases)
    func revoke(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            let given = try await Self.asked(stack)
            for secret in [Self.secret, Self.other] { try await stack.register(secret, token(1)) }
            #expect(try await stack.event(Self.secret).sent == 1)
            let digits = try await Self.logged(stack)
            let run = try await CommandRun(
                ["revoke", "--secret-hash", digits, "--yes"], on: stack, given)
            #expect(run.status == 0 && run.output.contains("removed 1 device"), "\(run.output)")
            #expect(try await stack.event(Self.secret).sent == 0)
            #expect(try await stack.event(Self.other).sent == 1)
            // The secret's delivery log rows, and with them its hash, are still there or will be in a moment.
            let again = try await eventually {
                try await CommandRun(["revoke", "--secret-hash", digits, "--yes"], on: stack, given)
            } until: {
                $0.status == 0
            }
            #expect(again.status == 0 && again.output.contains("nothing to revoke"), "\(again.output)")
            let both = try await CommandRun(
                ["revoke", "--secret-hash", digits, "--yes"], on: stack, ["RELAY_SECRET": Self.secret])
            #expect(both.status == 64)
        }
    }

    @Test("Digits that match no secret or several are refused with advice")
    func wrong() async throws {
        try await Self.onEach(nil) { stack in
            let given = try await Self.asked(stack)
            for command in [
                ["block", "0123456789ab"], ["revoke", "--yes", "--secret-hash", "0123456789ab"],
            ] {
                let none = try await CommandRun(command, on: stack, given)
                #expect(none.status == 65 && none.output.contains("relay tenants"), "\(none.output)")
            }
            let unblocked = try await CommandRun(["unblock", "0123456789ab"], on: stack, given)
            #expect(unblocked.status == 65 && unblocked.output.contains("relay block --list"))
            for arguments in [
                ["block"], ["unblock"], ["block", "0123456"], ["block", "xyzxyzxyz"],
                ["block", "--list", "0123456789ab"], ["block", "01234567", "89abcdef"],
            ] {
                let run = try await CommandRun(arguments, on: stack, given)
                #expect(run.status == 64, "\(arguments): \(run.output)")
            }
            // A complete hash needs no row.
            let ends = ["0", "1"].map { String(repeating: "a", count: 63) + $0 }
            for hash in ends {
                #expect(try await CommandRun(["block", hash], on: stack, given).status == 0)
            }
            let several = try await CommandRun(["unblock", "aaaaaaaa"], on: stack, given)
            #expect(several.status == 65 && ends.allSatisfy(several.output.contains), "\(several.output)")
        }
    }

    @Test("A block stays while the pepper changes", arguments: CommandTests.databases)
    func pepper(_ server: ServerUnderTest?) async throws {
        let old = String(repeating: "old pepper ", count: 4)
        let new = String(repeating: "new pepper ", count: 4)
        try await Self.onEach(server) { stack in
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
            let digits = try await Self.logged(stack)
            #expect(
                try await CommandRun(["block", digits], on: stack, try await Self.asked(stack)).status == 0)
            let steps: [(settings: [String: String], moves: Bool)] = [
                (["RELAY_SECRET_PEPPER": old], true),
                (["RELAY_SECRET_PEPPER": new, "RELAY_SECRET_PEPPER_OTHER": old], true),
                (["RELAY_SECRET_PEPPER": new], false),
            ]
            for step in steps {
                try await stack.relay.stop()
                try await stack.restartRelay(step.settings)
                #expect(try await Self.post("/v1/event", Self.secret, on: stack.http).status == 403)
                // The block moves to this pepper's hash before the next pepper is set.
                if step.moves {
                    _ = try await stack.relay.line("it moved") { $0.contains("secret.rehashed") }
                }
            }
        }
    }

    @Test("A blocked secret stays blocked in a copy")
    func copy() async throws {
        try await Self.onEach(nil) { stack in
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
            let digits = try await Self.logged(stack)
            #expect(
                try await CommandRun(["block", digits], on: stack, try await Self.asked(stack)).status == 0)
            let from = try #require(stack.environment["DATABASE_URL"])
            let copy = "sqlite:" + stack.directory.file("copy.db")
            try await stack.relay.stop()
            let run = try await CommandRun(["copy", "--from", from, "--to", copy], on: stack)
            #expect(run.status == 0, "\(run.output)")
            try await stack.restartRelay(["DATABASE_URL": copy])
            #expect(try await Self.post("/v1/event", Self.secret, on: stack.http).status == 403)
        }
    }
}

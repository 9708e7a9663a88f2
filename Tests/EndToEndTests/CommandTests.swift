import ChildProcess
import Foundation
import JSON
import Network
import Testing

@Suite("Commands alongside a running relay", .timeLimit(.minutes(4)))
struct CommandTests {
    private static let secret = "a secret of the test"
    private static let given = ["RELAY_SECRET": secret]

    /// SQLite (nil) and each available database server.
    static let databases: [ServerUnderTest?] = [nil] + (ServerUnderTest.areThere ? ServerUnderTest.all : [])

    private static func onEach(
        _ server: ServerUnderTest?, _ body: (Stack) async throws -> Void
    ) async throws {
        var settings: [String: String] = [:]
        if let server { settings["DATABASE_URL"] = try server.makeDatabase() }
        try await Stack.run(settings, body)
    }

    /// Whether the output contains neither the secret nor a complete token.
    private static func isSafe(_ run: CommandRun) -> Bool {
        !run.output.contains(secret) && !(0..<9).contains { run.output.contains(token($0)) }
    }

    /// Waits until the delivery log has `count` rows.
    private static func logged(_ count: Int, on stack: Stack) async throws {
        _ = try await eventually {
            try await CommandRun(["deliveries", "--json"], on: stack, given).json()["deliveries"]?.array?
                .count
        } until: {
            $0 == count
        }
    }

    @Test(
        "Commands show registrations and results of pushes, in tables and in JSON", arguments: databases
    )
    func inspect(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            for number in 1...2 { try await stack.register(Self.secret, token(number)) }
            try await stack.register("another secret, of nobody", token(8))
            try await stack.control.put(
                "/rules", ["match": ["token": .string(token(2))], "reason": "TopicDisallowed"])
            let event = try await stack.event(Self.secret)
            #expect(event.sent + event.failed == 2)
            try await Self.logged(2, on: stack)

            let devices = try await CommandRun(["devices"], on: stack, Self.given)
            #expect(devices.status == 0 && Self.isSafe(devices), "\(devices.output)")
            #expect(devices.output.contains("2 devices") && devices.output.contains("…00000002"))
            #expect(!devices.output.contains("…00000008"))
            let list = try await CommandRun(["devices", "--json"], on: stack, Self.given)
            #expect(try list.json()["devices"]?.array?.count == 2 && Self.isSafe(list))

            let table = try await CommandRun(["deliveries"], on: stack, Self.given)
            #expect(table.status == 0 && Self.isSafe(table))
            #expect(table.output.contains("…00000001") && table.output.contains("ses_1"))
            let one = try await CommandRun(["deliveries", "--limit", "1", "--json"], on: stack, Self.given)
            #expect(try one.json()["deliveries"]?.array?.count == 1 && Self.isSafe(one))

            let all = try await CommandRun(["stats", "--days", "2", "--json"], on: stack)
            #expect(all.status == 0)
            let days = try all.json()["days"]?.array ?? []
            #expect(days.count == 2)
            // The day may have changed meanwhile.
            #expect(days.compactMap { $0["pushes"]?.int }.reduce(0, +) == 2)
            #expect(days.compactMap { $0["events"]?.int }.reduce(0, +) == 1)
            #expect(try all.json()["now"]?["devices"]?.int == 3)
            #expect(try all.json()["now"]?["secrets"]?.int == 2)
            let mine = try await CommandRun(["stats", "--json"], on: stack, Self.given)
            #expect(try mine.json()["now"]?["devices"]?.int == 2 && Self.isSafe(mine))
            let text = try await CommandRun(["stats"], on: stack)
            #expect(text.output.contains("Now: 3 devices of 2 secrets; 0 pushes waiting"))
        }
    }

    @Test("Following the log shows a new push, until it is interrupted")
    func follow() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            _ = try await stack.event(Self.secret, ["sessionID": "ses_before"])
            try await Self.logged(1, on: stack)
            let environment = stack.environment.merging(Self.given) { $1 }
            let table = try Program("relay", ["deliveries", "--follow"], environment: environment)
            let lines = try Program("relay", ["deliveries", "--follow", "--json"], environment: environment)
            _ = try await table.line("what was") { $0.contains("ses_before") }
            _ = try await lines.line("what was") { $0.contains("ses_before") }
            _ = try await stack.event(Self.secret, ["sessionID": "ses_meanwhile"])
            _ = try await table.line("what comes") {
                $0.contains("ses_meanwhile") && $0.contains("…00000001")
            }
            let line = try await lines.line("what comes") { $0.contains("ses_meanwhile") }
            let row = try JSON.parse(Array(line.utf8), maxBytes: 65_536)
            #expect(row["status"]?.string == "sent" && row["device"]?.string == "…00000001")
            for program in [table, lines] {
                program.signal(SIGINT)
                #expect(try await program.ended() == 130)
                #expect(!program.output.contains(token(1)) && !program.output.contains(Self.secret))
                #expect(program.lines.count { $0.contains("ses_meanwhile") } == 1)
            }
        }
    }

    @Test("Following the log ends when its reader goes away")
    func closedPipe() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            let relay = Program.products.appendingPathComponent("relay").path
            let piped = try Program(
                tool: "/bin/sh", ["-c", "\(relay) deliveries --follow | head -n 1"],
                environment: stack.environment.merging(Self.given) { $1 })
            #expect(try await piped.ended() == 0)
        }
    }

    @Test("Output that can't be written is a failure", arguments: ["--help", "deliveries"])
    func fullDisk(command: String) async throws {
        try await Stack.run { stack in
            let relay = Program.products.appendingPathComponent("relay").path
            let program = try Program(
                tool: "/bin/sh", ["-c", "\(relay) \(command) >/dev/full"],
                environment: stack.environment.merging(Self.given) { $1 })
            #expect(try await program.ended() == 74)
            #expect(program.output.contains("No space left on device"))
        }
    }

    @Test("A revoked secret has nothing left: its pushes end, including waiting ones", arguments: databases)
    func revoke(_ server: ServerUnderTest?) async throws {
        try await Self.onEach(server) { stack in
            for number in 1...2 { try await stack.register(Self.secret, token(number)) }
            try await stack.register("another secret, of nobody", token(8))
            let admin = try await stack.admin.endpoint
            let given = Self.given.merging(["RELAY_ADMIN_LISTEN": "\(admin.host):\(admin.port)"]) { $1 }
            try await stack.control.put(
                "/rules", ["match": ["token": .string(token(2))], "reason": "TooManyRequests"])
            let event = try await stack.event(Self.secret, ["eventID": "one"])
            #expect(event.sent == 1 && event.queued == 1)

            let unasked = try await CommandRun(["revoke"], on: stack, given)
            #expect(unasked.status == 64 && unasked.output.contains("--yes"))
            let declined = try await CommandRun.atTerminal(["revoke"], answers: ["no"], on: stack, given)
            #expect(
                declined.status == 130
                    && declined.terminal.contains("2 devices, 1 waiting push and 1 receipt"))
            #expect(declined.terminal.contains("nothing was removed") && declined.shown == [true])
            #expect(try await CommandRun(["devices"], on: stack, given).output.contains("2 devices"))

            let revoked = try await CommandRun.atTerminal(["revoke"], answers: ["yes"], on: stack, given)
            #expect(revoked.status == 0, "\(revoked.terminal)")
            #expect(revoked.output.contains("removed 2 devices, 1 waiting push and 1 receipt"))
            #expect(!revoked.terminal.contains(Self.secret) && !revoked.output.contains(Self.secret))
            let after = try await stack.event(Self.secret, ["eventID": "one"])
            #expect(after.sent + after.failed + after.queued == 0)
            #expect(try await stack.event("another secret, of nobody").sent == 1)
            // The event sent afterwards has a receipt.
            for receipts in [1, 0] {
                let again = try await CommandRun(["revoke", "--yes", "--json"], on: stack, given)
                #expect(again.status == 0)
                let removed: JSON.Value = [
                    "ok": true, "devices": 0, "pushes": 0, "receipts": .number(JSON.Number(receipts)),
                ]
                #expect(try again.json() == removed)
            }
            // The delivery log can still be read, and a phone may register again.
            #expect(try await CommandRun(["deliveries"], on: stack, given).output.contains("gone"))
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
        }
    }

    @Test("A secret can be revoked without a relay; if the running one can't be reached, advice is shown")
    func revokeWithoutRelay() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            for listen in ["off", "127.0.0.1:1"] {
                let given = Self.given.merging(["RELAY_ADMIN_LISTEN": listen]) { $1 }
                let refused = try await CommandRun(["revoke", "--yes"], on: stack, given)
                #expect(
                    refused.status == 69 && refused.output.contains("RELAY_ADMIN_LISTEN"), "\(refused.output)"
                )
                #expect(Self.isSafe(refused))
            }
            #expect(try await stack.event(Self.secret).sent == 1)
            try await stack.relay.stop()
            let run = try await CommandRun(["revoke", "--yes"], on: stack, Self.given)
            #expect(run.status == 0 && run.output.contains("removed 1 device, 0 waiting pushes"))
            try await stack.restartRelay()
            #expect(try await stack.event(Self.secret).sent == 0)
        }
    }

    @Test("A pepper is replaced in two steps without losing a device", arguments: databases)
    func pepper(_ server: ServerUnderTest?) async throws {
        let old = String(repeating: "old pepper ", count: 4)
        let new = String(repeating: "new pepper ", count: 4)
        let steps: [[String: String]] = [
            ["RELAY_SECRET_PEPPER": old],
            ["RELAY_SECRET_PEPPER": old, "RELAY_SECRET_PEPPER_OTHER": new],
            ["RELAY_SECRET_PEPPER": new, "RELAY_SECRET_PEPPER_OTHER": old],
            ["RELAY_SECRET_PEPPER": new],
        ]
        try await Self.onEach(server) { stack in
            // Registered before any pepper was set.
            try await stack.register(Self.secret, token(0))
            for (number, settings) in steps.enumerated() {
                try await stack.relay.stop()
                try await stack.restartRelay(settings)
                #expect(try await stack.event(Self.secret).sent == number + 1)
                try await stack.register(Self.secret, token(number + 1))
                let devices = try await CommandRun(
                    ["devices", "--json"], on: stack, Self.given.merging(settings) { $1 })
                #expect(try devices.json()["devices"]?.array?.count == number + 2)
                #expect(!devices.output.contains("pepper"))
            }
        }
    }

    @Test("An unavailable database is named without its password and ends a command with 69")
    func unavailable() async throws {
        try await Stack.run { stack in
            for (url, name) in [
                ("sqlite:" + stack.directory.file("none.db"), "none.db"),
                ("postgres://relay:hunter2@127.0.0.1:1/relay", "127.0.0.1:1"),
                ("mysql://relay:hunter2@127.0.0.1:1/relay", "127.0.0.1:1"),
            ] {
                let more = Self.given.merging(["DATABASE_URL": url]) { $1 }
                for command in ["devices", "deliveries", "stats"] {
                    let run = try await CommandRun([command], on: stack, more)
                    #expect(run.status == 69 && run.output.contains(name), "\(run.output)")
                    #expect(!run.output.contains("hunter2") && Self.isSafe(run))
                }
            }
        }
    }
}

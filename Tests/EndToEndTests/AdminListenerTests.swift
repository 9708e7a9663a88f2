import ChildProcess
import Foundation
import Glibc
import JSON
import Network
import Testing

/// What operators can do through the admin listener besides reading metrics.
@Suite("The admin listener", .timeLimit(.minutes(2)))
struct AdminListenerTests {
    private static let secret = "a secret of the test"

    @Test("The admin listener can be a Unix socket, which replaces a dead relay's and is removed at the end")
    func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("admin.sock")
        let settings = ["RELAY_ADMIN_LISTEN": "unix:" + path]
        func curl(_ arguments: [String]) async throws -> Program {
            let curl = try Program(
                tool: "/usr/bin/curl", ["-sS", "-m", "10", "--unix-socket", path] + arguments)
            _ = try await curl.ended()
            return curl
        }
        func mode() -> mode_t? {
            var info = stat()
            return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFSOCK ? info.st_mode & 0o777 : nil
        }
        try await Stack.run(settings) { stack in
            #expect(mode() == 0o660)
            #expect(try await curl(["http://localhost/metrics"]).output.contains("relay_ready 1"))
            #expect(
                try await curl(["-o", "/dev/null", "-w", "%{http_code}\\n", "http://evil.example/nothing"])
                    .output
                    == "404")
            let ready = try await curl([
                "-o", "/dev/null", "-w", "%{http_code}\\n", "http://evil.example/ready",
            ])
            #expect(ready.output == "421")
            try await stack.register(Self.secret, token(1))
            let revoked = try await CommandRun(["revoke", "--yes"], on: stack, ["RELAY_SECRET": Self.secret])
            #expect(revoked.status == 0 && revoked.output.contains("removed 1 device"), "\(revoked.output)")
            let other = stack.environment.merging(["DATABASE_URL": "sqlite:" + directory.file("o.db")]) { $1 }
            let second = try Program("relay", ["serve"], environment: other)
            #expect(try await second.ended() == 69)
            #expect(second.output.contains("unix:\(path) is in use"), "\(second.output)")

            // The relay leaves a file that isn't a socket alone.
            let file = directory.file("mine")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let refused = try Program(
                "relay", ["serve"], environment: other.merging(["RELAY_ADMIN_LISTEN": "unix:" + file]) { $1 })
            #expect(try await refused.ended() == 69)
            #expect(refused.output.contains("File exists"), "\(refused.output)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")

            stack.relay.signal(SIGKILL)
            #expect(try await stack.relay.ended() == -SIGKILL && mode() == 0o660)
            try await stack.restartRelay()
            #expect(try await curl(["-w", "\\n", "http://localhost/health"]).output == #"{"ok":true}"#)
        }
        #expect(mode() == nil)
    }

    @Test("Authorized clients can read and change the log level until the relay restarts")
    func logLevel() async throws {
        try await Stack.run(["RELAY_ADMIN_TOKEN": "a-token-of-the-test"]) { stack in
            let admin = try await stack.admin
            let token = "Authorization: Bearer a-token-of-the-test"
            let json = "Content-Type: application/json"
            func put(_ body: String, _ headers: [String]) async throws -> HTTPClient.Answer {
                try await admin.send("PUT", "/v1/log-level", body: body, headers: headers)
            }
            #expect(
                try await admin.send("GET", "/v1/log-level", headers: [token]).text == #"{"level":"info"}"#)
            #expect(try await admin.send("GET", "/v1/log-level").status == 401)
            #expect(try await put(#"{"level":"error"}"#, [json]).status == 401)
            #expect(try await put(#"{"level":"error"}"#, [token]).status == 415)
            #expect(
                try await put(#"{"level":"error"}"#, [token, json, "Origin: http://evil.example"]).status
                    == 403)
            // The listener serves the console itself.
            #expect(
                try await put(#"{"level":"error"}"#, [token, json, "Origin: http://localhost"]).status == 200)
            #expect(
                try await put(#"{"level":"info"}"#, [token, json, "Origin: http://localhost"]).status == 200)
            #expect(try await put(#"{"level":"loud"}"#, [token, json]).status == 400)
            #expect(
                try await stack.http.send("PUT", "/v1/log-level", body: "{}", headers: [json]).status == 404)
            #expect(try await put(#"{"level":"error"}"#, [token, json]).text == #"{"level":"error"}"#)
            _ = try await stack.relay.line("the change") {
                $0.contains("log.level") && $0.contains(#""was":"info""#)
            }
            #expect(try await stack.http.get("/unseen").status == 404)
            #expect(try await put(#"{"level":"info"}"#, [token, json]).status == 200)
            #expect(try await stack.http.get("/seen").status == 404)
            #expect(try await stack.http.send("DELETE", "/v1/event").status == 405)
            _ = try await stack.relay.line("the last request") { $0.contains(#""status":405"#) }
            // The 404s for log-level and /seen on the public listener.
            #expect(stack.relay.lines.count { $0.contains(#""status":404"#) } == 2)
            // Changes are limited to 60 per minute over all routes.
            var limited = try await put("{}", [token, json])
            for _ in 0..<500 where limited.status == 400 { limited = try await put("{}", [token, json]) }
            #expect(limited.status == 429 && limited.headers["retry-after"] != nil)
        }
    }

    @Test("The console follows an event from its queue to APNs and its acknowledgement, and shows no secret")
    func console() async throws {
        let settings = ["RELAY_ADMIN_TOKEN": "a-token-of-the-test", "RELAY_RETRY_DELAY_MAX": "100ms"]
        try await Stack.run(settings) { stack in
            let admin = try await stack.admin
            func get(_ path: String) async throws -> JSON.Value {
                let answer = try await admin.send(
                    "GET", path, headers: ["Authorization: Bearer a-token-of-the-test"])
                #expect(answer.status == 200, "\(path): \(answer.text)")
                #expect(!answer.text.contains(Self.secret) && !answer.text.contains(token(1)))
                return try answer.json()
            }
            try await stack.register(Self.secret, token(1))
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 1])
            #expect(try await stack.event(Self.secret, ["eventID": "turn 1"]).queued == 1)
            // Log rows are written in batches, after a short delay.
            func look() async throws -> JSON.Value? {
                try await get("/v1/admin/push?id=turn%201")["found"]?.array?.first
            }
            let sent = try await eventually(look) { $0?["pushes"]?.array?.first?["ended"] != nil }
            let push = try #require(sent?["pushes"]?.array?.first)
            #expect(push["response"]?.string == "queued")
            #expect(push["responseReason"]?.string == "ServiceUnavailable")
            #expect(push["ended"]?["status"]?.string == "sent" && push["waiting"] == nil)
            #expect(sent?["event"]?["acknowledgedAt"] == nil)
            var acknowledgement = JSON.Object()
            acknowledgement["secret"] = .string(Self.secret)
            acknowledgement["eventID"] = "turn 1"
            #expect(try await stack.http.post("/v1/ack", acknowledgement).status == 200)
            let found = try await look()
            #expect(found?["event"]?["acknowledgedAt"]?.int != nil)
            let hash = try #require(found?["secretHash"]?.string)
            let tenants = try await get("/v1/admin/tenants")
            #expect(tenants["recent"]?.array?.first?["secretHash"]?.string == hash)
            let tenant = try await get("/v1/admin/tenant?secret=" + hash.prefix(12))
            #expect(tenant["devices"]?.array?.count == 1)
            #expect(try await get("/v1/admin/queue")["pushes"]?.array?.isEmpty == true)
            let totals = try await get("/v1/admin/overview")["totals"]
            #expect(totals?["events"]?.array?.first?.int == 1 && totals?["apns"]?.array?[1].int == 1)
            #expect(try await get("/v1/admin/apps")["keys"]?.array?.first?["opened"]?.int ?? 0 >= 1)
        }
    }
}

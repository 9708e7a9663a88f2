import CSQLite
import ChildProcess
import Foundation
import JSON
import PrometheusText
import Testing

/// A relay's database, and what a test does to it without the relay's knowledge.
private protocol DatabaseUnderTest: Sendable {
    /// The database's URL, for the relay's `DATABASE_URL`.
    var url: String { get }
    /// Makes a table refuse or accept new rows.
    func setWritable(_ isWritable: Bool, _ table: String) throws
    /// The number of rows in a table.
    func count(_ table: String) throws -> Int
}

@Suite("A database that can't be written", .timeLimit(.minutes(3)), .serialized)
struct UnwritableDatabaseTests {
    private static let secret = "a secret of the test"

    @Test("While the log can't be written, queued pushes arrive once and rows wait, with SQLite")
    func sqlite() async throws {
        let directory = try TemporaryDirectory()
        try await arriveOnce(SQLiteUnderTest(path: directory.file("relay.db")))
    }

    @Test(
        "While the log can't be written, queued pushes arrive once and rows wait, with a database server",
        .enabled(if: ServerUnderTest.areThere),
        arguments: ServerUnderTest.all)
    func server(_ server: ServerUnderTest) async throws {
        try await arriveOnce(try await LimitedAccount(on: server))
    }

    @Test("/ready and an alert's metric say that registrations can't be written, with SQLite")
    func notReadySQLite() async throws {
        let directory = try TemporaryDirectory()
        try await notReady(SQLiteUnderTest(path: directory.file("relay.db")))
    }

    @Test(
        "/ready and an alert's metric say that registrations can't be written, with a database server",
        .enabled(if: ServerUnderTest.areThere), arguments: ServerUnderTest.all)
    func notReadyServer(_ server: ServerUnderTest) async throws {
        try await notReady(try await LimitedAccount(on: server))
    }

    @Test(
        "/ready is 503 while a database server is read-only, and the log reports the beginning and the end",
        .enabled(if: ServerUnderTest.areThere), arguments: ServerUnderTest.all)
    func readOnly(_ server: ServerUnderTest) async throws {
        let database = try await LimitedAccount(on: server)
        try await Stack.run(["DATABASE_URL": database.url]) { stack in
            try await stack.register(Self.secret, token(0))
            try await answers(stack, 200)
            try database.setReadOnly(true)
            // Other tests also need the server.
            defer { #expect(throws: Never.self) { try database.setReadOnly(false) } }
            let refused = try await answers(stack, 503)
            if server.name == "mariadb" {
                #expect(refused.contains(#""storage":"ok","write":"read_only""#), "\(refused)")
                #expect(try await stack.event(Self.secret).sent == 1)
            } else {
                // A session that can't write isn't used at all: the host may be a former primary.
                #expect(refused.contains(#""storage":"unavailable""#), "\(refused)")
            }
            var body = JSON.Object()
            body["secret"] = .string(Self.secret)
            body["deviceToken"] = .string(token(1))
            #expect(try await stack.http.post("/v1/device/register", body).status == 503)
            let began = try await stack.relay.line("it can't write") { $0.contains("database.not_writable") }
            #expect(began.contains("read-only"), "\(began)")
            try database.setReadOnly(false)
            // The relay checks by itself, without a request.
            _ = try await stack.relay.line("it can write again") { $0.contains("database.writable") }
            try await answers(stack, 200)
            #expect(try await stack.http.post("/v1/device/register", body).status == 200)
            #expect(lines(stack, "database.not_writable") == 1 && lines(stack, "database.writable") == 1)
        }
    }

    /// Each important table refuses rows in turn; the log has one line when that begins and one when it ends.
    private func notReady(_ database: some DatabaseUnderTest) async throws {
        try await Stack.run(["DATABASE_URL": database.url]) { stack in
            let tables = ["device_registration", "pending_push"]
            for (round, table) in tables.enumerated() {
                try await answers(stack, 200)
                try database.setWritable(false, table)
                let refused = try await answers(stack, 503)
                #expect(
                    refused.contains(#""storage":"ok""#) && !refused.contains(#""write":"ok""#), "\(table)")
                let metric = try await stack.metrics().value("relay_ready_check", ["check": "write"])
                #expect(metric == 0, "\(table)")
                try database.setWritable(true, table)
                try await answers(stack, 200)
                // Log lines are written shortly after the events that they report.
                for event in ["database.not_writable", "database.writable"] {
                    let count = try await eventually {
                        lines(stack, event)
                    } until: {
                        $0 > round
                    }
                    #expect(count == round + 1, "\(table)")
                }
            }
            // The relay also checks once at startup, without a request.
            try database.setWritable(false, "device_registration")
            #expect(try await stack.relay.stop() == 0)
            try await stack.restartRelay()
            _ = try await stack.relay.line("it can't write") { $0.contains("database.not_writable") }
            try database.setWritable(true, "device_registration")
            _ = try await stack.relay.line("it can write again") { $0.contains("database.writable") }
        }
    }

    /// Waits until `/ready` has a status, and returns its body.
    @discardableResult
    private func answers(_ stack: Stack, _ status: Int) async throws -> String {
        try await eventually {
            try await stack.http.get("/ready")
        } until: {
            $0.status == status
        }.text
    }

    private func lines(_ stack: Stack, _ event: String) -> Int {
        stack.relay.output.components(separatedBy: "\"\(event)\"").count - 1
    }

    /// Five pushes wait while the log can't be written: each arrives once, its row is removed, and logging resumes.
    private func arriveOnce(_ database: some DatabaseUnderTest) async throws {
        let overrides = ["DATABASE_URL": database.url, "RELAY_RETRY_DELAY_MAX": "100ms"]
        try await Stack.run(overrides) { stack in
            for number in 0..<5 { try await stack.register(Self.secret, token(number)) }
            try database.setWritable(false, "delivery_log")
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 5])
            #expect(try await stack.event(Self.secret).queued == 5)
            // A row that remains would be sent again, so none may be left.
            _ = try await eventually {
                try database.count("pending_push")
            } until: {
                $0 == 0
            }
            #expect(try await stack.control.stats()["accepted"]?.int == 5)
            #expect(try database.count("delivery_log") == 0)
            _ = try await eventually {
                try await stack.metrics().sum("relay_delivery_log_waiting_rows")
            } until: {
                $0 == 5
            }
            try await leavesMeanwhile(stack, database)
            try database.setWritable(true, "delivery_log")
            #expect(try await stack.event(Self.secret).sent == 4)
            _ = try await eventually {
                try database.count("delivery_log")
            } until: {
                // The event's pushes share a row.
                $0 == 6
            }
            #expect(try await stack.metrics().sum("relay_delivery_log_dropped_rows_total") == 0)
            #expect(try await stack.control.stats()["acceptedTwice"]?.int == 0)
            #expect(try await stack.control.stats()["accepted"]?.int == 9)
        }
    }

    /// A device with a waiting push can be unregistered, which removes the push.
    private func leavesMeanwhile(_ stack: Stack, _ database: some DatabaseUnderTest) async throws {
        try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "retryAfter": 600])
        #expect(try await stack.event(Self.secret).queued == 5)
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        body["deviceToken"] = .string(token(4))
        #expect(try await stack.http.post("/v1/device/unregister", body).status == 200)
        #expect(try database.count("pending_push") == 4)
        #expect(try database.count("device_registration") == 4)
        try await stack.control.delete("/rules")
    }
}

/// A SQLite file in which triggers make a table refuse rows.
private struct SQLiteUnderTest: DatabaseUnderTest {
    let path: String

    var url: String { "sqlite:" + path }

    func setWritable(_ isWritable: Bool, _ table: String) throws {
        try run(
            isWritable
                ? "DROP TRIGGER no_room"
                : """
                CREATE TRIGGER no_room BEFORE INSERT ON \(table)
                BEGIN SELECT RAISE(FAIL, 'there is no room'); END
                """)
    }

    func count(_ table: String) throws -> Int {
        var number = -1
        try open { database in
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            let sql = "SELECT count(*) FROM \(table)"
            guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK,
                sqlite3_step(statement) == SQLITE_ROW
            else { throw Program.Failure(description: "\(table) can't be counted") }
            number = Int(sqlite3_column_int64(statement, 0))
        }
        return number
    }

    private func run(_ sql: String) throws {
        try open { database in
            guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
                throw Program.Failure(description: String(cString: sqlite3_errmsg(database)))
            }
        }
    }

    private func open(_ body: (OpaquePointer?) throws -> Void) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_busy_timeout(database, 10_000) == SQLITE_OK
        else { throw Program.Failure(description: "\(path) can't be opened") }
        try body(database)
    }
}

/// A server database, with an account that has only the rights that a relay needs.
private struct LimitedAccount: DatabaseUnderTest {
    let url: String
    private let server: ServerUnderTest
    private let administrator: String
    private let account: String

    /// How long PostgreSQL waits for the end of a session.
    private static let endMilliseconds = 20_000

    private static let tables = [
        "relay_schema", "secret_lock", "device_registration", "delivery_log", "event_receipt", "pending_push",
        "blocked_secret", "history_item", "agent_use", "schedule", "event_reply",
        "push_token", "relay_key", "access_token",
    ]

    init(on server: ServerUnderTest) async throws {
        self.server = server
        administrator = try server.makeDatabase()
        let migrated = try await Program("relay", ["migrate"], environment: ["DATABASE_URL": administrator])
            .ended()
        guard migrated == 0 else {
            throw Program.Failure(description: "relay migrate ended with \(migrated)")
        }
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        account = server.name == "postgres" ? name : "\(name)@'%'"
        let word = server.name == "postgres" ? "PASSWORD" : "BY"
        let login = server.name == "postgres" ? "LOGIN" : "IDENTIFIED"
        try server.run("CREATE USER \(account) \(login) \(word) 'hunter2'", at: administrator)
        for table in Self.tables {
            try server.run(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON \(table) TO \(account)", at: administrator)
        }
        let at = try #require(administrator.lastIndex(of: "@"))
        let scheme = try #require(administrator.range(of: "://"))
        url = administrator[..<scheme.upperBound] + "\(name):hunter2" + administrator[at...]
    }

    func setWritable(_ isWritable: Bool, _ table: String) throws {
        let change = isWritable ? "GRANT INSERT ON \(table) TO" : "REVOKE INSERT ON \(table) FROM"
        try server.run("\(change) \(account)", at: administrator)
    }

    /// Makes the server read-only for unprivileged accounts, as a failover does, or writable again.
    func setReadOnly(_ isReadOnly: Bool) throws {
        guard server.name == "postgres" else {
            return try server.run("SET GLOBAL read_only = \(isReadOnly ? 1 : 0)", at: administrator)
        }
        try server.run(
            "ALTER ROLE \(account) SET default_transaction_read_only = \(isReadOnly ? "on" : "off")",
            at: administrator)
        // Only new sessions see the change. A primary that becomes a standby also ends the old ones. This waits for their
        // end: a call that loses two connections in a row fails with that loss, not as read-only.
        _ = try server.integer(
            """
            SELECT count(pg_terminate_backend(pid, \(Self.endMilliseconds)))
            FROM pg_stat_activity WHERE usename = '\(account)'
            """, at: administrator)
    }

    func count(_ table: String) throws -> Int {
        try server.integer("SELECT count(*) FROM \(table)", at: administrator)
    }
}

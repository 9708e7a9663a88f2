import CSQLite
import Foundation
import JSON
import PrometheusText
import Testing

/// A database that a relay works with, and what a test does to it behind the relay's back.
private protocol DatabaseUnderTest: Sendable {
    /// What the relay's `DATABASE_URL` is.
    var url: String { get }
    /// Makes the delivery log one that no row can be written to, or takes that back.
    func setLogWritable(_ isWritable: Bool) throws
    /// How many rows a table has.
    func count(_ table: String) throws -> Int
}

@Suite("A delivery log that can't be written", .timeLimit(.minutes(3)), .serialized)
struct UnwritableLogTests {
    private static let secret = "a secret of the test"

    @Test("Queued pushes arrive once, with SQLite")
    func sqlite() async throws {
        let directory = try TemporaryDirectory()
        try await arriveOnce(SQLiteUnderTest(path: directory.file("relay.db")))
    }

    @Test(
        "Queued pushes arrive once, with a database server", .enabled(if: ServerUnderTest.areThere),
        arguments: ServerUnderTest.all)
    func server(_ server: ServerUnderTest) async throws {
        try await arriveOnce(try await LimitedAccount(on: server))
    }

    /// Five pushes wait while the log can't be written: each arrives once, its row goes, and the log goes on afterwards.
    private func arriveOnce(_ database: some DatabaseUnderTest) async throws {
        let overrides = ["DATABASE_URL": database.url, "RELAY_RETRY_DELAY_MAX": "100ms"]
        try await Stack.run(overrides) { stack in
            for number in 0..<5 { try await stack.register(Self.secret, token(number)) }
            try database.setLogWritable(false)
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable", "count": 5])
            #expect(try await stack.event(Self.secret).queued == 5)
            // A row that is there will be sent again: none may be left.
            _ = try await eventually {
                try database.count("pending_push")
            } until: {
                $0 == 0
            }
            #expect(try await stack.control.stats()["accepted"]?.int == 5)
            #expect(try database.count("delivery_log") == 0)
            let dropped = try await eventually {
                try PrometheusText(try await stack.admin.get("/metrics").text)
                    .sum("relay_delivery_log_dropped_rows_total")
            } until: {
                $0 >= 5
            }
            #expect(dropped == 5)
            try await leavesMeanwhile(stack, database)
            try database.setLogWritable(true)
            #expect(try await stack.event(Self.secret).sent == 4)
            _ = try await eventually {
                try database.count("delivery_log")
            } until: {
                $0 == 4
            }
            #expect(try await stack.control.stats()["acceptedTwice"]?.int == 0)
            #expect(try await stack.control.stats()["accepted"]?.int == 9)
        }
    }

    /// A device that a push waits for can be unregistered, and the push goes with it.
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

/// A file, whose log refuses rows as a trigger says.
private struct SQLiteUnderTest: DatabaseUnderTest {
    let path: String

    var url: String { "sqlite:" + path }

    func setLogWritable(_ isWritable: Bool) throws {
        try run(
            isWritable
                ? "DROP TRIGGER no_room"
                : """
                CREATE TRIGGER no_room BEFORE INSERT ON delivery_log
                BEGIN SELECT RAISE(FAIL, 'there is no room for the log'); END
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

/// A database of a server, and an account that may do there what a relay does, and no more.
private struct LimitedAccount: DatabaseUnderTest {
    let url: String
    private let server: ServerUnderTest
    private let administrator: String
    private let account: String

    private static let tables = [
        "relay_schema", "secret_lock", "device_registration", "delivery_log", "event_receipt", "pending_push",
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

    func setLogWritable(_ isWritable: Bool) throws {
        let change = isWritable ? "GRANT INSERT ON delivery_log TO" : "REVOKE INSERT ON delivery_log FROM"
        try server.run("\(change) \(account)", at: administrator)
    }

    func count(_ table: String) throws -> Int {
        try server.integer("SELECT count(*) FROM \(table)", at: administrator)
    }
}

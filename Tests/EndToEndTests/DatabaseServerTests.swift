import Foundation
import JSON
import Network
import PrometheusText
import Storage
import StorageContract
import StorageMySQL
import StoragePostgres
import Testing

/// A database server that the tests' script started.
struct ServerUnderTest: Sendable, CustomTestStringConvertible {
    /// The script's name for the server: `postgres` or `mariadb`, `postgres18` or `mysql97`.
    let name: String
    private let variable: String

    static let all = [
        ServerUnderTest(name: "postgres", variable: "RELAY_TEST_POSTGRES_URL"),
        ServerUnderTest(name: "mariadb", variable: "RELAY_TEST_MYSQL_URL"),
    ]

    /// PostgreSQL, MariaDB, and the newer servers that were started.
    static let versions =
        all
        + [
            ServerUnderTest(name: "postgres18", variable: "RELAY_TEST_POSTGRES18_URL"),
            ServerUnderTest(name: "mysql97", variable: "RELAY_TEST_MYSQL97_URL"),
        ].filter { environment[$0.variable] != nil }

    /// Whether the script started both servers.
    static let areThere = all.allSatisfy { environment[$0.variable] != nil }

    private static let environment = ProcessInfo.processInfo.environment

    var testDescription: String { name }

    private var url: String { Self.environment[variable] ?? "" }

    /// Makes a database and returns its URL.
    func makeDatabase() throws -> String {
        let database = "relay_\(UInt64.random(in: .min ... .max))"
        let statement = "CREATE DATABASE \(database)"
        switch name {
        case "postgres", "postgres18":
            try run(statement, on: PostgresConnection.self, try PostgresLocation(url: url))
        default: try run(statement, on: MySQLConnection.self, try MySQLLocation(url: url))
        }
        let slash = try #require(url.lastIndex(of: "/"))
        return url[...slash] + database
    }

    /// Has the script `kill` the server, as the loss of its machine would, or `restart` it.
    func order(_ word: String) async throws {
        let support =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().path + "/Support/databases"
        let directory = try #require(Self.environment["RELAY_TEST_DATABASES"])
        let status = try await Program(tool: support, [word, directory, name]).ended()
        guard status == 0 else { throw Program.Failure(description: "\(word) \(name) ended with \(status)") }
    }

    /// Runs a statement in a database made by ``makeDatabase()``.
    func run(_ statement: String, at url: String) throws {
        switch name {
        case "postgres", "postgres18":
            try run(statement, on: PostgresConnection.self, try PostgresLocation(url: url))
        default: try run(statement, on: MySQLConnection.self, try MySQLLocation(url: url))
        }
    }

    /// The number that a query returns from a database made by ``makeDatabase()``.
    func integer(_ query: String, at url: String) throws -> Int {
        let number =
            switch name {
            case "postgres", "postgres18":
                try integer(query, on: PostgresConnection.self, try PostgresLocation(url: url))
            default: try integer(query, on: MySQLConnection.self, try MySQLLocation(url: url))
            }
        return Int(try #require(number))
    }

    /// Runs a body while a separate connection is open.
    func connected(to url: String, _ body: () async throws -> Void) async throws {
        let connection: any ServerConnection =
            switch name {
            case "postgres", "postgres18":
                try PostgresConnection.open(try PostgresLocation(url: url), options: .patient)
            default: try MySQLConnection.open(try MySQLLocation(url: url), options: .patient)
            }
        try await body()
        withExtendedLifetime(connection) {}
    }

    private func integer<Connection: ServerConnection>(
        _ query: String, on type: Connection.Type, _ location: Connection.Location
    ) throws -> Int64? {
        let connection = try Connection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        return try connection.integer(query)
    }

    private func run<Connection: ServerConnection>(
        _ statement: String, on type: Connection.Type, _ location: Connection.Location
    ) throws {
        let connection = try Connection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        try connection.run(statement)
    }
}

@Suite(
    "A relay on a database server",
    .enabled(
        if: ServerUnderTest.areThere,
        "left out: no servers; Tests/Support/databases run swift test starts them"),
    .timeLimit(.minutes(5)), .serialized)
struct DatabaseServerTests {
    private static let secret = "a secret of the test"

    @Test(
        "A relay whose clock is ahead of the server's says so, and is ready once the clock is set",
        arguments: ServerUnderTest.all)
    func clockAhead(_ server: ServerUnderTest) async throws {
        let clock = try FakeClock()
        try clock.set(ahead: 90)
        let settings = ["DATABASE_URL": try server.makeDatabase()].merging(clock.environment) { $1 }
        try await Stack.run(settings) { stack in
            _ = try await stack.relay.line("the difference") { $0.contains("clock.differs") }
            let ready = try await stack.http.get("/ready")
            #expect(ready.status == 503 && ready.text.contains(#""clock":"differs""#), "\(ready.text)")
            try clock.set(ahead: 0)
            let again = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                $0.status == 200
            }
            #expect(again.text.contains(#""clock":"ok""#))
            _ = try await stack.relay.line("the recovery") { $0.contains("clock.agrees") }
        }
    }

    @Test(
        "registers, sends and unregisters; after a kill and restart no confirmed change is lost",
        arguments: ServerUnderTest.all)
    func killed(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await Stack.run(["DATABASE_URL": url]) { stack in
            for number in 0..<5 { try await stack.register(Self.secret, token(number)) }
            #expect(try await stack.event(Self.secret).sent == 5)
            var kept = Set((0..<5).map { token($0) })
            let answered = Lock<Set<String>>([])
            let load = Task { try await Self.registerMany(stack, from: 100, answered) }
            _ = try await eventually {
                answered.withLock { $0.count }
            } until: {
                $0 >= 3
            }
            try await server.order("kill")
            let began = ContinuousClock.now
            let refused = try await Self.post(stack, "/v1/event", Self.event)
            #expect(refused.status == 503 && refused.text.contains("storage_unavailable"), "\(refused.text)")
            // Within the time that RELAY_DATABASE_TIMEOUT (5 s) allows on a busy machine, not after a TCP timeout.
            #expect(ContinuousClock.now - began < .seconds(10))
            #expect(try await stack.http.get("/health").status == 200)
            let ready = try await stack.http.get("/ready")
            #expect(ready.status == 503)
            let checks: JSON.Value = [
                "storage": "unavailable", "write": "unknown", "apns": "ok", "queue": "unknown",
                "clock": "unknown",
            ]
            #expect(try ready.json()["checks"] == checks)
            // A scrape succeeds without the database.
            let down = try PrometheusText(try await stack.admin.get("/metrics").text)
            #expect(down.value("relay_ready") == 0)
            #expect(down.value("relay_ready_check", ["check": "storage"]) == 0)
            #expect(down.value("relay_ready_check", ["check": "apns"]) == 1)
            #expect(down.sum("relay_database_connections_lost_total") >= 1)
            try await server.order("restart")
            _ = try await eventually {
                try await Self.post(stack, "/v1/event", Self.event).status
            } until: {
                $0 == 200
            }
            load.cancel()
            try await load.value
            _ = try await eventually {
                try await stack.http.get("/ready").status
            } until: {
                $0 == 200
            }
            // Each loop caches its check for a second.
            let up = try await eventually {
                try PrometheusText(try await stack.admin.get("/metrics").text)
            } until: {
                $0.value("relay_ready") == 1
            }
            #expect(
                up.sum("relay_database_connections_opened_total")
                    > down.sum("relay_database_connections_opened_total"))
            kept.formUnion(answered.withLock { $0 })
            for token in kept.sorted().prefix(3) {
                let body: JSON.Value = ["secret": .string(Self.secret), "deviceToken": .string(token)]
                #expect(try await Self.post(stack, "/v1/device/unregister", body).status == 200)
                kept.remove(token)
            }
            let after = try await stack.event(Self.secret)
            // A registration that got 503 may still have been stored.
            #expect(after.sent >= kept.count && after.failed == 0)
            let pushed = Set(
                try await stack.control.pushes().suffix(after.sent).compactMap { $0["deviceToken"]?.string })
            #expect(pushed.isSuperset(of: kept))
        }
    }

    @Test(
        "waits for a server that is down at the start, says so, and then ends with 69",
        arguments: ServerUnderTest.all)
    func down(_ server: ServerUnderTest) async throws {
        let url = server.name == "postgres" ? "postgres" : "mysql"
        try await Stack.run { stack in
            var environment = stack.environment
            environment["DATABASE_URL"] = "\(url)://relay:hunter2@127.0.0.1:1/relay"
            environment["RELAY_DATABASE_START_DEADLINE"] = "1s"
            let relay = try Program("relay", ["serve"], environment: environment)
            #expect(try await relay.ended() == 69)
            #expect(relay.output.contains("database.waiting"))
            #expect(relay.output.contains("127.0.0.1:1/relay"))
            #expect(!relay.output.contains("hunter2"))
        }
    }

    @Test(
        "migrate --dry-run shows its statements without running them",
        arguments: ServerUnderTest.versions)
    func dryRun(_ server: ServerUnderTest) async throws {
        let environment = ["DATABASE_URL": try server.makeDatabase()]
        for _ in 0..<2 {
            let dry = try Program("relay", ["migrate", "--dry-run"], environment: environment)
            #expect(try await dry.ended() == 0)
            #expect(dry.output.contains("CREATE TABLE") && dry.output.contains("device_registration"))
        }
        let migrate = try Program("relay", ["migrate"], environment: environment)
        #expect(try await migrate.ended() == 0)
        let again = try Program("relay", ["migrate", "--dry-run"], environment: environment)
        #expect(try await again.ended() == 0)
        #expect(again.output.contains("up to date") && !again.output.contains("CREATE"))
    }

    private static func post(
        _ stack: Stack, _ path: String, _ body: JSON.Value
    ) async throws -> HTTPClient.Answer {
        try await stack.http.post(path, String(decoding: body.encoded(), as: UTF8.self))
    }

    private static var event: JSON.Value {
        ["secret": .string(secret), "eventType": "complete", "sessionID": "ses_1"]
    }

    /// Registers devices until the secret has no room or the task is cancelled; notes the confirmed tokens.
    private static func registerMany(
        _ stack: Stack, from first: Int, _ answered: Lock<Set<String>>
    ) async throws {
        for number in first..<(first + 40) {
            guard !Task.isCancelled else { break }
            let body: JSON.Value = ["secret": .string(secret), "deviceToken": .string(token(number))]
            let answer = try await post(stack, "/v1/device/register", body)
            #expect(answer.status == 200 || answer.status == 503, "\(answer.text)")
            if answer.status == 200 { answered.withLock { _ = $0.insert(token(number)) } }
            // A pause that spreads the registrations over the outage.
            try? await Task.sleep(for: .milliseconds(30))
        }
    }
}

import Glibc
import Storage
import StorageContract
import Testing

@testable import StoragePostgres

/// A server that the tests' scripts started.
struct PostgresServer: Sendable {
    /// The administrator's URL; nil if the server wasn't started.
    let url: String?

    /// The server that most tests use.
    static let postgres15 = PostgresServer("RELAY_TEST_POSTGRES_URL")
    static let postgres18 = PostgresServer("RELAY_TEST_POSTGRES18_URL")

    private init(_ variable: String) {
        url = getenv(variable).map { String(cString: $0) }
    }

    /// The administrator's URL of the server that most tests use.
    static var url: String? { postgres15.url }

    /// The message for a suite that is skipped.
    static let leftOut: Comment =
        "left out: RELAY_TEST_POSTGRES_URL names no server; Tests/Support/databases run swift test starts one"

    /// The administrator's URL with another database, additional keys, and another port if given.
    static func url(
        database: String, query: String = "", port: UInt16? = nil, on server: PostgresServer = postgres15
    ) throws -> String {
        let url = try #require(server.url)
        let slash = try #require(url.lastIndex(of: "/"))
        let colon = try #require(url[..<slash].lastIndex(of: ":"))
        let place = port.map { url[...colon] + String($0) } ?? url[..<slash]
        return place + "/" + database + query
    }

    /// The server's port on 127.0.0.1.
    func port() throws -> UInt16 {
        let url = try #require(url)
        let place = try #require(url.split(separator: "/").dropLast().last)
        return try #require(place.split(separator: ":").last.flatMap { UInt16($0) })
    }

    /// Runs statements on an administrator's connection.
    static func administer(_ statements: String..., on server: PostgresServer = postgres15) throws {
        let connection = try connect(try PostgresLocation(url: try #require(server.url)))
        for statement in statements { try connection.run(statement) }
    }

    /// A direct connection, for what the storage itself would never do.
    static func connect(_ location: PostgresLocation) throws(SQLFailure) -> PostgresConnection {
        let connection = try PostgresConnection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        return connection
    }
}

/// A Postgres database for the contract, on the tests' server.
struct PostgresDatabase: ServerDatabase {
    typealias Connection = PostgresConnection

    let name: String
    let port: UInt16
    let location: PostgresLocation
    private let isAdopted: Bool
    private let query: String
    private let server: PostgresServer

    /// Session defaults other than those that the relay needs.
    private static let oddSettings = [
        "client_encoding = 'LATIN1'", "DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'",
        "standard_conforming_strings = off", "bytea_output = 'escape'", "transform_null_equals = on",
        "default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on",
    ]

    /// - Parameter isOdd: Whether its sessions start with settings other than the relay needs.
    init(
        adopted: Bool = false, query: String = "", isOdd: Bool = false,
        on server: PostgresServer = .postgres15
    ) throws {
        name = "relay_\(UInt64.random(in: .min ... .max))"
        isAdopted = adopted
        self.query = query
        self.server = server
        port = try server.port()
        location = try PostgresLocation(url: try PostgresServer.url(database: name, query: query, on: server))
        try PostgresServer.administer("CREATE DATABASE \(name)", on: server)
        if isOdd {
            var settings = Self.oddSettings
            // Behind a pooler only an administrator can set these.
            if query.isEmpty { settings.append("lock_timeout = '1ms'") }
            // Long enough for a session's start, which it limits too.
            if server.url == PostgresServer.postgres18.url { settings.append("transaction_timeout = '30s'") }
            for setting in settings {
                try PostgresServer.administer("ALTER DATABASE \(name) SET \(setting)", on: server)
            }
        }
        if adopted { try makeOpenCodeTables() }
    }

    func location(port: UInt16) throws -> PostgresLocation {
        try PostgresLocation(
            url: try PostgresServer.url(database: name, query: query, port: port, on: server))
    }

    func location(connectionsMax: Int) throws -> PostgresLocation {
        let exists = try connect().integer("SELECT count(*) FROM pg_roles WHERE rolname = ?", [.text(name)])
        if exists == 0 {
            try PostgresServer.administer(
                "CREATE ROLE \(name) LOGIN PASSWORD 'password' CONNECTION LIMIT \(connectionsMax)", on: server
            )
            try connect().run("GRANT ALL ON SCHEMA public TO \(name)")
        }
        let url = try PostgresServer.url(database: name, query: query, on: server)
        let account = try #require(url.split(separator: "@").first)
        return try PostgresLocation(url: "postgres://\(name):password" + url.dropFirst(account.count))
    }

    func countSessions() throws -> Int {
        let sql = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
            """
        return Int(try connect().integer(sql) ?? -1)
    }

    func countLockWaits() throws -> Int {
        let sql = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        return Int(try connect().integer(sql) ?? -1)
    }

    func refuseLogRows(ofSession session: String?) async throws {
        let connection = try connect()
        // The error for a missing right, which this account can't lose: 42501.
        try connection.run(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '42501'; END $$
            """)
        let condition = session.map { "WHEN (NEW.session_id = '\($0)')" } ?? ""
        try connection.run(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON delivery_log FOR EACH ROW \(condition)
            EXECUTE FUNCTION refuse()
            """)
    }

    func endSessions() throws {
        _ = try connect().integer(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
    }

    func lock(_ table: String) throws -> @Sendable () throws -> Void {
        let connection = try connect()
        try connection.run("BEGIN")
        try connection.run("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
        let held = Held(connection: connection)
        return { try held.connection.run("ROLLBACK") }
    }

    /// A connection that one test passes from thread to thread.
    private final class Held: @unchecked Sendable {  // why: used by one at a time
        let connection: PostgresConnection

        init(connection: PostgresConnection) {
            self.connection = connection
        }
    }

    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws {
        if !isAdopted { try makeOpenCodeTables() }
        try OpenCodeTables.fill(connect(), devices: devices, deliveries: deliveries)
    }

    func destroy() async {
        // This also removes what a failed test left open.
        try? PostgresServer.administer(
            "DROP DATABASE \(name) WITH (FORCE)", "DROP ROLE IF EXISTS \(name)", on: server)
    }

    private func makeOpenCodeTables() throws {
        let connection = try connect()
        for statement in OpenCodeTables.statements { try connection.run(statement) }
    }
}

import CSQLite
import ChildProcess
import Foundation
import Storage
import StorageContract
import StorageMySQL
import StoragePostgres
import Testing

/// A database that a test copies from or to, and accesses without the relay.
struct CopyPlace: Sendable {
    let url: String

    /// Creates a database on one of the engines: `sqlite` in a directory, or a server that the tests' script started.
    init(_ engine: String, in directory: TemporaryDirectory, _ name: String) throws {
        guard engine != "sqlite" else {
            url = "sqlite:" + directory.file(name)
            return
        }
        let server = ServerUnderTest.all.first { $0.name == engine }
        url = try server?.makeDatabase() ?? ""
    }

    private var file: String? { url.hasPrefix("sqlite:") ? String(url.dropFirst("sqlite:".count)) : nil }

    /// Runs statements, one after the other.
    func run(_ statements: [String]) throws {
        if let file {
            var database: OpaquePointer?
            defer { sqlite3_close(database) }
            guard sqlite3_open_v2(file, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
                sqlite3_busy_timeout(database, 10_000) == SQLITE_OK
            else { throw Program.Failure(description: "\(file) can't be opened") }
            for statement in statements where sqlite3_exec(database, statement, nil, nil, nil) != SQLITE_OK {
                throw Program.Failure(
                    description: "\(statement): \(String(cString: sqlite3_errmsg(database)))")
            }
        } else if url.hasPrefix("postgres") {
            try Self.run(statements, try connect(PostgresConnection.self, PostgresLocation(url: url)))
        } else {
            try Self.run(statements, try connect(MySQLConnection.self, MySQLLocation(url: url)))
        }
    }

    /// Returns the rows of a query, all of whose columns must be text.
    func rows(_ query: String, columns: Int) throws -> Set<[String]> {
        if let file { return try Self.rows(query, columns, file) }
        return url.hasPrefix("postgres")
            ? try Self.rows(query, columns, try connect(PostgresConnection.self, PostgresLocation(url: url)))
            : try Self.rows(query, columns, try connect(MySQLConnection.self, MySQLLocation(url: url)))
    }

    /// For each table, columns that identify its rows and some of their contents.
    func contents() throws -> [String: Set<[String]>] {
        let queries = [
            "device_registration": ["secret_hash", "device_token", "id", "bundle_id", "updated_at"],
            "delivery_log": ["secret_hash", "id", "status", "session_id", "created_at"],
            "event_receipt": ["secret_hash", "event_id", "claim_id", "lease_until", "expires_at"],
            "pending_push": ["secret_hash", "id", "device_id", "attempts", "due_at"],
        ]
        var contents: [String: Set<[String]>] = [:]
        for (table, columns) in queries {
            let list = columns.map { "CAST(\($0) AS char(255))" }.joined(separator: ", ")
            contents[table] = try rows("SELECT \(list) FROM \(table)", columns: columns.count)
        }
        return contents
    }

    private func connect<Connection: ServerConnection>(
        _ type: Connection.Type, _ location: Connection.Location
    ) throws -> Connection {
        let connection = try Connection.open(location, options: .patient)
        connection.deadline = .now + .seconds(30)
        return connection
    }

    private static func run(_ statements: [String], _ connection: some SQLConnection) throws {
        for statement in statements { try connection.run(statement) }
    }

    private static func rows(
        _ query: String, _ columns: Int, _ connection: some SQLConnection
    ) throws -> Set<[String]> {
        var rows: Set<[String]> = []
        try connection.query(query, []) { row throws(SQLFailure) in
            var values: [String] = []
            // Postgres pads to the column's width.
            for column in 0..<columns {
                values.append(try row.text(column).trimmingCharacters(in: .whitespaces))
            }
            rows.insert(values)
        }
        return rows
    }

    private static func rows(_ query: String, _ columns: Int, _ file: String) throws -> Set<[String]> {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_open_v2(file, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
            sqlite3_prepare_v2(database, query, -1, &statement, nil) == SQLITE_OK
        else { throw Program.Failure(description: "\(file) can't be read: \(query)") }
        var rows: Set<[String]> = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.insert(
                (0..<Int32(columns)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
                })
        }
        return rows
    }
}

/// Engines to copy from and to.
struct CopyRoute: Sendable, CustomTestStringConvertible {
    let from: String
    let to: String

    /// The routes between engines whose servers are available.
    static let available =
        [CopyRoute(from: "sqlite", to: "sqlite")]
        + (ServerUnderTest.areThere
            ? [CopyRoute(from: "sqlite", to: "postgres"), CopyRoute(from: "postgres", to: "mariadb")] : [])

    var testDescription: String { "\(from) to \(to)" }
}

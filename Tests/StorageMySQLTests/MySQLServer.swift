import Glibc
import Storage
import StorageMySQL
import Testing

/// The MariaDB server that the tests' scripts have started.
enum MySQLServer {
    /// The URL of an administrator's account; nil when no server was started.
    static let url: String? = variable("RELAY_TEST_MYSQL_URL")
    /// The directory with certificates.
    static let certificates: String = variable("RELAY_TEST_TLS") ?? ""

    /// What a suite of tests needs, and what is said where it isn't there.
    static let isThere: ConditionTrait = .enabled(
        if: url != nil, "no MariaDB: Tests/Support/databases run swift test runs these tests")

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The URL of a database on the server, with another host, account or options than the administrator's.
    static func url(
        database: String, host: String = "127.0.0.1", account: String? = nil, options: String = "",
        port other: UInt16? = nil
    ) throws -> String {
        let url = try #require(url)
        let authority = url.dropFirst("mysql://".count).prefix { $0 != "/" }
        let parts = authority.split(separator: "@")
        let port = try other.map { String($0) } ?? String(#require(parts[1].split(separator: ":").last))
        return "mysql://\(account ?? String(parts[0]))@\(host):\(port)/\(database)\(options)"
    }

    /// Connects as the administrator, or otherwise.
    static func connect(
        to database: String = "mysql", host: String = "127.0.0.1", account: String? = nil,
        options: String = "", server: ServerOptions = ServerOptions()
    ) throws -> MySQLConnection {
        let url = try url(database: database, host: host, account: account, options: options)
        let connection = try MySQLConnection.open(try MySQLLocation(url: url), options: server)
        connection.deadline = .now + .seconds(30)
        return connection
    }

    /// Runs a body with a new account, which is then removed.
    static func withAccount(
        _ definition: String, _ body: (_ name: String) throws -> Void
    ) throws {
        let administrator = try connect()
        let name = "u\(UInt32.random(in: 0...(.max)))"
        try administrator.run("CREATE USER \(name)@'%' \(definition)")
        defer { try? administrator.run("DROP USER \(name)@'%'") }
        try administrator.run("GRANT SELECT ON mysql.* TO \(name)@'%'")
        try body(name)
    }
}

import Glibc
import Storage
import StorageContract
import StorageMySQL
import Testing

/// A server that the tests' scripts started.
struct MySQLServer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The URL of an administrator's account; nil if the server wasn't started.
    let url: String?

    /// The server that most tests use; its sessions start with settings other than the relay needs.
    static let mariadb = MySQLServer("MariaDB", "RELAY_TEST_MYSQL_URL")
    static let mysql97 = MySQLServer("MySQL 9.7", "RELAY_TEST_MYSQL97_URL")
    /// The servers that were started.
    static let all = [mariadb, mysql97].filter { $0.url != nil }

    /// Whether the server's binary log contains statements.
    var logsStatements: Bool { url == Self.mysql97.url }

    /// Allows an account to change what its sessions write to the binary log.
    static func allowLoggingRows(_ name: String, on server: MySQLServer) throws {
        try connect(on: server).run("GRANT SESSION_VARIABLES_ADMIN ON *.* TO \(name)@'%'")
    }

    private init(_ name: String, _ variable: String) {
        testDescription = name
        url = Self.variable(variable)
    }

    /// The directory of certificates.
    static let certificates: String = variable("RELAY_TEST_TLS") ?? ""

    /// The TLS options of a URL.
    ///
    /// Without `ssl-ca`, libmariadb would read all of the system's certificates for each connection, which takes longer
    /// than most tests.
    var encryption: String { "?ssl-mode=verify-ca&ssl-ca=\(Self.certificates)/ca.pem" }

    /// The requirement for a suite, and the message if it isn't met.
    static let isThere: ConditionTrait = .enabled(
        if: mariadb.url != nil, "no MariaDB: Tests/Support/databases run swift test runs these tests")

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The URL of a database on a server, optionally with a host, account or options other than the administrator's.
    static func url(
        database: String, host: String = "127.0.0.1", account: String? = nil, options: String = "",
        port other: UInt16? = nil, on server: MySQLServer = mariadb
    ) throws -> String {
        let url = try #require(server.url)
        let authority = url.dropFirst("mysql://".count).prefix { $0 != "/" }
        let parts = authority.split(separator: "@")
        let port = try other.map { String($0) } ?? String(#require(parts[1].split(separator: ":").last))
        return "mysql://\(account ?? String(parts[0]))@\(host):\(port)/\(database)\(options)"
    }

    /// Connects as the administrator, or with the given account.
    static func connect(
        to database: String = "mysql", host: String = "127.0.0.1", account: String? = nil,
        options: String = "", server: ServerOptions = .patient, on place: MySQLServer = mariadb
    ) throws -> MySQLConnection {
        let url = try url(database: database, host: host, account: account, options: options, on: place)
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

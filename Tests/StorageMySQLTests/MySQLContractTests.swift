import Glibc
import OwnThread
import Storage
import StorageContract
import StorageMySQL
import Testing

private let plain = DatabaseShelf { try MySQLDatabase() }
private let adopted = DatabaseShelf { try MySQLDatabase(adopted: true) }

@Suite("MySQL", MySQLServer.isThere, .timeLimit(.minutes(2)), .ownThread, plain, adopted)
struct MySQLContractTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await plain.run(contract)
    }

    @Test("keeps the storage contract with OpenCode's tables", arguments: ContractCase.all)
    func adopted(_ contract: ContractCase) async throws {
        try await StorageMySQLTests.adopted.run(contract)
    }

    @Test("keeps the contract when the server or the network fails", arguments: ServerCase.all)
    func faults(_ contract: ServerCase) async throws {
        try await contract.run(on: MySQLDatabase())
    }
}

private let newest = DatabaseShelf { try MySQLDatabase(on: .mysql97) }

@Suite(
    "MySQL 9.7",
    .enabled(
        if: MySQLServer.mysql97.url != nil,
        "no MySQL: Tests/Support/databases run --newest swift test --filter NewestMySQLTests"),
    .timeLimit(.minutes(2)), .ownThread, newest)
struct NewestMySQLTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await newest.run(contract)
    }

    @Test("keeps the contract when the server or the network fails", arguments: ServerCase.all)
    func faults(_ contract: ServerCase) async throws {
        try await contract.run(on: MySQLDatabase(on: .mysql97))
    }

    @Test("which logs statements, logs the relay's rows, or says what right its account lacks")
    func logOfStatements() throws {
        let connection = try MySQLServer.connect(on: .mysql97)
        #expect(try connection.texts("SELECT @@global.binlog_format") == ["STATEMENT"])
        #expect(try connection.texts("SELECT @@session.binlog_format") == ["ROW"])
        let name = "u\(UInt32.random(in: 0...(.max)))"
        try connection.run("CREATE USER \(name)@'%' IDENTIFIED BY 'password'")
        defer { try? connection.run("DROP USER \(name)@'%'") }
        try connection.run("GRANT SELECT ON mysql.* TO \(name)@'%'")
        let error = #expect(throws: SQLFailure.self) {
            _ = try MySQLServer.connect(account: "\(name):password", on: .mysql97)
        }
        guard case .unsuitable(let detail) = error?.error else {
            Issue.record("got \(String(describing: error))")
            return
        }
        #expect(detail.contains("binlog_format=MIXED") && detail.contains("SESSION_VARIABLES_ADMIN"))
        var reading = ServerOptions.patient
        reading.access = .readOnly
        _ = try MySQLServer.connect(account: "\(name):password", server: reading, on: .mysql97)
        try MySQLServer.allowLoggingRows(name, on: .mysql97)
        _ = try MySQLServer.connect(account: "\(name):password", on: .mysql97)
    }
}

/// A database for the contract, on one of the tests' servers or in their Galera cluster.
struct MySQLDatabase: ServerDatabase {
    typealias Connection = MySQLConnection

    let name: String
    let location: MySQLLocation
    let port: UInt16
    private let isAdopted: Bool
    private let administrator: MySQLLocation
    private let server: MySQLServer

    /// Creates a database on one server.
    init(adopted: Bool = false, on server: MySQLServer = .mariadb) throws {
        try self.init(adopted: adopted, on: server) { database in
            try MySQLLocation(
                url: try MySQLServer.url(database: database, options: server.encryption, on: server))
        }
    }

    /// - Parameter find: Returns the location of a database on the server or cluster.
    init(
        adopted: Bool = false, on server: MySQLServer = .mariadb,
        at find: (_ database: String) throws -> MySQLLocation
    ) throws {
        self.server = server
        name = "relay_\(UInt64.random(in: .min ... .max))"
        isAdopted = adopted
        administrator = try find("mysql")
        location = try find(name)
        port = try #require(location.hosts.first).port
        // A default under which "a", "A" and "a " are one key.
        let collation = "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        try administer().run("CREATE DATABASE \(name) \(collation)")
        if adopted { try makeOpenCodeTables() }
    }

    private func administer() throws -> MySQLConnection {
        let connection = try MySQLConnection.open(administrator, options: .patient)
        connection.deadline = .now + .seconds(30)
        return connection
    }

    func location(port: UInt16) throws -> MySQLLocation {
        try MySQLLocation(
            url: try MySQLServer.url(database: name, options: server.encryption, port: port, on: server))
    }

    func location(connectionsMax: Int) throws -> MySQLLocation {
        let administrator = try administer()
        try administrator.run(
            """
            CREATE USER IF NOT EXISTS \(name)@'%' IDENTIFIED BY 'password'
            WITH MAX_USER_CONNECTIONS \(connectionsMax)
            """)
        try administrator.run("GRANT ALL PRIVILEGES ON \(name).* TO \(name)@'%'")
        if server.logsStatements { try MySQLServer.allowLoggingRows(name, on: server) }
        return try MySQLLocation(
            url: try MySQLServer.url(
                database: name, account: "\(name):password", options: server.encryption, on: server))
    }

    func countSessions() throws -> Int {
        Int(try administer().integer("SELECT count(*) \(sessions)", [.text(name)]) ?? -1)
    }

    func countLockWaits() throws -> Int {
        let sql = """
            SELECT count(*) FROM information_schema.innodb_trx
            JOIN information_schema.processlist AS p ON p.id = trx_mysql_thread_id
            WHERE db = ? AND trx_state = 'LOCK WAIT'
            """
        let administrator = try administer()
        return try Self.lastLookAtLocks.withLock { last in
            // InnoDB renews what `innodb_trx` shows only if nobody has read it for 100 ms.
            while ContinuousClock.now < last + .milliseconds(120) { usleep(10_000) }
            defer { last = .now }
            return Int(try administrator.integer(sql, [.text(name)]) ?? -1)
        }
    }

    /// When any test last looked at the locks.
    private static let lastLookAtLocks = Guarded(ContinuousClock.now)

    func refuseLogRows(ofSession session: String?) async throws {
        // The error for a missing right, which this account can't lose: ER_TABLEACCESS_DENIED_ERROR.
        let signal = "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1142, MESSAGE_TEXT = 'refused'"
        let condition = session.map { "NEW.session_id = '\($0)'" } ?? "true"
        try connect().run(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON delivery_log FOR EACH ROW
            IF \(condition) THEN \(signal); END IF
            """)
    }

    func endSessions() throws {
        let administrator = try administer()
        for id in try administrator.integers("SELECT id \(sessions)", [.text(name)]) {
            // The session may have ended by now.
            try? administrator.run("KILL \(id)")
        }
    }

    func lock(_ table: String) throws -> @Sendable () throws -> Void {
        let connection = Guarded(Holder(connection: try connect()))
        try connection.withLock { try $0.connection.run("LOCK TABLES \(table) WRITE") }
        return { try connection.withLock { try $0.connection.run("UNLOCK TABLES") } }
    }

    private let sessions = "FROM information_schema.processlist WHERE db = ? AND id <> connection_id()"

    func makeOpenCodeTables(devices: [Device], deliveries: [Delivery]) async throws {
        if !isAdopted { try makeOpenCodeTables() }
        try OpenCodeTables.fill(connect(), devices: devices, deliveries: deliveries)
    }

    func destroy() async {
        try? administer().run("DROP DATABASE \(name)")
        try? administer().run("DROP USER IF EXISTS \(name)@'%'")
    }

    private func makeOpenCodeTables() throws {
        let connection = try connect()
        for statement in Self.openCodeTables { try connection.run(statement) }
    }

    /// The tables with the names, types and indices that OpenCode's relay gave them, with the server's defaults.
    static let openCodeTables = [
        """
        CREATE TABLE device_registration (
            id varchar(36) NOT NULL, secret_hash varchar(64) NOT NULL, device_token varchar(255) NOT NULL,
            bundle_id varchar(255) NOT NULL, apns_env varchar(16) NOT NULL DEFAULT 'production',
            created_at bigint NOT NULL, updated_at bigint NOT NULL,
            PRIMARY KEY (id),
            UNIQUE KEY device_registration_secret_token_idx (secret_hash, device_token),
            KEY device_registration_secret_hash_idx (secret_hash))
        """,
        """
        CREATE TABLE delivery_log (
            id varchar(36) NOT NULL, secret_hash varchar(64) NOT NULL, event_type varchar(32) NOT NULL,
            session_id varchar(255) NOT NULL, status varchar(16) NOT NULL, error varchar(1024),
            created_at bigint NOT NULL,
            PRIMARY KEY (id),
            KEY delivery_log_secret_hash_idx (secret_hash), KEY delivery_log_created_at_idx (created_at))
        """,
    ]
}

/// A connection behind a lock, so that only one thread uses it at a time.
private struct Holder: @unchecked Sendable {  // why: only reached under the lock
    let connection: MySQLConnection
}

extension MySQLConnection {
    /// The first column of every row as an integer.
    fileprivate func integers(_ sql: String, _ parameters: [SQLValue]) throws -> [Int64] {
        var values: [Int64] = []
        try query(sql, parameters) { row throws(SQLFailure) in values.append(try row.integer(0)) }
        return values
    }
}

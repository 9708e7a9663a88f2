internal import CMariaDB
package import Storage

/// One connection to a MySQL or MariaDB server, and the only owner of its handle.
@safe
package final class MySQLConnection: ServerConnection {
    /// The type that describes where the database is.
    package typealias Location = MySQLLocation

    private let handle: UnsafeMutablePointer<MYSQL>
    private let wait: MySQLWait
    private var statements: [String: MySQLStatement] = [:]
    /// Whether the server is known to lack the bulk protocol, which MariaDB has and MySQL doesn't.
    private var hasNoBulkProtocol = false
    /// The session variables that need different values during a schema change.
    private let limits: SessionLimits

    /// False after a failure that ended the connection.
    package private(set) var isUsable = true

    /// The maximum number of statements that are kept prepared; the program uses fewer.
    private static let statementsMax = 256
    /// How long closing a connection may take.
    private static let closingTime: Duration = .milliseconds(100)

    private init(_ handle: UnsafeMutablePointer<MYSQL>, _ wait: MySQLWait, _ options: ServerOptions) {
        unsafe self.handle = handle
        self.wait = wait
        limits = SessionLimits(
            isMariaDB: unsafe mariadb_connection(handle) != 0, callTimeout: options.callTimeout)
    }

    deinit {
        wait.deadline = .now + Self.closingTime
        wait.during { unsafe mysql_close(handle) }
        // The statements' handles are freed after the connection's, so that nothing is sent for them.
        statements = [:]
    }

    /// Connects as documented in `ServerConnection`; each host gets the full `connectTimeout`.
    package static func open(
        _ location: MySQLLocation, options: ServerOptions
    ) throws(SQLFailure) -> MySQLConnection {
        var failure = SQLFailure(.connectionLost, .unavailable(logDetail: "no host"), mayBeDone: false)
        let hosts: [MySQLLocation.Host?] = location.hosts.isEmpty ? [nil] : location.hosts
        for (index, host) in hosts.enumerated() {
            do throws(SQLFailure) {
                let wait = MySQLWait()
                wait.deadline = .now + options.connectTimeout
                let handle = try unsafe MySQLConnector(location, wait, options).connect(to: host)
                let connection = unsafe MySQLConnection(handle, wait, options)
                try connection.prepareSession(options, isOneOfSeveral: hosts.count > 1)
                return connection
            } catch {
                // A failure that may be temporary takes precedence over a host's refusal.
                if index == 0 || error.kind == .connectionLost { failure = error }
            }
        }
        failure.mayBeDone = false
        throw failure
    }

    /// The deadline for the statements that run next.
    package var deadline: ContinuousClock.Instant {
        get { wait.deadline }
        set { wait.deadline = newValue }
    }

    /// Whether a transaction is open.
    package var isInTransaction: Bool {
        unsafe handle.pointee.server_status & UInt32(SERVER_STATUS_IN_TRANS) != 0
    }

    /// Runs a statement and returns how many rows it inserted, deleted or matched for an update.
    package func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        let statement = try run(sql, parameters)
        defer { statement.reset() }
        return statement.matchedRows
    }

    /// Runs a statement and passes its rows to `row`.
    package func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        let statement = try run(sql, parameters)
        defer { statement.reset() }
        let next = { () throws(MySQLStatement.Fault) in try statement.nextRow() }
        while let found = try checked("reading", next) { try row(found) }
    }

    /// Uses MariaDB's bulk protocol; returns false on other servers.
    package func load(_ rows: RowBlock) throws(SQLFailure) -> Bool {
        guard !hasNoBulkProtocol else { return false }
        let marks = Array(repeating: "?", count: rows.columns.count).joined(separator: ", ")
        let statement = try prepared(
            "INSERT INTO \(rows.table) (\(rows.columns.joined(separator: ", "))) VALUES (\(marks))")
        let isDone = try checked("loading rows") { () throws(MySQLStatement.Fault) in
            try statement.load(rows)
        }
        hasNoBulkProtocol = !isDone
        return isDone
    }

    /// Runs SQL text unchanged.
    package func run(_ sql: String) throws(SQLFailure) {
        try checked("running a statement") { () throws(MySQLStatement.Fault) in
            guard unsafe mysql_real_query(handle, sql, UInt(sql.utf8.count)) == 0 else {
                throw unsafe MySQLStatement.Fault(
                    code: mysql_errno(handle), message: String(cString: mysql_error(handle)))
            }
            guard unsafe mysql_field_count(handle) > 0 else { return }
            unsafe mysql_free_result(mysql_store_result(handle))
        }
    }

    /// Uses a named lock that the server keeps for this database.
    ///
    /// MySQL commits each DDL statement, so changes that `body` makes before it throws are kept. The lock belongs to
    /// the connection and ends with it. On Galera the lock covers only one node, but the steps' statements are harmless
    /// when two processes run them.
    package func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        let name = try schemaLockName()
        while try integer("SELECT get_lock(?, 1)", [.text(name)]) != 1 {
            guard !wait.isOver else {
                throw SQLFailure(.other, .timeout(logDetail: "another process is changing the schema"))
            }
        }
        defer { try? run("DO release_lock('\(name)')") }
        // Rebuilding a large table takes a long time.
        try run(limits.forSchemaChange)
        defer { try? run("SET SESSION \(limits.forCalls)") }
        return try body()
    }

    package func trySchemaLock() throws(SQLFailure) {
        let name = try schemaLockName()
        if try integer("SELECT get_lock(?, 0)", [.text(name)]) == 1 { try run("DO release_lock('\(name)')") }
    }

    /// The schema lock's name, which fits MySQL's limit of 64 characters whatever the database is called.
    ///
    /// The name is hashed here, because servers have different hash functions: MySQL 9.6 removed `sha1()`. The
    /// database's name comes from the server, which may spell it differently from the URL.
    private func schemaLockName() throws(SQLFailure) -> String {
        let database = try texts("SELECT database()").first ?? ""
        return "relay_schema:" + Digest256(of: Array(database.utf8)).hex.prefix(40)
    }
}

// MARK: - Parts

extension MySQLConnection {
    /// Runs a statement, preparing it on first use, and buffers its result, if any, on the client.
    private func run(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> MySQLStatement {
        let statement = try prepared(sql)
        try checked("running a statement") { () throws(MySQLStatement.Fault) in
            try statement.execute(parameters)
        }
        return statement
    }

    private func prepared(_ sql: String) throws(SQLFailure) -> MySQLStatement {
        if let statement = statements[sql] { return statement }
        if statements.count >= Self.statementsMax { wait.during { statements = [:] } }
        let statement = try checked("preparing") { () throws(MySQLStatement.Fault) in
            try unsafe MySQLStatement(sql, on: handle)
        }
        statements[sql] = statement
        return statement
    }

    /// Calls into libmariadb until the deadline, and maps its error.
    private func checked<Result>(
        _ action: String, _ body: () throws(MySQLStatement.Fault) -> Result
    ) throws(SQLFailure) -> Result {
        guard isUsable else {
            throw SQLFailure(
                .connectionLost, .unavailable(logDetail: "the connection had ended"), mayBeDone: false)
        }
        let outcome = wait.during { () -> Swift.Result<Result, MySQLStatement.Fault> in
            do throws(MySQLStatement.Fault) { return .success(try body()) } catch { return .failure(error) }
        }
        switch outcome {
        case .success(let result): return result
        case .failure(let fault):
            let failure = MySQLError.failure(fault.code, fault.message, doing: action, isTimeUp: wait.isOver)
            if failure.kind == .connectionLost { isUsable = false }
            throw failure
        }
    }

    /// The session variables that the statements rely on; a server may begin sessions with other values.
    ///
    /// Only `transaction_read_only` stays unchanged: the relay must not write to a server that begins transactions as
    /// read-only. The character sets are set again, because a server may ignore those that the client sent when it
    /// connected.
    private static let session = [
        "NAMES utf8mb4 COLLATE utf8mb4_bin", "autocommit = 1", "completion_type = 'NO_CHAIN'",
        // Strict mode: a value that doesn't fit is an error.
        "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "time_zone = '+00:00'",
        "sql_safe_updates = 0", "sql_select_limit = 18446744073709551615", "sql_big_selects = 1",
        "sql_auto_is_null = 0", "unique_checks = 1", "max_sort_length = 1024",
    ].joined(separator: ", ")

    /// Sets up the session as `SQLConnection` requires.
    private func prepareSession(_ options: ServerOptions, isOneOfSeveral: Bool) throws(SQLFailure) {
        try run("SET \(Self.session), \(limits.forCalls)")
        // On every server, the isolation level needs a separate statement.
        let access = options.access == .readOnly ? ", READ ONLY" : ""
        try run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED\(access)")
        try followServer(options)
        guard isOneOfSeveral, options.access != .readOnly else { return }
        // A replica, or a node outside its cluster, refuses even this query.
        guard try integer("SELECT @@global.read_only") == 0 else {
            throw SQLFailure(
                .connectionLost, .readOnly(logDetail: "the host is read-only"), mayBeDone: false)
        }
    }
}

extension MySQLConnection {
    /// Checks privileges with statements that can't succeed, because servers check privileges before other errors.
    ///
    /// Privileges can also come from roles and patterns, so only the server can determine them.
    package func checkSchemaRights(tables: [String]) throws(SQLFailure) {
        var trials = ["CREATE TABLE relay_trial (twice int, twice int)"]
        for table in try texts(
            """
            SELECT table_name FROM information_schema.tables WHERE table_schema = database()
            AND table_name IN (\(tables.map { "'\($0)'" }.joined(separator: ", ")))
            """)
        {
            trials += [
                "ALTER TABLE \(table) ADD COLUMN secret_hash int",
                "CREATE INDEX relay_trial ON \(table) (none)",
            ]
        }
        for trial in trials {
            do throws(SQLFailure) {
                try run(trial)
            } catch {
                switch error.error {
                case .denied, .readOnly: throw error
                default: guard isUsable else { throw error }
                }
            }
        }
    }

    /// Determines the kind of server, and sets the variables that sessions on such a server need.
    ///
    /// Behind a load balancer, one address may lead to different servers, so this queries the server instead of relying
    /// on the URL.
    private func followServer(_ options: ServerOptions) throws(SQLFailure) {
        var variables: [String: String] = [:]
        try query(
            "SHOW VARIABLES WHERE Variable_name IN ('binlog_format', 'log_bin', 'wsrep_on')", []
        ) { row throws(SQLFailure) in
            variables[try row.text(0)] = try row.text(1)
        }
        // A Galera node: each read, update, delete and insert waits until the node has applied what other nodes
        // committed before it. Without this, a relay could miss a row that another relay, or its own earlier
        // connection, committed on another node.
        if variables["wsrep_on"] == "ON" { try run("SET SESSION wsrep_sync_wait = 7") }
        if variables["log_bin"] == "ON", variables["binlog_format"] == "STATEMENT",
            options.access != .readOnly
        {
            try logRows()
        }
    }

    /// Sets the session's binary log to row format: statement format doesn't allow READ COMMITTED (error 1665).
    private func logRows() throws(SQLFailure) {
        do throws(SQLFailure) {
            try run("SET SESSION binlog_format = 'ROW'")
        } catch {
            guard case .denied = error.error else { throw error }
            let right = limits.isMariaDB ? "BINLOG ADMIN" : "SESSION_VARIABLES_ADMIN"
            let detail = """
                its binary log is statement-based, which rules out READ COMMITTED: set binlog_format=MIXED or \
                ROW on the server, or GRANT \(right) ON *.* to the relay's account
                """
            throw SQLFailure(.other, .unsuitable(logDetail: detail), mayBeDone: false)
        }
    }
}

/// The session variables that make the server abort statements whose client has stopped waiting.
private struct SessionLimits {
    let isMariaDB: Bool
    /// Assignments for a `SET`, unlike `forSchemaChange`, which is a whole statement.
    let forCalls: String
    let forSchemaChange: String

    init(isMariaDB: Bool, callTimeout: Duration) {
        self.isMariaDB = isMariaDB
        let seconds = max(1, Int((callTimeout / .seconds(1)).rounded(.up)))
        // Includes metadata locks: a session waiting for a metadata lock blocks all others from the table.
        let locks = "innodb_lock_wait_timeout = \(seconds), lock_wait_timeout = \(seconds)"
        func statement(_ seconds: Int) -> String {
            isMariaDB ? "max_statement_time = \(seconds)" : "max_execution_time = \(seconds * 1_000)"
        }
        forCalls = "\(locks), \(statement(seconds))"
        forSchemaChange = "SET SESSION \(statement(0))"
    }
}

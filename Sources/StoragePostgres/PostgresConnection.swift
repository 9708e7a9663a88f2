internal import CPostgres
internal import Glibc
package import Storage

/// One libpq connection and its only owner: opened by `open`, closed by `deinit`, used on one thread at a time.
///
/// Results are awaited with `poll`, so that an unresponsive server can't delay a call beyond its deadline; libpq's own
/// waits have no deadline.
@safe
package final class PostgresConnection: ServerConnection {
    /// Postgres' SQL dialect.
    package static var dialect: SQLDialect { PostgresSchema.dialect }
    /// Postgres' SQL for the schema.
    package static var schema: SchemaDialect { PostgresSchema.schema }

    /// The deadline for the statements that run next.
    package var deadline = ContinuousClock.now
    /// False after a failure that ended the connection.
    package private(set) var isUsable = true

    let handle: OpaquePointer
    private let prepares: Bool
    private var statements: [String: Statement] = [:]
    /// Whether the server is a Citus coordinator; nil until first needed.
    private var isCitus: Bool?

    /// A statement in Postgres' syntax, and its name once it is prepared.
    private struct Statement {
        let text: String
        let name: String
        /// The statement's first words, for the log.
        let action: String
        var isPrepared: Bool
    }

    private init(_ handle: OpaquePointer, prepares: Bool) {
        unsafe self.handle = handle
        self.prepares = prepares
    }

    deinit {
        unsafe PQfinish(handle)
    }

    /// Connects as documented in `ServerConnection`.
    ///
    /// Per host and address, blocks for at most the URL's `connect_timeout` or the options' `connectTimeout` (at least
    /// 2 s, libpq's minimum), plus the time for name resolution.
    package static func open(
        _ location: PostgresLocation, options: ServerOptions
    ) throws(SQLFailure) -> PostgresConnection {
        guard let handle = unsafe connect(location, options) else {
            throw SQLFailure(.other, .unavailable(logDetail: "no memory for a connection"))
        }
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let words = unsafe String(cString: PQerrorMessage(handle))
            unsafe PQfinish(handle)
            throw PostgresError.connecting(words)
        }
        let connection = unsafe PostgresConnection(handle, prepares: location.preparesStatements)
        try connection.setUp(options)
        return connection
    }

    private static func connect(
        _ location: PostgresLocation, _ options: ServerOptions
    ) -> OpaquePointer? {
        let seconds = max(options.connectTimeout.components.seconds, 2)
        // After a failover, the former primary still accepts connections; only a reader may use it.
        let wanted = options.access == .readOnly ? "any" : "read-write"
        // Parameters before the URL are defaults; parameters after it override the URL.
        let probes = options.keepAlive
        let pairs: [(String, String)] = [
            ("connect_timeout", String(seconds)), ("keepalives_idle", String(probes.idleSeconds)),
            ("keepalives_interval", String(probes.intervalSeconds)),
            ("tcp_user_timeout", String(probes.unansweredMilliseconds)),
            ("fallback_application_name", "relay"), ("target_session_attrs", wanted),
            ("dbname", String(decoding: location.parameters.bytes, as: UTF8.self)),
            ("client_encoding", "UTF8"),
        ]
        let keys = unsafe pairs.map { unsafe strdup($0.0) }
        let values = unsafe pairs.map { unsafe strdup($0.1) }
        defer {
            unsafe (keys + values).forEach { unsafe free($0) }
        }
        return unsafe PQconnectdbParams(
            keys.map { unsafe UnsafePointer($0) } + [nil], values.map { unsafe UnsafePointer($0) } + [nil],
            1)
    }

    private func setUp(_ options: ServerOptions) throws(SQLFailure) {
        unsafe PQsetnonblocking(handle, 1)
        // libpq would print notices to standard error.
        unsafe _ = PQsetNoticeReceiver(handle, { _, _ in }, nil)
        let encoding = unsafe PQparameterStatus(handle, "server_encoding")
            .map { unsafe String(cString: $0) }
        guard encoding == nil || encoding == "UTF8" else {
            let detail = "its encoding is \(encoding ?? ""); the relay requires UTF8"
            throw SQLFailure(.other, .unsuitable(logDetail: detail))
        }
        // A pooler would keep the settings for the connection's next client.
        guard prepares else { return }
        deadline = .now + options.callTimeout
        try run(Self.settings(options))
    }

    /// The parameters that the statements rely on; the server, database or account may begin sessions with other
    /// values.
    ///
    /// Output formats don't matter, because values are sent as binary or as plain integers and texts. Some settings
    /// stay unchanged: `default_transaction_read_only`, which some hosting providers use to stop writes; `search_path`,
    /// which may select the relay's schema; and limits for idle sessions, which the pool tolerates.
    private static func settings(_ options: ServerOptions) -> String {
        // Slightly less than a call's timeout, so that the server times out first and the connection stays usable.
        let milliseconds = max((options.callTimeout * 0.8) / .milliseconds(1), 1)
        return """
            SELECT set_config(name, value, false) FROM (VALUES
                ('statement_timeout', '\(Int(milliseconds))'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
                ('default_transaction_isolation', 'read committed'), ('default_transaction_deferrable', 'off'),
                ('standard_conforming_strings', 'on'), ('transform_null_equals', 'off')
            ) AS settings (name, value) WHERE current_setting(name, true) IS NOT NULL
            """
    }
}

// MARK: - Statements

extension PostgresConnection {
    /// Whether a transaction is open, including a failed one.
    package var isInTransaction: Bool {
        switch unsafe PQtransactionStatus(handle) {
        case PQTRANS_IDLE: false
        default: true
        }
    }

    package func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try perform(sql, parameters).matchedCount
    }

    package func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        let result = try perform(sql, parameters)
        for index in 0..<result.rowCount { try row(try result.row(index)) }
    }

    /// True on Citus, recognized by a setting that only Citus has.
    package func shardsBySecret() throws(SQLFailure) -> Bool {
        if let isCitus { return isCitus }
        let sql = "SELECT CASE WHEN current_setting('citus.shard_count', true) IS NULL THEN 0 ELSE 1 END"
        let found = try integer(sql) == 1
        isCitus = found
        return found
    }

    /// Checks privileges in the catalog, without locking anything.
    ///
    /// Since version 15, only a new database's owner can create tables in its schema `public`.
    package func checkSchemaRights(tables: [String]) throws(SQLFailure) {
        let nowhere = try texts(
            """
            SELECT 'search_path is "' || current_setting('search_path') || '", but user ' || current_user
                || ' can''t use any schema in it: ALTER ROLE ' || current_user
                || ' SET search_path = public, or create the schema and GRANT USAGE, CREATE ON it'
            WHERE current_schema() IS NULL
            """)
        if let detail = nowhere.first { throw SQLFailure(.other, .unsuitable(logDetail: detail)) }
        let lacking = try texts(
            """
            SELECT 'user ' || current_user || ' may not create tables: GRANT CREATE ON SCHEMA '
                || coalesce(current_schema(), 'public') || ' TO ' || current_user
            WHERE NOT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)
            """)
        let foreign = try texts(
            """
            SELECT 'user ' || current_user || ' may not alter the table ' || tablename || ': ALTER TABLE '
                || tablename || ' OWNER TO ' || current_user
            FROM pg_tables WHERE schemaname = current_schema()
            AND tablename IN (\(tables.map { "'\($0)'" }.joined(separator: ", ")))
            AND NOT pg_has_role(tableowner, 'USAGE')
            """)
        guard let detail = (lacking + foreign).first else { return }
        throw SQLFailure(.other, .denied(logDetail: detail))
    }

    package func run(_ sql: String) throws(SQLFailure) {
        let action = Self.action(of: sql)
        try check(unsafe PQsendQuery(handle, sql), action)
        let result = try finish(action)
        // The response to the COMMIT of a failed transaction.
        if sql == "COMMIT", result.command == "ROLLBACK" {
            throw SQLFailure(.other, .internalFault(logDetail: "a transaction that had failed was committed"))
        }
    }

    /// Runs everything in one transaction that holds the lock, which works behind poolers.
    package func withSchemaLock<Result>(
        _ body: () throws(SQLFailure) -> Result
    ) throws(SQLFailure) -> Result {
        try run(Self.dialect.begin)
        do throws(SQLFailure) {
            // Building an index may take a long time; only the deadline limits it.
            try run("SET LOCAL statement_timeout = 0")
            try run("SELECT pg_advisory_xact_lock(\(Self.schemaLock))")
            // A session waiting for a table blocks all others from it.
            try run("SET LOCAL lock_timeout = \(Self.tableLockMilliseconds)")
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            if isUsable, isInTransaction { try? run("ROLLBACK") }
            throw error
        }
    }

    /// The advisory lock's key: `APNR`, as in SQLite's `application_id`.
    private static let schemaLock = 0x4150_4E52
    private static let tableLockMilliseconds = 5_000

    private func perform(
        _ sql: String, _ parameters: [SQLValue]
    ) throws(SQLFailure) -> PostgresResult {
        let values = try PostgresParameters(parameters)
        let statement = try statement(sql)
        let action = statement.action
        let sent = unsafe values.withPointers { count, values, lengths, formats in
            unsafe statement.isPrepared
                ? PQsendQueryPrepared(handle, statement.name, count, values, lengths, formats, 1)
                : PQsendQueryParams(handle, statement.text, count, nil, values, lengths, formats, 1)
        }
        try check(sent, action)
        return try finish(action)
    }

    private func statement(_ sql: String) throws(SQLFailure) -> Statement {
        if let known = statements[sql] { return known }
        let text = Self.numbered(sql)
        // Behind a pooler, the server may already know a statement that another relay connection prepared; equal names
        // mean equal statements.
        let name = "relay_" + Digest256(of: Array(text.utf8)).hex.prefix(32)
        var statement = Statement(text: text, name: name, action: Self.action(of: sql), isPrepared: false)
        if prepares {
            let action = "preparing " + statement.action
            try check(unsafe PQsendPrepare(handle, statement.name, statement.text, 0, nil), action)
            _ = try finish(action)
            statement.isPrepared = true
        }
        statements[sql] = statement
        return statement
    }

    /// Replaces each `?` with `$1`, `$2` and so on.
    static func numbered(_ sql: String) -> String {
        var text = ""
        var count = 0
        for character in sql {
            guard character == "?" else {
                text.append(character)
                continue
            }
            count += 1
            text += "$\(count)"
        }
        return text
    }

    /// The statement's first words, for the log: `UPDATE device_registration`.
    private static func action(of sql: String) -> String {
        sql.split(maxSplits: 3, whereSeparator: \.isWhitespace).prefix(3).joined(separator: " ")
    }
}

// MARK: - Waiting

extension PostgresConnection {
    func check(_ sent: Int32, _ action: String) throws(SQLFailure) {
        guard sent == 1 else { throw ended(action) }
    }

    /// Sends the remaining output and waits for the results; returns the first that failed, otherwise the last.
    func finish(_ action: String) throws(SQLFailure) -> PostgresResult {
        try flush(action)
        var last: PostgresResult?
        while let result = try nextResult(action) {
            if last?.isFailure != true { last = result }
        }
        guard let last else { throw ended(action) }
        guard !last.isFailure else { throw failure(of: last, action) }
        return last
    }

    /// Waits for the next result; nil after the last.
    func nextResult(_ action: String) throws(SQLFailure) -> PostgresResult? {
        while unsafe PQisBusy(handle) == 1 {
            try wait(for: POLLIN, action)
            guard unsafe PQconsumeInput(handle) == 1 else { throw ended(action) }
        }
        guard let pointer = unsafe PQgetResult(handle) else { return nil }
        return unsafe PostgresResult(pointer)
    }

    /// The failure that a result reports.
    func failure(of result: PostgresResult, _ action: String) -> SQLFailure {
        let isOver = unsafe PQstatus(handle) == CONNECTION_BAD
        let failure = unsafe PostgresError.from(result: result.pointer, doing: action, isOver: isOver)
        if isOver || failure.kind == .connectionLost { isUsable = false }
        return failure
    }

    func flush(_ action: String) throws(SQLFailure) {
        while true {
            switch unsafe PQflush(handle) {
            case 0: return
            case 1:
                let events = try wait(for: POLLIN | POLLOUT, action)
                // A server may stop reading until the client has read its output.
                if events & Int16(POLLIN) != 0, unsafe PQconsumeInput(handle) != 1 { throw ended(action) }
            default: throw ended(action)
            }
        }
    }

    /// Waits until the socket is ready or has failed, but no longer than the deadline.
    @discardableResult
    func wait(for events: Int32, _ action: String) throws(SQLFailure) -> Int16 {
        while true {
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            var descriptor = pollfd(fd: unsafe PQsocket(handle), events: Int16(events), revents: 0)
            let count = unsafe poll(&descriptor, 1, Int32(min(max(left.rounded(.up), 0), 1e9)))
            if count > 0 { return descriptor.revents }
            if count < 0, errno == EINTR { continue }
            isUsable = false
            guard count == 0 else { throw PostgresError.lost("poll failed while \(action): \(errno)") }
            // A COMMIT, including a single statement's implicit one, may be waiting for a standby.
            throw SQLFailure(
                .other, .timeout(logDetail: "timed out while \(action)"), mayBeDone: true)
        }
    }

    func ended(_ action: String) -> SQLFailure {
        isUsable = false
        let words = unsafe String(cString: PQerrorMessage(handle))
            .split(whereSeparator: \.isNewline).joined(separator: "; ")
        return PostgresError.lost("while \(action): \(words)")
    }
}

internal import CMariaDB
internal import Storage

/// The only place that maps the error codes of MySQL, MariaDB and their client library to `SQLFailure`.
enum MySQLError {
    /// The failure for an error code.
    ///
    /// - Parameters:
    ///   - message: The server's or library's message, which is left out if it may repeat a value.
    ///   - isTimeUp: Whether the connection's deadline has passed, which the library reports as a lost connection.
    static func failure(
        _ code: UInt32, _ message: String, doing action: String, isTimeUp: Bool
    ) -> SQLFailure {
        let kind = kind(Int32(bitPattern: code), message)
        let isQuiet = kind == .value || kind == .duplicateKey || kind == .text
        let detail = "MySQL \(code) while \(action)" + (isQuiet ? "" : ": \(message)")
        return switch kind {
        case .lost where isTimeUp:
            SQLFailure(.connectionLost, .timeout(logDetail: "timed out while \(action)"))
        case .lost: SQLFailure(.connectionLost, .unavailable(logDetail: detail))
        case .crowded: SQLFailure(.connectionLost, .crowded(logDetail: detail), mayBeDone: false)
        case .ending: SQLFailure(.connectionLost, .unavailable(logDetail: detail), mayBeDone: false)
        case .readOnlyServer: SQLFailure(.connectionLost, .readOnly(logDetail: detail), mayBeDone: false)
        // If the statement ran on several shards, some may have completed their part.
        case .passing: SQLFailure(.other, .unavailable(logDetail: detail), mayBeDone: true)
        case .conflict: SQLFailure(.conflict, .unavailable(logDetail: detail))
        case .lockTimeout: SQLFailure(.conflict, .timeout(logDetail: detail))
        case .timeout: SQLFailure(.other, .timeout(logDetail: detail))
        case .duplicateKey: SQLFailure(.duplicateKey, .internalFault(logDetail: detail))
        case .alreadyExists: SQLFailure(.alreadyExists, .internalFault(logDetail: detail))
        case .refused: SQLFailure(.other, .refused(logDetail: detail))
        case .denied: SQLFailure(.other, .denied(logDetail: detail))
        case .full: SQLFailure(.other, .full(logDetail: detail))
        case .readOnly: SQLFailure(.other, .readOnly(logDetail: detail))
        case .corrupt: SQLFailure(.other, .corrupt(logDetail: detail))
        case .unsuitable: SQLFailure(.other, .unsuitable(logDetail: detail))
        case .sharded: SQLFailure(.other, .unsuitable(logDetail: "\(detail). \(shardedAdvice)"))
        case .text:
            SQLFailure(
                .other, .unsuitable(logDetail: "\(detail): a column's character set isn't utf8mb4"))
        case .fault, .value: SQLFailure(.other, .internalFault(logDetail: detail))
        }
    }

    /// The meaning of an error code.
    private enum Kind {
        case lost, crowded, ending, readOnlyServer, passing, conflict, lockTimeout, timeout, duplicateKey,
            alreadyExists, refused, denied, full, readOnly, corrupt, unsuitable, sharded, text, fault, value
    }

    private static let shardedAdvice = """
        Vitess can't migrate a sharded keyspace: apply the output of relay migrate --dry-run --shards vitess to it
        """

    private static func kind(_ code: Int32, _ message: String) -> Kind {
        // This code can mean that the server became a replica, so another host must be tried, or that another option
        // forbids the statement.
        if code == ER_OPTION_PREVENTS_STATEMENT {
            return message.contains("read-only") || message.contains("read_only") ? .readOnlyServer : .ending
        }
        // Vitess refuses to lock or create an object without a known shard.
        if code == ER_UNKNOWN_ERROR, message.contains("does not have exactly one shard") { return .sharded }
        if let kind = kinds[code] { return kind }
        // This code can mean an untrusted certificate or a handshake that the network interrupted.
        if code == CR_SSL_CONNECTION_ERROR, ["certificate", "required"].contains(where: message.contains) {
            return .refused
        }
        // The client library's own codes: whatever the error, the connection is in an unknown state.
        if (CR_MIN_ERROR...CR_MAX_ERROR).contains(code) || (5_000...5_999).contains(code) { return .lost }
        // Any other message may repeat a row's value.
        return .value
    }

    private static let kinds: [Int32: Kind] = {
        var kinds: [Int32: Kind] = [:]
        for (kind, codes) in groups { for code in codes { kinds[code] = kind } }
        return kinds
    }()

    private static let groups: [(Kind, [Int32])] = [
        (.crowded, [ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED]),
        // The server is shutting down, ended this connection, has no free connections, or isn't in its cluster (1047,
        // Galera).
        (
            .ending,
            [
                ER_SERVER_SHUTDOWN, ER_NORMAL_SHUTDOWN, ER_HOST_IS_BLOCKED, ER_UNKNOWN_COM_ERROR,
                ER_OUT_OF_RESOURCES, ER_CANT_CREATE_THREAD,
                // The server no longer has a statement that this connection prepared, or the statement's columns have
                // changed.
                ER_UNKNOWN_STMT_HANDLER, ER_NEED_REPREPARE, CR_NEW_STMT_METADATA, CR_STMT_CLOSED,
            ]
        ),
        (.readOnlyServer, [ER_READ_ONLY_MODE]),
        // 4031: MySQL closed a connection that was idle for too long. An error of COMMIT itself (Galera) has no further
        // details.
        (
            .lost,
            [
                ER_CONNECTION_KILLED, ER_NEW_ABORTING_CONNECTION, ER_ABORTING_CONNECTION, 4_031,
                ER_ERROR_DURING_COMMIT, ER_ERROR_DURING_ROLLBACK,
            ]
        ),
        // TiDB: a write conflict (9007), a transaction that must be restarted (8002, 8022), a changed schema (8028).
        (.conflict, [ER_LOCK_DEADLOCK, ER_CHECKREAD, 9_007, 8_002, 8_022, 8_028]),
        // Vitess uses this for nearly every error, and TiDB for a region or server that is currently unreachable.
        (.passing, [ER_UNKNOWN_ERROR, 9_001, 9_002, 9_003, 9_004, 9_005, 9_006]),
        (.lockTimeout, [ER_LOCK_WAIT_TIMEOUT]),
        // 3024: MySQL's max_execution_time.
        (.timeout, [ER_STATEMENT_TIMEOUT, ER_QUERY_INTERRUPTED, 3_024]),
        (.duplicateKey, [ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME]),
        (.alreadyExists, [ER_TABLE_EXISTS_ERROR, ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_MULTIPLE_PRI_KEY]),
        (
            .refused,
            [
                ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_BAD_DB_ERROR,
                ER_HOST_NOT_PRIVILEGED, ER_NOT_SUPPORTED_AUTH_MODE,
                ER_MUST_CHANGE_PASSWORD, ER_MUST_CHANGE_PASSWORD_LOGIN, ER_ACCOUNT_HAS_BEEN_LOCKED,
                CR_AUTH_PLUGIN_CANNOT_LOAD, CR_AUTH_PLUGIN_ERR, CR_SECURE_AUTH, CR_PLUGIN_NOT_ALLOWED,
            ]
        ),
        (
            .denied,
            [
                ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR,
                ER_SPECIFIC_ACCESS_DENIED_ERROR,
            ]
        ),
        (.full, [ER_DISK_FULL, ER_RECORD_FILE_FULL, ER_ERROR_ON_WRITE]),
        (.readOnly, [ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_OPEN_AS_READONLY]),
        (.corrupt, [ER_NOT_KEYFILE, ER_CRASHED_ON_USAGE, ER_CRASHED_ON_REPAIR]),
        (.unsuitable, [ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, ER_SP_DOES_NOT_EXIST]),
        (.text, [ER_TRUNCATED_WRONG_VALUE_FOR_FIELD]),
        (
            .fault,
            [
                ER_PARSE_ERROR, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE, ER_UNKNOWN_SYSTEM_VARIABLE,
                ER_WRONG_FIELD_SPEC, ER_TOO_LONG_KEY, ER_NOT_SUPPORTED_YET, ER_CANT_AGGREGATE_2COLLATIONS,
                ER_CANT_AGGREGATE_3COLLATIONS, ER_CANT_AGGREGATE_NCOLLATIONS,
            ]
        ),
    ]
}

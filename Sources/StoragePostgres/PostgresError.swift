internal import CPostgres
internal import Storage

/// The only place that maps SQLSTATEs and libpq's messages to failures (PostgreSQL's manual, appendix A).
enum PostgresError {
    /// The failure that a statement's result reports; details are left out, because they repeat values from rows.
    ///
    /// - Parameter isOver: Whether the connection has ended.
    static func from(result: OpaquePointer?, doing action: String, isOver: Bool) -> SQLFailure {
        func field(_ code: UInt8) -> String? {
            unsafe PQresultErrorField(result, Int32(code)).map { unsafe String(cString: $0) }
        }
        guard let state = field(UInt8(ascii: "C")) else {
            return lost("the connection ended while \(action)")
        }
        // The message of a data exception contains the data.
        let hasData = state.hasPrefix("22")
        let message = hasData ? "a value was not accepted" : field(UInt8(ascii: "M")) ?? "no message"
        let detail = "Postgres \(state) while \(action): \(message)"
        // FATAL ends the connection, even if libpq hasn't noticed yet. Servers before 9.6 and poolers send only "S".
        let severity = field(UInt8(ascii: "V")) ?? field(UInt8(ascii: "S"))
        return from(state: state, detail: detail, keepsConnection: !isOver && severity == "ERROR")
    }

    /// The failure for an SQLSTATE.
    ///
    /// - Parameter keepsConnection: Whether the server keeps this connection open.
    static func from(state: String, detail: String, keepsConnection: Bool = false) -> SQLFailure {
        switch state {
        // Whether the transaction was committed is unknown.
        case "08007": SQLFailure(.connectionLost, .unavailable(logDetail: detail))
        // The server lost its own connection to another server, such as a Citus coordinator to a worker.
        case _ where keepsConnection && state.hasPrefix("08"):
            SQLFailure(.other, .unavailable(logDetail: detail), mayBeDone: true)
        case "40001", "40P01": SQLFailure(.conflict, .unavailable(logDetail: detail))
        case "23505": SQLFailure(.duplicateKey, .internalFault(logDetail: detail))
        // CockroachDB: whether the transaction was committed is unknown.
        case "40003": SQLFailure(.connectionLost, .unavailable(logDetail: detail), mayBeDone: true)
        case "42P07", "42701", "42710": SQLFailure(.alreadyExists, .internalFault(logDetail: detail))
        case "57014", "55P03": SQLFailure(.other, .timeout(logDetail: detail))
        // The server was the primary until recently; another host may be the primary now.
        case "25006": SQLFailure(.connectionLost, .readOnly(logDetail: detail), mayBeDone: false)
        // The connection was idle for longer than a server setting allows.
        case "25P03", "25P04", "57P05": SQLFailure(.connectionLost, .unavailable(logDetail: detail))
        // A cached plan from before a migration; a new connection creates new plans.
        case "0A000" where detail.contains("cached plan"):
            SQLFailure(.connectionLost, .unavailable(logDetail: detail), mayBeDone: false)
        case "53300", "53400": SQLFailure(.other, .crowded(logDetail: detail))
        case "53100": SQLFailure(.other, .full(logDetail: detail))
        case "42501": SQLFailure(.other, .denied(logDetail: detail))
        case "28000", "28P01", "3D000": SQLFailure(.other, .refused(logDetail: detail))
        case "26000", "42P05":
            SQLFailure(
                .connectionLost,
                .unavailable(
                    logDetail: detail + "; behind a pooler in transaction mode set prepared_statements=off"),
                mayBeDone: false)
        default: fromClass(of: state, detail: detail)
        }
    }

    private static func fromClass(of state: String, detail: String) -> SQLFailure {
        switch state.prefix(2) {
        case "08", "57": SQLFailure(.connectionLost, .unavailable(logDetail: detail))
        case "53", "58": SQLFailure(.other, .unavailable(logDetail: detail))
        case "XX" where state != "XX000": SQLFailure(.other, .corrupt(logDetail: detail))
        default: SQLFailure(.other, .internalFault(logDetail: detail))
        }
    }

    /// The failure for a connection that has ended.
    static func lost(_ detail: String) -> SQLFailure {
        SQLFailure(.connectionLost, .unavailable(logDetail: detail))
    }

    /// The failure to connect, which libpq reports only as text, with a sentence for each address that it tried.
    ///
    /// The text is used only to decide whether waiting may help; if the text is unknown, waiting may. If a host refused
    /// at one of its addresses (`localhost` has two), it counts as having refused, whatever happened at the others.
    static func connecting(_ words: String) -> SQLFailure {
        let detail = words.split(whereSeparator: \.isNewline).joined(separator: "; ")
        var refused: Set<Substring> = []
        var others: Set<Substring> = []
        var readOnly: Set<Substring> = []
        for attempt in words.split(separator: "connection to server at ") {
            let host = attempt.split(separator: "\"", maxSplits: 1).first ?? ""
            let isLasting =
                lasting.contains(where: attempt.contains) && !passing.contains(where: attempt.contains)
            if isLasting { refused.insert(host) } else { others.insert(host) }
            if readOnlyWords.contains(where: attempt.contains) { readOnly.insert(host) }
        }
        if !refused.isEmpty, others.isSubset(of: refused) {
            return SQLFailure(.other, .refused(logDetail: detail))
        }
        let error: StorageError =
            if crowdedWords.contains(where: detail.contains) {
                .crowded(logDetail: detail)
            } else if detail.contains("timeout expired") {
                .timeout(logDetail: detail)
            } else if !readOnly.isEmpty, others.isSubset(of: readOnly) {
                .readOnly(logDetail: detail)
            } else {
                .unavailable(logDetail: detail)
            }
        return SQLFailure(.connectionLost, error, mayBeDone: false)
    }

    private static let readOnlyWords = ["session is read-only", "server is in hot standby mode"]
    // The last entries are PgBouncer's messages.
    private static let crowdedWords = [
        "too many clients already", "too many connections for", "remaining connection slots are reserved",
        "no more connections allowed",
    ]
    private static let passing =
        crowdedWords + [
            "Connection refused", "timeout expired", "could not translate host name", "starting up",
            "shutting down", "in recovery", "read-only", "No such file or directory",
            "server closed the connection", "No route to host", "Network is unreachable", "reset by peer",
            "EOF detected", "closed unexpectedly", "SSL SYSCALL",
        ]
    private static let lasting = [
        "authentication failed", "does not exist", "no pg_hba.conf entry", "certificate", "SSL",
        "no password supplied", "invalid ", "permission denied for database",
        "is not permitted to log in",
    ]
}

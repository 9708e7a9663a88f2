internal import CSQLite
internal import Storage

/// The only place that maps SQLite's result codes to `StorageError`.
enum SQLiteError {
    /// The error for a call that has just failed on `handle`; SQLite keeps its message only until the next call.
    static func last(on handle: OpaquePointer?, doing action: String) -> StorageError {
        let code = unsafe sqlite3_extended_errcode(handle)
        let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "no message"
        return from(code: code, detail: "SQLite \(code) while \(action): \(message)")
    }

    /// The error for a result code.
    static func from(code: Int32, detail: String) -> StorageError {
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: .timeout(logDetail: detail)
        case SQLITE_FULL: .full(logDetail: detail)
        case SQLITE_READONLY: .readOnly(logDetail: detail)
        case SQLITE_CORRUPT: .corrupt(logDetail: detail)
        case SQLITE_NOTADB: .foreignDatabase(logDetail: detail)
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_INTERRUPT, SQLITE_PERM,
            SQLITE_AUTH, SQLITE_NOLFS:
            .unavailable(logDetail: detail)
        default: .internalFault(logDetail: detail)
        }
    }
}

/// All errors of storage drivers; each driver maps its own errors to these in one place.
///
/// `description` is a sentence that may be sent to a caller: it contains no SQL, path, host, secret or token.
/// `logDetail` is for the log: it adds the database's own message, without secrets, tokens or passwords.
package enum StorageError: Error, Hashable, Sendable {
    /// The database could not be reached or queried; nothing was changed.
    case unavailable(logDetail: String)
    /// The server or the account has no connection left for this process; nothing was changed.
    case crowded(logDetail: String)
    /// The database didn't answer or a lock wasn't released in time; nothing was changed.
    case timeout(logDetail: String)
    /// The connection ended, or the call timed out, before the database confirmed a change, which may have been made.
    case unconfirmed(logDetail: String)
    /// The database rejects this program's user, password, database name or certificate. The configuration must change.
    case refused(logDetail: String)
    /// A setting of the server, the account or a table keeps the relay from working. `logDetail` says which.
    case unsuitable(logDetail: String)
    /// The account lacks a privilege that the change needs.
    case denied(logDetail: String)
    /// The database has no space left; the change was not made.
    case full(logDetail: String)
    /// The database was opened only for reading, or is read-only. After a failover, or on another server, writing may
    /// work again.
    case readOnly(logDetail: String)
    /// Another process is this database's writer, and only one writer is allowed.
    case inUse(logDetail: String)
    /// The database's content is damaged, or wasn't written by this program.
    case corrupt(logDetail: String)
    /// The database's schema is newer than this program supports; a newer relay has used it.
    case schemaTooNew(found: Int, known: Int)
    /// The database's schema is older than this program needs, and it was opened without migrating.
    case schemaTooOld(found: Int, needed: Int)
    /// The database belongs to another program; nothing in it was changed.
    case foreignDatabase(logDetail: String)
    /// The database is the target of a copy that isn't finished; nothing in it was changed.
    case unfinishedCopy
    /// A value can't be stored unchanged: it is too long or contains a NUL. `field` is the model's property name.
    case invalidValue(field: String)
    /// `close()` has already been called.
    case closed
    /// The driver sent the database something invalid: a bug in this program.
    case internalFault(logDetail: String)

    /// A message for the log: `description`, followed by the database's own message in parentheses if there is one.
    package var logDetail: String {
        switch self {
        case .unavailable(let detail), .crowded(let detail), .timeout(let detail), .unconfirmed(let detail),
            .refused(let detail), .unsuitable(let detail), .denied(let detail),
            .full(let detail), .readOnly(let detail), .inUse(let detail), .corrupt(let detail),
            .foreignDatabase(let detail),
            .internalFault(let detail):
            "\(description) (\(detail))"
        case .schemaTooNew, .schemaTooOld, .unfinishedCopy, .invalidValue, .closed:
            description
        }
    }

    /// Whether the same call may succeed a little later without intervention.
    package var isTransient: Bool {
        switch self {
        case .unavailable, .crowded, .timeout, .unconfirmed, .readOnly: true
        case .refused, .unsuitable, .denied, .full, .inUse, .corrupt, .schemaTooNew, .schemaTooOld,
            .foreignDatabase, .unfinishedCopy, .invalidValue, .closed, .internalFault:
            false
        }
    }

    /// Whether the same call can succeed later, without intervention or once an operator has fixed the database.
    package var canBeCured: Bool {
        switch self {
        case .invalidValue, .closed: false
        case .unavailable, .crowded, .timeout, .unconfirmed, .refused, .unsuitable, .denied, .full, .readOnly,
            .inUse, .corrupt, .schemaTooNew, .schemaTooOld, .foreignDatabase, .unfinishedCopy, .internalFault:
            true
        }
    }
}

extension StorageError: CustomStringConvertible {
    /// A sentence that is safe to show to a caller.
    package var description: String {
        switch self {
        case .unavailable: "The database is unavailable."
        case .crowded: "The database server has no free connection for the relay."
        case .timeout: "The database did not answer in time."
        case .unconfirmed: "The database did not confirm the change; it may have been made."
        case .refused: "The relay can't connect to the database with the relay's current settings."
        case .unsuitable: "A setting of the database server prevents the relay from working."
        case .denied: "The database account lacks a required privilege."
        case .full: "The disk or the database is full."
        case .readOnly: "The database is read-only."
        case .inUse: "Another relay process is using this database file."
        case .corrupt: "The database contains data that can't be read."
        case .schemaTooNew(let found, let known):
            "The database's schema is version \(found); this program supports up to version \(known). "
                + "Use a newer relay."
        case .schemaTooOld(let found, let needed):
            "The database's schema is version \(found); this program needs version \(needed). "
                + "Run `relay migrate`."
        case .foreignDatabase: "The database belongs to another program or another build."
        case .unfinishedCopy:
            "The database contains an unfinished copy. Run `relay copy` again until it succeeds."
        case .invalidValue(let field): "The value of \(field) can't be stored."
        case .closed: "The database has been closed."
        case .internalFault: "The database refused one of the relay's statements."
        }
    }
}

/// Everything that can go wrong in a storage driver, mapped once in each driver.
///
/// `description` is a sentence that may be sent to a caller: it holds no SQL, path, host, secret or token.
/// `logDetail` is what the log keeps: the database's own words, never a secret, a token or a password.
package enum StorageError: Error, Hashable, Sendable {
    /// The database could not be reached or asked; nothing was changed, or it is not known whether it was.
    case unavailable(logDetail: String)
    /// The database did not answer, or a lock in it was not free, within its time.
    case timeout(logDetail: String)
    /// The database refuses this program: its user, its password, the database's name, a certificate. Nothing but a
    /// change of the configuration helps.
    case refused(logDetail: String)
    /// The database has no room left; what was asked for was not done.
    case full(logDetail: String)
    /// The database was opened for reading, or can only be read.
    case readOnly(logDetail: String)
    /// Another process is the writer of this database, and only one may be.
    case inUse(logDetail: String)
    /// What the database holds is damaged, or is nothing this program wrote.
    case corrupt(logDetail: String)
    /// The database's schema is newer than this program knows; a newer relay has used it.
    case schemaTooNew(found: Int, known: Int)
    /// The database's schema is older than this program needs, and the opener was not to change it.
    case schemaTooOld(found: Int, needed: Int)
    /// The database belongs to another program; nothing in it was changed.
    case foreignDatabase(logDetail: String)
    /// The database is the target of a copy that isn't finished; nothing in it was changed.
    case unfinishedCopy
    /// A value can't be kept as it is: too long, or with a NUL in it. `field` is the model's property name.
    case invalidValue(field: String)
    /// `close()` was called before.
    case closed
    /// The driver asked the database something it must not: a defect of the program.
    case internalFault(logDetail: String)

    /// The database's own words for the log; equal to `description` where there is nothing to add.
    package var logDetail: String {
        switch self {
        case .unavailable(let detail), .timeout(let detail), .refused(let detail), .full(let detail),
            .readOnly(let detail), .inUse(let detail), .corrupt(let detail), .foreignDatabase(let detail),
            .internalFault(let detail):
            "\(description) (\(detail))"
        case .schemaTooNew, .schemaTooOld, .unfinishedCopy, .invalidValue, .closed:
            description
        }
    }

    /// Whether the same call may succeed a little later without anybody's help.
    package var isTransient: Bool {
        switch self {
        case .unavailable, .timeout: true
        case .refused, .full, .readOnly, .inUse, .corrupt, .schemaTooNew, .schemaTooOld,
            .foreignDatabase, .unfinishedCopy, .invalidValue, .closed, .internalFault:
            false
        }
    }
}

extension StorageError: CustomStringConvertible {
    /// A sentence that is safe to show to a caller.
    package var description: String {
        switch self {
        case .unavailable: "The database is unavailable."
        case .timeout: "The database did not answer in time."
        case .refused: "The database refuses the relay."
        case .full: "The database has no room left."
        case .readOnly: "The database is open for reading only."
        case .inUse: "Another relay process is using this database file."
        case .corrupt: "The database holds something that can't be read."
        case .schemaTooNew(let found, let known):
            "The database's schema is version \(found); this program knows up to \(known). Use a newer relay."
        case .schemaTooOld(let found, let needed):
            "The database's schema is version \(found); this program needs \(needed). Run `relay migrate`."
        case .foreignDatabase: "The database belongs to another program."
        case .unfinishedCopy:
            "The database holds an unfinished copy. Run `relay copy` again until it succeeds."
        case .invalidValue(let field): "The value of \(field) can't be stored."
        case .closed: "The database has been closed."
        case .internalFault: "The database refused a statement of this program."
        }
    }
}

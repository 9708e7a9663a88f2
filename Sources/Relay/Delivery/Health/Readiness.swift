import Storage

/// The results of `/ready`'s checks; `nil` means no fault.
struct Readiness: Sendable, Equatable {
    /// The fault with the database, in one word.
    var storage: String?
    /// Why the database can't be written to, in one word.
    var write: String?
    /// The fault with the APNs credentials: a reason from APNs or from the relay.
    var apns: String?
    /// The fault with the queue, in one word.
    var queue: String?
    /// The fault with the clock, in one word.
    var clock: String?

    /// The database doesn't respond.
    static let unavailable = "unavailable"
    /// A push is overdue.
    static let overdue = "overdue"
    /// The clock differs from the database server's.
    static let differs = "differs"
    /// The check failed.
    static let unknown = "unknown"

    /// Why a database that responds can't be written to, in one word.
    static func word(for error: StorageError) -> String {
        switch error {
        case .full: "full"
        case .readOnly: "read_only"
        case .refused, .denied: "refused"
        case .timeout, .unconfirmed: "timeout"
        case .unavailable, .crowded, .unsuitable, .inUse, .corrupt, .schemaTooNew, .schemaTooOld,
            .foreignDatabase, .unfinishedCopy,
            .invalidValue, .closed, .internalFault:
            "failed"
        }
    }

    /// The checks by name, with their faults.
    var checks: [(name: String, fault: String?)] {
        [("storage", storage), ("write", write), ("apns", apns), ("queue", queue), ("clock", clock)]
    }

    /// Whether there is no fault.
    var isReady: Bool { checks.allSatisfy { $0.fault == nil } }
}

/// Why a statement failed: the error for the caller, and how the storage may recover.
package struct SQLFailure: Error, Hashable, Sendable {
    /// How to recover from a failure.
    package enum Kind: Hashable, Sendable {
        /// The connection was lost or couldn't be opened. The call may succeed on another connection.
        case connectionLost
        /// The server rolled back the transaction because of a conflict (deadlock, serialization failure); the whole
        /// transaction may be run again.
        case conflict
        /// A row with the same key exists.
        case duplicateKey
        /// The object that a `CREATE` or `ALTER` would add already exists.
        case alreadyExists
        /// No automatic recovery is possible; see `error`.
        case other
    }

    /// How to recover from the failure.
    package let kind: Kind
    /// The error for the caller; its detail never contains values of rows or parameters.
    package let error: StorageError
    /// Whether the change may have been made although no confirmation arrived.
    package var mayBeDone: Bool

    /// Creates a failure; by default, the change may have been made if the connection was lost, otherwise not.
    package init(_ kind: Kind, _ error: StorageError, mayBeDone: Bool? = nil) {
        self.kind = kind
        self.error = error
        self.mayBeDone = mayBeDone ?? (kind == .connectionLost)
    }

    /// The error for the caller of a change: `unconfirmed` if the change may have been made.
    var errorOfChange: StorageError { mayBeDone ? error.ofUnconfirmedChange : error }
}

extension StorageError {
    /// The error for the caller of a change that may have been made, but whose confirmation this failure prevented.
    var ofUnconfirmedChange: StorageError {
        .unconfirmed(logDetail: "a change was not confirmed: \(logDetail)")
    }
}

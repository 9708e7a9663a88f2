/// Why a statement failed: what the caller is told, and what the driver's callers may do about it.
package struct SQLFailure: Error, Hashable, Sendable {
    /// What may be done about a failure.
    package enum Kind: Hashable, Sendable {
        /// The connection has ended, or never began. Another one may do what this one couldn't.
        case connectionLost
        /// The server took the transaction back to end a conflict (a deadlock, a serialization failure): the whole
        /// of it may be run again.
        case conflict
        /// A row with the same key is there.
        case duplicateKey
        /// What a `CREATE` or `ALTER` would add is there.
        case alreadyExists
        /// Nothing helps but what `error` says.
        case other
    }

    /// What may be done about it.
    package let kind: Kind
    /// What the caller is told; its detail never has a value out of a row or a statement's parameters in it.
    package let error: StorageError
    /// Whether the change may have been made all the same: its answer was lost, not the statement.
    package var mayBeDone: Bool

    /// A failure; a lost connection may have done what it was asked, unless it is known otherwise.
    package init(_ kind: Kind, _ error: StorageError, mayBeDone: Bool? = nil) {
        self.kind = kind
        self.error = error
        self.mayBeDone = mayBeDone ?? (kind == .connectionLost)
    }
}

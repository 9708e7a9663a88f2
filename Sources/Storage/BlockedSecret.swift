/// A secret whose events and registrations are refused by all relays that use a database: a row of `blocked_secret`.
package struct BlockedSecret: Hashable, Sendable {
    /// The hash that is blocked.
    package let secretHash: SecretHash
    /// When it was blocked.
    package let createdAt: EpochMilliseconds
    /// The operator's note.
    package let note: String?

    /// Creates a blocked secret from its columns.
    package init(secretHash: SecretHash, createdAt: EpochMilliseconds, note: String? = nil) {
        self.secretHash = secretHash
        self.createdAt = createdAt
        self.note = note
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(note ?? "", field: "note", bytes: StorageLimits.blockNoteBytes)
    }
}

/// The result of blocking a secret.
package enum BlockResult: Hashable, Sendable {
    /// The secret is blocked from now on.
    case blocked
    /// The secret was already blocked; the stored row is unchanged.
    case alreadyBlocked(BlockedSecret)
    /// The maximum number of secrets is already blocked; nothing was stored.
    case limitReached
}

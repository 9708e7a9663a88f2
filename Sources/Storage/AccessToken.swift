/// What the holder of an access token may do.
package enum AccessTokenScope: String, CaseIterable, Sendable {
    /// Send events and notifications.
    case send
    /// List devices, history and schedules, and wait for replies.
    case read
    /// Acknowledge events and reply to them.
    case reply
}

/// A token that admits its holder to one part of what the secret admits to, as stored in `access_token`.
///
/// Only the token's digest is stored. Two rows have it: one under the secret's hash, by which the tenant lists and
/// revokes it, and one under the digest, by which a request with the token finds the tenant. So the token is random and
/// reveals nothing about the secret, and both look-ups name one `secret_hash`.
package struct AccessToken: Hashable, Sendable {
    /// Its name in lists.
    package let id: UUIDv7
    /// The digest of the token.
    package let digest: Digest256
    /// The hash of the secret that it belongs to.
    package let secretHash: SecretHash
    /// What its holder may do.
    package let scope: AccessTokenScope
    /// The tenant's name for it.
    package let name: String
    /// When it was created.
    package let createdAt: EpochMilliseconds
    /// When it expires; nil if it doesn't.
    package let expiresAt: EpochMilliseconds?
    /// When it was last used, accurate to a minute; nil if it wasn't.
    package let usedAt: EpochMilliseconds?

    /// Creates a token from its parts.
    package init(
        id: UUIDv7, digest: Digest256, secretHash: SecretHash, scope: AccessTokenScope, name: String,
        createdAt: EpochMilliseconds, expiresAt: EpochMilliseconds? = nil, usedAt: EpochMilliseconds? = nil
    ) {
        self.id = id
        self.digest = digest
        self.secretHash = secretHash
        self.scope = scope
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.usedAt = usedAt
    }

    /// Whether it still admits at a time.
    package func isValid(at now: EpochMilliseconds) -> Bool { expiresAt.map { now < $0 } ?? true }

    func validate() throws(StorageError) {
        try StorageText.check(name, field: "name", bytes: StorageLimits.accessTokenNameBytes)
    }
}

/// The result of storing an access token.
package enum AccessTokenCreation: Hashable, Sendable {
    case created
    /// The secret has as many tokens as allowed.
    case limitReached
    /// The secret has no device.
    case noDevices
}

/// What the holder of an access token may do.
package enum AccessTokenScope: String, CaseIterable, Sendable {
    /// Send events and notifications.
    case send
    /// List devices, history and schedules, and wait for replies.
    case read
    /// Acknowledge events and reply to them.
    case reply
}

/// A token that grants its holder part of the access that the secret grants, as stored in `access_token`.
///
/// Only the token's digest is stored, in two rows: one under the secret's hash, by which the tenant lists and revokes
/// the token, and one under the digest, by which a request with the token finds the tenant. So the token can be random
/// and reveal nothing about the secret, and each look-up uses a single `secret_hash`.
package struct AccessToken: Hashable, Sendable {
    /// The ID that identifies the token in lists.
    package let id: UUIDv7
    /// The digest of the token.
    package let digest: Digest256
    /// The hash of the secret that the token belongs to.
    package let secretHash: SecretHash
    /// What the token's holder may do.
    package let scope: AccessTokenScope
    /// The name that the tenant gave the token.
    package let name: String
    /// When the token was created.
    package let createdAt: EpochMilliseconds
    /// When the token expires; nil if it doesn't.
    package let expiresAt: EpochMilliseconds?
    /// When the token was last used, accurate to a minute; nil if it has never been used.
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

    /// Whether the token is still valid at the given time.
    package func isValid(at now: EpochMilliseconds) -> Bool { expiresAt.map { now < $0 } ?? true }

    func validate() throws(StorageError) {
        try StorageText.check(name, field: "name", bytes: StorageLimits.accessTokenNameBytes)
    }
}

/// The result of storing an access token.
package enum AccessTokenCreation: Hashable, Sendable {
    case created
    /// The secret already has the maximum number of tokens.
    case limitReached
    /// The secret has no device.
    case noDevices
}

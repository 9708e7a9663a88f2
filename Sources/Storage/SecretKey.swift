/// What a tenant's rows are found by: a digest of its secret, 64 lower-case hexadecimal characters in the tables.
///
/// Its description is a prefix, enough to follow one tenant through a log and too little to find its rows.
package struct SecretHash: Hashable, Sendable, CustomStringConvertible {
    /// How many characters of the hash a log line shows.
    package static let prefixCount = 12

    /// The digest.
    package let digest: Digest256

    /// A hash that was computed before.
    package init(_ digest: Digest256) {
        self.digest = digest
    }

    /// The hash that a column's text stands for; nil unless it is 64 lower-case hexadecimal characters.
    package init?(hex: some StringProtocol) {
        guard let digest = Digest256(hex: hex.utf8) else { return nil }
        self.digest = digest
    }

    /// The text in the tables.
    package var hex: String { digest.hex }

    /// The first 12 characters, for logs.
    package var prefix: String { String(hex.prefix(Self.prefixCount)) }

    /// The first 12 characters and an ellipsis.
    package var description: String { prefix + "…" }
}

/// The hashes under which one secret's rows may be kept.
///
/// Every call that reads or changes a tenant's rows takes one. Drivers match rows under either hash, write under
/// `primary` alone, and move what they find under `legacy` to `primary` when the secret next registers a device.
package struct SecretKey: Hashable, Sendable, CustomStringConvertible {
    /// The hash that new rows get.
    package let primary: SecretHash
    /// The hash of rows from before the pepper was set; nil when there is no pepper.
    package let legacy: SecretHash?

    /// A key of its parts; use `SecretHasher` to make one from a secret.
    package init(primary: SecretHash, legacy: SecretHash? = nil) {
        self.primary = primary
        self.legacy = legacy == primary ? nil : legacy
    }

    /// The primary hash's prefix.
    package var description: String { primary.description }
}

/// Turns secrets into the keys of their rows.
///
/// Without a pepper the hash is SHA-256 of the secret's bytes, which is what existing installations hold. With one it
/// is HMAC-SHA-256 under the pepper (RFC 2104), and the plain hash becomes the legacy one.
package struct SecretHasher: Sendable {
    /// The fewest bytes a pepper may have.
    package static let pepperBytesMin = 32

    private let pepper: Secret?

    /// A hasher without a pepper.
    package init() {
        pepper = nil
    }

    /// A hasher with a pepper; nil when it has fewer than 32 bytes.
    package init?(pepper: Secret) {
        guard pepper.bytes.count >= Self.pepperBytesMin else { return nil }
        self.pepper = pepper
    }

    /// The key of a secret's rows.
    package func key(of secret: Secret) -> SecretKey {
        let plain = SecretHash(Digest256(of: secret.bytes))
        guard let pepper else { return SecretKey(primary: plain) }
        let peppered = SecretHash(Digest256(of: secret.bytes, authenticatedBy: pepper.bytes))
        return SecretKey(primary: peppered, legacy: plain)
    }
}

/// Identifies a tenant's rows: a digest of its secret, stored as 64 lower-case hexadecimal characters.
///
/// Its description is a prefix that is long enough to follow a tenant through a log and too short to find the tenant's
/// rows.
package struct SecretHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// How many characters of the hash a log line shows.
    package static let prefixCount = 12

    /// The digest.
    package let digest: Digest256

    /// Creates a hash from an existing digest.
    package init(_ digest: Digest256) {
        self.digest = digest
    }

    /// Parses a column's text; nil unless it is 64 lower-case hexadecimal characters.
    package init?(hex: some StringProtocol) {
        guard let digest = Digest256(hex: hex.utf8) else { return nil }
        self.digest = digest
    }

    /// Orders hashes in the same way as their text in the tables.
    package static func < (left: SecretHash, right: SecretHash) -> Bool { left.digest < right.digest }

    /// The hash as stored in the tables.
    package var hex: String { digest.hex }

    /// The part of a table that contains the hash's rows, determined by the hash's first bits; workers of different
    /// relays start at different parts.
    package var bucket: Int {
        Int(digest.words[0] >> (64 - UInt64(StorageLimits.buckets.trailingZeroBitCount)))
    }

    /// The first 12 characters, for logs.
    package var prefix: String { String(hex.prefix(Self.prefixCount)) }

    /// The first 12 characters and an ellipsis.
    package var description: String { prefix + "…" }
}

/// The hashes under which one secret's rows may be stored.
///
/// Every call that reads or changes a tenant's rows takes a key. Drivers match rows under each hash and write only
/// under `primary`. They move rows from `legacy` hashes to `primary` on request (`Storage.rehash`) and when the secret
/// next registers a device.
package struct SecretKey: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of hashes besides the primary one.
    package static let legacyMax = 2

    /// The hash under which new rows are stored.
    package let primary: SecretHash
    // Stored inline, because a key is copied for every call.
    private let firstLegacy: SecretHash?
    private let secondLegacy: SecretHash?

    /// Creates a key from its parts; use `SecretHasher` to create one from a secret.
    package init(primary: SecretHash, legacy: [SecretHash] = []) {
        precondition(legacy.count <= Self.legacyMax, "a key has few hashes")
        self.primary = primary
        let others = legacy.filter { $0 != primary }
        firstLegacy = others.first
        secondLegacy = others.count > 1 ? others[1] : nil
    }

    /// The other hashes under which rows may be stored, for example because they were stored before the pepper was set
    /// or changed, in order of precedence.
    package var legacy: [SecretHash] { [firstLegacy, secondLegacy].compactMap(\.self) }

    /// Whether there may be rows under a hash other than the primary one.
    package var hasLegacy: Bool { firstLegacy != nil }

    /// All of the key's hashes, in order of precedence.
    package var hashes: [SecretHash] { [primary] + legacy }

    /// The key's hashes, padded by repetition to the same number for every key, for a statement that matches any of
    /// them.
    package var hashesPadded: [SecretHash] {
        hashes + Array(repeating: primary, count: Self.legacyMax - legacy.count)
    }

    /// The secret's devices, one row per token, in the order in which they first registered.
    package func ordered(_ devices: [Device]) -> [Device] {
        guard devices.count > 1 else { return devices }
        return once(devices).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// The secret's devices, one row per token: the row whose hash has the highest precedence.
    package func once(_ devices: [Device]) -> [Device] {
        guard hasLegacy, devices.count > 1 else { return devices }
        // Compared by bytes, because Swift treats canonically equivalent strings as equal.
        var seen: Set<[UInt8]> = []
        return hashes.flatMap { hash in
            devices.filter { $0.secretHash == hash && seen.insert(Array($0.token.utf8)).inserted }
        }
    }

    /// The primary hash's prefix.
    package var description: String { primary.description }
}

/// Computes the keys for secrets' rows.
///
/// Without a pepper the hash is the SHA-256 of the secret's bytes, as in existing deployments. With a pepper it is
/// HMAC-SHA-256 (RFC 2104), and the plain hash becomes a legacy hash, as does the hash under a former or future pepper.
package struct SecretHasher: Sendable {
    /// The minimum length of a pepper in bytes.
    package static let pepperBytesMin = 32

    private let pepper: Secret?
    private let otherPepper: Secret?

    /// Creates a hasher without a pepper.
    package init() {
        pepper = nil
        otherPepper = nil
    }

    /// Creates a hasher with a pepper, or without one; nil if a pepper has fewer than 32 bytes.
    ///
    /// - Parameter other: Another pepper under which rows may be stored.
    package init?(pepper: Secret?, other: Secret? = nil) {
        for pepper in [pepper, other].compactMap(\.self) {
            guard pepper.bytes.count >= Self.pepperBytesMin else { return nil }
        }
        self.pepper = pepper
        otherPepper = other == pepper ? nil : other
    }

    /// Keys for another purpose, one per pepper, starting with the pepper for new rows; none without a pepper.
    ///
    /// They reveal nothing about the peppers or keys for other purposes.
    package func keys(for purpose: String) -> [Secret] {
        [pepper, otherPepper].compactMap(\.self).map { pepper in
            Secret(Digest256(of: Array(purpose.utf8), authenticatedBy: pepper.bytes).hex)
        }
    }

    /// The key for a secret's rows.
    package func key(of secret: Secret) -> SecretKey {
        let plain = SecretHash(Digest256(of: secret.bytes))
        guard pepper != nil || otherPepper != nil else { return SecretKey(primary: plain) }
        let hashes = [pepper, otherPepper].map { pepper in
            pepper.map { SecretHash(Digest256(of: secret.bytes, authenticatedBy: $0.bytes)) }
        }
        guard let primary = hashes[0] else {
            return SecretKey(primary: plain, legacy: hashes.compactMap(\.self))
        }
        return SecretKey(primary: primary, legacy: hashes.dropFirst().compactMap(\.self) + [plain])
    }
}

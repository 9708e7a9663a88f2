/// Access tokens, which grant their holders part of the access that a secret grants.
extension SQLSession {
    func create(
        _ token: AccessToken, _ key: SecretKey, limit: Int
    ) throws(SQLFailure) -> AccessTokenCreation {
        // A token refers to one hash: the hash under which the secret's devices are stored.
        if key.hasLegacy { _ = try rehash(key) }
        // Checked before locking, because locking leaves a lock row even for an unknown secret.
        guard try hasDevice(key) else { return .noDevices }
        return try transaction { () throws(SQLFailure) in
            try lock(key.primary)
            guard try hasDevice(key) else { return .noDevices }
            let stored = try count(
                "SELECT count(*) FROM access_token WHERE secret_hash = ?", [.hash(key.primary)])
            guard stored < limit || isRepeated else { return .limitReached }
            try insert(token, under: key.primary, of: key.primary)
            try insert(token, under: token.place, of: key.primary)
            return .created
        }
    }

    func accessToken(_ digest: Digest256) throws(SQLFailure) -> AccessToken? {
        try accessTokens("secret_hash = ? AND token_hash = ?", [.digest(digest), .digest(digest)]).first
    }

    func accessTokens(of key: SecretKey, limit: Int) throws(SQLFailure) -> [AccessToken] {
        try accessTokens(
            "secret_hash IN (\(SQLStatements.anyHash)) ORDER BY created_at, token_hash LIMIT ?",
            .anyHash(of: key) + [.limit(limit)])
    }

    func revokeAccessToken(_ id: UUIDv7, _ key: SecretKey) throws(SQLFailure) -> Bool {
        try removeAccessTokens(
            "secret_hash IN (\(SQLStatements.anyHash)) AND id = ?", .anyHash(of: key) + [.text(id.text)]) > 0
    }

    /// Removes all of a secret's tokens and returns how many there were.
    func removeAccessTokens(of hashes: [SecretHash]) throws(SQLFailure) -> Int {
        var removed = 0
        for hash in hashes { removed += try removeAccessTokens("secret_hash = ?", [.hash(hash)]) }
        return removed
    }

    func noteUse(of token: AccessToken, at now: EpochMilliseconds) throws(SQLFailure) {
        _ = try execute(
            "UPDATE access_token SET used_at = ? WHERE secret_hash IN (?, ?) AND token_hash = ?",
            [.integer(now), .hash(token.secretHash), .hash(token.place), .digest(token.digest)])
    }

    /// Moves a secret's tokens to another hash; within a transaction.
    func moveAccessTokens(from old: SecretHash, to new: SecretHash) throws(SQLFailure) {
        let found = try accessTokens("secret_hash = ?\(statements.lockRows)", [.hash(old)])
        guard !found.isEmpty else { return }
        _ = try execute("DELETE FROM access_token WHERE secret_hash = ?", [.hash(old)])
        for token in found {
            try insert(token, under: new, of: new)
            _ = try execute(
                "UPDATE access_token SET tenant_hash = ? WHERE secret_hash = ? AND token_hash = ?",
                [.hash(new), .hash(token.place), .digest(token.digest)])
        }
    }

    private static let accessTokenColumns =
        "secret_hash, token_hash, tenant_hash, id, scope, name, created_at, expires_at, used_at"

    private func insert(
        _ token: AccessToken, under hash: SecretHash, of tenant: SecretHash
    ) throws(SQLFailure) {
        func optional(_ time: EpochMilliseconds?) -> SQLValue { time.map { .integer($0) } ?? .null }
        _ = try execute(
            dialect.insertUnlessPresent(
                "INTO access_token (\(Self.accessTokenColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
            [
                .hash(hash), .digest(token.digest), .hash(tenant), .text(token.id.text),
                .text(token.scope.rawValue), .text(token.name), .integer(token.createdAt),
                optional(token.expiresAt), optional(token.usedAt),
            ])
    }

    /// The tokens in the matching rows; rows that a newer version wrote and this one can't read are left out.
    private func accessTokens(_ condition: String, _ values: [SQLValue]) throws(SQLFailure) -> [AccessToken] {
        var found: [AccessToken] = []
        try query("SELECT \(Self.accessTokenColumns) FROM access_token WHERE \(condition)", values) {
            row throws(SQLFailure) in
            guard let scope = AccessTokenScope(rawValue: try row.text(4)), let id = UUIDv7(try row.text(3))
            else { return }
            func optional(_ column: Int) throws(SQLFailure) -> EpochMilliseconds? {
                row.isNull(column) ? nil : try row.integer(column)
            }
            found.append(
                AccessToken(
                    id: id, digest: try row.hash(1).digest, secretHash: try row.hash(2), scope: scope,
                    name: try row.text(5), createdAt: try row.integer(6), expiresAt: try optional(7),
                    usedAt: try optional(8)))
        }
        return found
    }

    /// Removes rows under a secret's hash and the same tokens' rows under their digests.
    ///
    /// The rows under the digests are removed first: without them the tokens no longer work, even where an engine
    /// commits its shards one by one.
    private func removeAccessTokens(_ condition: String, _ values: [SQLValue]) throws(SQLFailure) -> Int {
        try transaction { () throws(SQLFailure) in
            let digests = try rows(
                "SELECT token_hash FROM access_token WHERE \(condition) ORDER BY token_hash", values)
            for digest in digests {
                _ = try execute(
                    "DELETE FROM access_token WHERE secret_hash = ? AND token_hash = ?",
                    [digest[0], digest[0]])
            }
            guard !digests.isEmpty else { return 0 }
            return try execute("DELETE FROM access_token WHERE \(condition)", values)
        }
    }
}

extension AccessToken {
    /// The hash under which a request's token is looked up.
    fileprivate var place: SecretHash { SecretHash(digest) }
}

extension SQLValue {
    fileprivate static func digest(_ digest: Digest256) -> SQLValue { .text(digest.hex) }
}

extension SQLStorage {
    package func create(
        _ token: AccessToken, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> AccessTokenCreation {
        try token.validate()
        return try await writeDevices(of: key) { session throws(SQLFailure) in
            try session.create(token, key, limit: limit)
        }
    }

    package func accessToken(_ digest: Digest256) async throws(StorageError) -> AccessToken? {
        try await read { session throws(SQLFailure) in try session.accessToken(digest) }
    }

    package func accessTokens(of key: SecretKey, limit: Int) async throws(StorageError) -> [AccessToken] {
        try await read { session throws(SQLFailure) in try session.accessTokens(of: key, limit: limit) }
    }

    package func revokeAccessToken(_ id: UUIDv7, of key: SecretKey) async throws(StorageError) -> Bool {
        try await write { session throws(SQLFailure) in try session.revokeAccessToken(id, key) }
    }

    package func noteUse(of token: AccessToken, at now: EpochMilliseconds) async throws(StorageError) {
        try await write { session throws(SQLFailure) in try session.noteUse(of: token, at: now) }
    }
}

extension SQLStorage {
    package func block(_ secret: BlockedSecret, limit: Int) async throws(StorageError) -> BlockResult {
        try secret.validate()
        return try await write { session throws(SQLFailure) in try session.block(secret, limit: limit) }
    }

    package func unblock(_ hash: SecretHash) async throws(StorageError) -> Bool {
        try await write { session throws(SQLFailure) in try session.unblock(hash) }
    }

    package func blockedSecrets(limit: Int) async throws(StorageError) -> [BlockedSecret] {
        try await read { session throws(SQLFailure) in try session.blockedSecrets(limit: limit) }
    }

    package func hashes(
        beginningWith prefix: SecretHashPrefix, in scope: SecretHashScope, limit: Int
    ) async throws(StorageError) -> [SecretHash] {
        try await read { session throws(SQLFailure) in
            try session.hashes(beginningWith: prefix, in: scope, limit: limit)
        }
    }

    package func tenants(
        after start: String, before end: String, limit: Int
    ) async throws(StorageError) -> TenantPage {
        try await read { session throws(SQLFailure) in
            try session.tenants(after: start, before: end, limit: limit)
        }
    }

    package func waitingPushes(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) async throws(StorageError) -> [WaitingPush] {
        try await read { session throws(SQLFailure) in
            try session.waitingPushes(of: hash, after: cursor, limit: limit)
        }
    }
}

/// When agents last used secrets.
extension SQLSession {
    func note(_ uses: [(use: AgentUse, key: SecretKey)]) throws(SQLFailure) {
        try transaction { () throws(SQLFailure) in
            // All calls use the same order, so that concurrent calls don't deadlock.
            for (use, key) in uses.sorted(by: { $0.key.primary < $1.key.primary }) {
                // The secret is locked, so that no use is stored after the secret's last device is removed.
                guard try hasDevice(key) else { continue }
                try lock(key.primary)
                guard try hasDevice(key) else { continue }
                let time = SQLValue.integer(use.usedAt)
                let changed = try execute(
                    """
                    UPDATE agent_use SET used_at = ?, client = coalesce(?, client)
                    WHERE secret_hash = ? AND (used_at < ? OR used_at > ?)
                    """,
                    [
                        time, .text(use.client), .hash(key.primary), time,
                        // Only a relay whose clock was ahead can have stored such a time.
                        .integer(use.usedAt + StorageLimits.clockSkewMax),
                    ])
                guard changed == 0 else { continue }
                _ = try execute(
                    dialect.insertUnlessPresent(
                        "INTO agent_use (secret_hash, used_at, client) VALUES (?, ?, ?)"),
                    [.hash(key.primary), time, .text(use.client)])
            }
        }
    }

    func agentUse(of key: SecretKey) throws(SQLFailure) -> AgentUse? {
        var found: AgentUse?
        try query(
            """
            SELECT used_at, client FROM agent_use WHERE secret_hash IN (\(SQLStatements.anyHash))
            ORDER BY used_at DESC LIMIT 1
            """, .anyHash(of: key)
        ) { row throws(SQLFailure) in
            found = AgentUse(usedAt: try row.integer(0), client: try row.optionalText(1))
        }
        return found
    }

    /// Whether a secret has a device, under any of its hashes.
    func hasDevice(_ key: SecretKey) throws(SQLFailure) -> Bool {
        try integer(
            "SELECT created_at FROM device_registration WHERE secret_hash IN (\(SQLStatements.anyHash)) LIMIT 1",
            .anyHash(of: key)) != nil
    }
}

extension SQLStorage {
    package func note(_ uses: [(use: AgentUse, key: SecretKey)]) async throws(StorageError) {
        for part in parts(of: uses, by: \.key.primary) {
            try await write { session throws(SQLFailure) in try session.note(part) }
        }
    }

    package func agentUse(
        of key: SecretKey, deliveries: Int
    ) async throws(StorageError) -> (use: AgentUse?, deliveries: [Delivery]) {
        try await read { session throws(SQLFailure) in
            (try session.agentUse(of: key), try session.deliveries(of: key, before: nil, limit: deliveries))
        }
    }
}

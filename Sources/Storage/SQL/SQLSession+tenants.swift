// Inspection and changes by operators. Each statement reads a bounded number of rows along an index. Invalid hashes,
// written by other programs, are skipped.

// MARK: - Blocked secrets

extension SQLSession {
    func block(_ secret: BlockedSecret, limit: Int) throws(SQLFailure) -> BlockResult {
        try transaction { () throws(SQLFailure) in
            // Blocks are stored one at a time, so that the limit can't be exceeded.
            try lock(Self.blockLock)
            return try blockAlone(secret, limit: limit)
        }
    }

    /// The key of the `secret_lock` row that is locked while a secret is blocked; no secret has this hash.
    private static var blockLock: SecretHash { SecretHash(Digest256(of: Array("blocked_secret".utf8))) }

    private func blockAlone(_ secret: BlockedSecret, limit: Int) throws(SQLFailure) -> BlockResult {
        let found = try rows(
            "SELECT secret_hash, created_at, note FROM blocked_secret WHERE secret_hash = ?",
            [.hash(secret.secretHash)])
        if let stored = found.compactMap(Self.blocked).first {
            // A call repeated after a lost connection finds its own row.
            return stored == secret ? .blocked : .alreadyBlocked(stored)
        }
        guard try count("SELECT count(*) FROM blocked_secret", []) < limit else { return .limitReached }
        _ = try execute(
            dialect.insertUnlessPresent(
                "INTO blocked_secret (secret_hash, created_at, note) VALUES (?, ?, ?)"),
            [.hash(secret.secretHash), .integer(secret.createdAt), .text(secret.note)])
        return .blocked
    }

    func unblock(_ hash: SecretHash) throws(SQLFailure) -> Bool {
        try execute("DELETE FROM blocked_secret WHERE secret_hash = ?", [.hash(hash)]) > 0
    }

    func blockedSecrets(limit: Int) throws(SQLFailure) -> [BlockedSecret] {
        try rows(
            "SELECT secret_hash, created_at, note FROM blocked_secret ORDER BY secret_hash LIMIT ?",
            [.limit(limit)]
        ).compactMap(Self.blocked)
    }

    /// Moves a block from a legacy hash to the primary one, within a transaction; false if there was none.
    @discardableResult
    func moveBlock(from legacy: SecretHash, to primary: SecretHash) throws(SQLFailure) -> Bool {
        // Read separately: an insert that selects from its own table makes MySQL copy the rows.
        let found = try rows(
            "SELECT secret_hash, created_at, note FROM blocked_secret WHERE secret_hash = ?",
            [.hash(legacy)])
        guard let row = found.first else { return false }
        _ = try execute(
            dialect.insertUnlessPresent(
                "INTO blocked_secret (secret_hash, created_at, note) VALUES (?, ?, ?)"),
            [.hash(primary), row[1], row[2]])
        return try unblock(legacy)
    }

    private static func blocked(_ row: [SQLValue]) -> BlockedSecret? {
        guard let hash = row[0].text.flatMap({ SecretHash(hex: $0) }) else { return nil }
        return BlockedSecret(secretHash: hash, createdAt: row[1].integer ?? 0, note: row[2].text)
    }
}

// MARK: - Looking

extension SQLSession {
    /// Finds hashes with one look-up per table and hash, however many rows a hash has.
    func hashes(
        beginningWith prefix: SecretHashPrefix, in scope: SecretHashScope, limit: Int
    ) throws(SQLFailure) -> [SecretHash] {
        var found: Set<String> = []
        for table in scope.tables {
            var start = prefix.digits
            for _ in 0..<limit {
                let rows = try rows(
                    """
                    SELECT secret_hash FROM \(table) WHERE secret_hash >= ? AND secret_hash < ?
                    ORDER BY secret_hash LIMIT 1
                    """, [.text(start), .text(prefix.end)])
                guard let text = rows.first?[0].text else { break }
                found.insert(text)
                // Sorts after this hash and before any other.
                start = text + "0"
            }
        }
        return Array(found.sorted().compactMap { SecretHash(hex: $0) }.prefix(limit))
    }

    func tenants(
        after start: String, before end: String, limit: Int
    ) throws(SQLFailure) -> TenantPage {
        let parameters: [SQLValue] = [.text(start), .text(end), .integer(Int64(max(limit, 1)))]
        let devices = try rows(
            Self.grouped("device_registration", newest: "max(updated_at)"), parameters)
        let pushes = try rows(Self.grouped("pending_push", newest: "0"), parameters)
        // Rows of one table beyond the end of the other table's page belong to the next page.
        let full = [devices, pushes].filter { $0.count >= limit }.compactMap { $0.last?[0].text }
        let last = full.min()
        var tenants: [String: Tenant] = [:]
        for (rows, areDevices) in [(devices, true), (pushes, false)] {
            for row in rows {
                guard let text = row[0].text, let hash = SecretHash(hex: text) else { continue }
                if let last, text > last { continue }
                var tenant = tenants[text] ?? Tenant(secretHash: hash)
                tenant.deliveredAt = row[3].integer
                if areDevices {
                    tenant.devices = Int(row[1].integer ?? 0)
                    tenant.deviceUpdatedAt = row[2].integer
                } else {
                    tenant.waiting = Int(row[1].integer ?? 0)
                }
                tenants[text] = tenant
            }
        }
        return TenantPage(tenants: tenants.sorted { $0.key < $1.key }.map(\.value), next: last)
    }

    /// Selects a page of secrets, each with its number of rows and its newest log row's time.
    private static func grouped(_ table: String, newest: String) -> String {
        """
        SELECT found.secret_hash, found.number, found.newest,
            (SELECT log.created_at FROM delivery_log log WHERE log.secret_hash = found.secret_hash
             ORDER BY log.created_at DESC LIMIT 1)
        FROM (SELECT secret_hash, count(*) AS number, \(newest) AS newest FROM \(table)
              WHERE secret_hash > ? AND secret_hash < ?
              GROUP BY secret_hash ORDER BY secret_hash LIMIT ?) found
        ORDER BY found.secret_hash
        """
    }

    func waitingPushes(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) throws(SQLFailure) -> [WaitingPush] {
        let due = cursor?.dueAt ?? .min
        let place: [SQLValue] = [
            .integer(due), .integer(due), .integer(due), .text(cursor?.secretHash.hex ?? ""),
            .text(cursor?.secretHash.hex ?? ""), .text(cursor?.id ?? ""),
            .limit(limit),
        ]
        // The first bound on due_at is redundant, but lets the engine start reading the index there.
        let rows = try rows(
            """
            SELECT secret_hash, id, device_id, event_type, attempts, due_at, lease_owner, created_at, expires_at
            FROM pending_push
            WHERE \(hash == nil ? "" : "secret_hash = ? AND ")due_at >= ? AND (due_at > ? OR (due_at = ?
                AND (secret_hash > ? OR (secret_hash = ? AND id > ?))))
            ORDER BY due_at, secret_hash, id LIMIT ?
            """, (hash.map { [.hash($0)] } ?? []) + place)
        return rows.compactMap { row in
            guard let hash = row[0].text.flatMap({ SecretHash(hex: $0) }), let id = row[1].text else {
                return nil
            }
            return WaitingPush(
                secretHash: hash, id: id, deviceID: row[2].text ?? "", eventType: row[3].text ?? "",
                attempts: Int(row[4].integer ?? 0), dueAt: row[5].integer ?? 0, isLeased: row[6] != .null,
                createdAt: row[7].integer ?? 0, expiresAt: row[8].integer ?? 0)
        }
    }
}

extension SQLValue {
    /// The value, if it is an integer.
    fileprivate var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The value, if it is text.
    fileprivate var text: String? {
        if case .text(let value) = self { value } else { nil }
    }
}

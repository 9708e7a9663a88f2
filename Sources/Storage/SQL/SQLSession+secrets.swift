/// A secret's rows in all tables, and the database's totals.
extension SQLSession {
    func holdings(of key: SecretKey) throws(SQLFailure) -> Holdings {
        var all = Holdings()
        for hash in key.hashes {
            func count(_ table: String) throws(SQLFailure) -> Int {
                try self.count("SELECT count(*) FROM \(table) WHERE secret_hash = ?", [.hash(hash)])
            }
            all += Holdings(
                devices: try count("device_registration"), pushes: try count("pending_push"),
                receipts: try count("event_receipt"), history: try count("history_item"),
                schedules: try count("schedule"), replies: try count("event_reply"),
                tokens: try count("push_token"), agents: try count("agent_use"),
                accessTokens: try count("access_token"))
        }
        return all
    }

    func revoke(_ key: SecretKey, limit: Int) throws(SQLFailure) -> Holdings {
        try transaction { () throws(SQLFailure) in
            // Locked, so that a call that still saw a device can't store a schedule or token.
            try lock(key.hashes)
            var removed = Holdings()
            for hash in key.hashes {
                let values: [SQLValue] = [.hash(hash), .limit(limit)]
                removed += Holdings(
                    devices: try execute(statements.revokeDevices, values),
                    pushes: try execute(statements.revokePushes, values),
                    receipts: try execute(statements.revokeReceipts, values),
                    history: try execute(statements.revokeHistory, values),
                    schedules: try execute(statements.revokeSchedules, values),
                    replies: try execute(statements.revokeReplies, values),
                    tokens: try execute(statements.revokeTokens, values),
                    agents: try execute("DELETE FROM agent_use WHERE secret_hash = ?", [.hash(hash)]),
                    accessTokens: try removeAccessTokens(of: [hash]))
            }
            return removed
        }
    }

    func census(ofShare share: UInt8) throws(SQLFailure) -> Census {
        let bounds = Census.bounds(ofShare: share)
        let values: [SQLValue] = [.text(bounds.from), .text(bounds.before)]
        var census = Census()
        try query(
            """
            SELECT count(*), count(DISTINCT secret_hash) FROM device_registration
            WHERE secret_hash >= ? AND secret_hash < ?
            """, values
        ) { row throws(SQLFailure) in
            census = Census(secrets: Int(try row.integer(1)), devices: Int(try row.integer(0)))
        }
        let waiting = "SELECT count(*) FROM pending_push WHERE secret_hash >= ? AND secret_hash < ?"
        census.waiting = try count(waiting, values)
        return census
    }
}

/// A secret's rows in all tables, and totals of the database.
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
                schedules: try count("schedule"))
        }
        return all
    }

    func revoke(_ key: SecretKey, limit: Int) throws(SQLFailure) -> Holdings {
        try transaction { () throws(SQLFailure) in
            var removed = Holdings()
            for hash in key.hashes {
                let values: [SQLValue] = [.hash(hash), .limit(limit)]
                removed += Holdings(
                    devices: try execute(statements.revokeDevices, values),
                    pushes: try execute(statements.revokePushes, values),
                    receipts: try execute(statements.revokeReceipts, values),
                    history: try execute(statements.revokeHistory, values),
                    schedules: try execute(statements.revokeSchedules, values))
                // Few rows, which go uncounted with the devices.
                for table in ["agent_use", "event_reply", "push_token"] {
                    _ = try execute("DELETE FROM \(table) WHERE secret_hash = ?", [.hash(hash)])
                }
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

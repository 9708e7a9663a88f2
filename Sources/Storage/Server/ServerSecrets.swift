/// All that a secret has on a database server, and how much is there.
struct ServerSecrets<Connection: SQLConnection> {
    let session: ServerSession<Connection>
    let statements: ServerStatements

    func holdings(of key: SecretKey) throws(SQLFailure) -> Holdings {
        var all = Holdings()
        for hash in key.hashes {
            func count(_ table: String) throws(SQLFailure) -> Int {
                let sql = "SELECT count(*) FROM \(table) WHERE secret_hash = ?"
                return Int(try session.connection.integer(sql, [.hash(hash)]) ?? 0)
            }
            all += Holdings(
                devices: try count("device_registration"), pushes: try count("pending_push"),
                receipts: try count("event_receipt"))
        }
        return all
    }

    func revoke(_ key: SecretKey, limit: Int) throws(SQLFailure) -> Holdings {
        try session.transaction { () throws(SQLFailure) in
            var removed = Holdings()
            for hash in key.hashes {
                let values: [SQLValue] = [.hash(hash), .integer(Int64(max(limit, 0)))]
                removed += Holdings(
                    devices: try session.execute(statements.revokeDevices, values),
                    pushes: try session.execute(statements.revokePushes, values),
                    receipts: try session.execute(statements.revokeReceipts, values))
            }
            return removed
        }
    }

    func census(ofShare share: UInt8) throws(SQLFailure) -> Census {
        let bounds = Census.bounds(ofShare: share)
        let values: [SQLValue] = [.text(bounds.from), .text(bounds.before)]
        var census = Census()
        try session.query(
            """
            SELECT count(*), count(DISTINCT secret_hash) FROM device_registration
            WHERE secret_hash >= ? AND secret_hash < ?
            """, values
        ) { row throws(SQLFailure) in
            census = Census(secrets: Int(try row.integer(1)), devices: Int(try row.integer(0)))
        }
        let waiting = "SELECT count(*) FROM pending_push WHERE secret_hash >= ? AND secret_hash < ?"
        census.waiting = Int(try session.connection.integer(waiting, values) ?? 0)
        return census
    }
}

internal import Storage

/// Counts rows of a secret, or of a share of all; for a reading connection.
struct CountReads {
    private let ofSecret: [SQLiteStatement]
    private let devices: SQLiteStatement
    private let waiting: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        var ofSecret: [SQLiteStatement] = []
        for table in ["device_registration", "pending_push", "event_receipt"] {
            ofSecret.append(
                try connection.prepare("SELECT count(*) FROM \(table) WHERE secret_hash = ?"))
        }
        self.ofSecret = ofSecret
        devices = try connection.prepare(
            """
            SELECT count(*), count(DISTINCT secret_hash) FROM device_registration
            WHERE secret_hash >= ? AND secret_hash < ?
            """)
        waiting = try connection.prepare(
            "SELECT count(*), 0 FROM pending_push WHERE secret_hash >= ? AND secret_hash < ?")
    }

    func holdings(of key: SecretKey) throws(StorageError) -> Holdings {
        var all = Holdings()
        for hash in key.hashes {
            var counts: [Int] = []
            for statement in ofSecret {
                try statement.query({ $0.hash(hash) }) { row throws(StorageError) in
                    counts.append(Int(try row.integer(0)))
                }
            }
            all += Holdings(devices: counts[0], pushes: counts[1], receipts: counts[2])
        }
        return all
    }

    func census(ofShare share: UInt8) throws(StorageError) -> Census {
        let bounds = Census.bounds(ofShare: share)
        var counts: [Int] = []
        for statement in [devices, waiting] {
            try statement.query {
                $0.text(bounds.from)
                $0.text(bounds.before)
            } row: { row throws(StorageError) in
                counts += [Int(try row.integer(0)), Int(try row.integer(1))]
            }
        }
        return Census(secrets: counts[1], devices: counts[0], waiting: counts[2])
    }
}

/// Removes what a secret has; for the writing connection, within a transaction.
struct RevokeWrites {
    private let devices: SQLiteStatement
    private let pushes: SQLiteStatement
    private let receipts: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        func deletion(_ table: String, _ column: String) throws(StorageError) -> SQLiteStatement {
            try connection.prepare(
                """
                DELETE FROM \(table) WHERE (secret_hash, \(column)) IN
                    (SELECT secret_hash, \(column) FROM \(table) WHERE secret_hash = ? LIMIT ?)
                """)
        }
        devices = try deletion("device_registration", "device_token")
        pushes = try deletion("pending_push", "id")
        receipts = try deletion("event_receipt", "event_id")
    }

    func revoke(_ key: SecretKey, limit: Int) throws(StorageError) -> Holdings {
        var removed = Holdings()
        for hash in key.hashes {
            let bind = { (binder: inout SQLiteBinder) in
                binder.hash(hash)
                binder.integer(max(limit, 0))
            }
            removed += Holdings(
                devices: try devices.execute(bind), pushes: try pushes.execute(bind),
                receipts: try receipts.execute(bind))
        }
        return removed
    }
}

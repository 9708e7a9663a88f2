internal import Storage

/// Reads the delivery log; for a reading connection.
struct DeliveryReads {
    private let page: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        page = try connection.prepare(
            """
            SELECT id, event_type, session_id, status, error, created_at, secret_hash = ?1 FROM delivery_log
            WHERE secret_hash IN (?1, ?2) AND (created_at, id) < (?3, ?4)
            ORDER BY created_at DESC, id DESC LIMIT ?5
            """)
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) throws(StorageError) -> [Delivery] {
        let legacy = key.legacy ?? key.primary
        var deliveries: [Delivery] = []
        try page.query {
            $0.hash(key.primary)
            $0.hash(legacy)
            $0.integer(cursor?.createdAt ?? .max)
            $0.text(cursor?.id ?? "")
            $0.integer(max(limit, 0))
        } row: { row throws(StorageError) in
            guard let status = DeliveryStatus(rawValue: try row.text(3)) else { throw row.wrong(3) }
            deliveries.append(
                Delivery(
                    id: try row.text(0), secretHash: try row.integer(6) == 1 ? key.primary : legacy,
                    eventType: try row.text(1), sessionID: try row.text(2), status: status,
                    error: try row.optionalText(4), createdAt: try row.integer(5)))
        }
        return deliveries
    }
}

/// Changes the delivery log; for the writing connection, within a transaction.
struct DeliveryWrites {
    private let insert: SQLiteStatement
    private let deleteOld: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        insert = try connection.prepare(
            """
            INSERT INTO delivery_log (id, secret_hash, event_type, session_id, status, error, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
        deleteOld = try connection.prepare(
            """
            DELETE FROM delivery_log WHERE id IN
                (SELECT id FROM delivery_log WHERE created_at < ? ORDER BY created_at LIMIT ?)
            """)
    }

    func append(_ deliveries: [Delivery]) throws(StorageError) {
        for delivery in deliveries {
            try insert.execute {
                $0.text(delivery.id)
                $0.hash(delivery.secretHash)
                $0.text(delivery.eventType)
                $0.text(delivery.sessionID)
                $0.text(delivery.status.rawValue)
                $0.text(delivery.error)
                $0.integer(delivery.createdAt)
            }
        }
    }

    func prune(before time: EpochMilliseconds, limit: Int) throws(StorageError) -> Int {
        try deleteOld.execute {
            $0.integer(time)
            $0.integer(max(limit, 0))
        }
    }
}

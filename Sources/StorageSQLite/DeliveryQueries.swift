internal import Storage

/// Reads the delivery log; for a reading connection.
struct DeliveryReads {
    private let page: SQLiteStatement

    private static let columns = "id, event_type, session_id, status, error, created_at, device_id"

    init(_ connection: SQLiteConnection) throws(StorageError) {
        page = try connection.prepare(
            """
            SELECT \(Self.columns), secret_hash = ?1 FROM delivery_log
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
            deliveries.append(try Self.delivery(row, key))
        }
        return deliveries
    }

    private static func delivery(
        _ row: borrowing SQLiteRow, _ key: SecretKey
    ) throws(StorageError) -> Delivery {
        guard let status = DeliveryStatus(rawValue: try row.text(3)) else { throw row.wrong(3) }
        return Delivery(
            id: try row.text(0),
            secretHash: try row.integer(7) == 1 ? key.primary : key.legacy ?? key.primary,
            eventType: try row.text(1), sessionID: try row.text(2), status: status,
            error: try row.optionalText(4), createdAt: try row.integer(5), deviceID: try row.optionalText(6))
    }
}

/// Changes the delivery log; for the writing connection, within a transaction.
struct DeliveryWrites {
    /// Rows of one statement: it costs about as much to begin one as to insert a row.
    private static let rowsPerStatement = 32
    /// What the texts of a row take as a rule: two ids, a hash, and short words.
    private static let textBytesPerRow = 224

    private let insert: SQLiteStatement
    private let insertMany: SQLiteStatement
    private let deleteOld: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        insert = try connection.prepare(Self.insertion("INSERT"))
        insertMany = try connection.prepare(
            Self.insertion("INSERT", rows: Self.rowsPerStatement),
            textBytes: Self.rowsPerStatement * Self.textBytesPerRow)
        deleteOld = try connection.prepare(
            """
            DELETE FROM delivery_log WHERE (created_at, id) IN
                (SELECT created_at, id FROM delivery_log WHERE created_at < ? ORDER BY created_at, id LIMIT ?)
            """)
    }

    func append(_ deliveries: [Delivery]) throws(StorageError) {
        // In the table's order each row goes behind the one before it, where SQLite need not look for its place.
        var rest = deliveries.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }[...]
        while !rest.isEmpty {
            let count = rest.count < Self.rowsPerStatement ? 1 : Self.rowsPerStatement
            try (count == 1 ? insert : insertMany).execute {
                for delivery in rest.prefix(count) { $0.delivery(delivery) }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// The statement that stores rows, begun with `INSERT` or a kind of it; `SQLiteBinder.delivery` binds each.
    static func insertion(_ words: String, rows: Int = 1) -> String {
        """
        \(words) INTO delivery_log
            (id, secret_hash, event_type, session_id, status, error, created_at, device_id)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?)", count: rows).joined(separator: ", "))
        """
    }

    func prune(before time: EpochMilliseconds, limit: Int) throws(StorageError) -> Int {
        try deleteOld.execute {
            $0.integer(time)
            $0.integer(max(limit, 0))
        }
    }
}

extension SQLiteBinder {
    /// Binds every column of a delivery, in the order of `DeliveryWrites.insertion`.
    mutating func delivery(_ delivery: Delivery) {
        text(delivery.id)
        hash(delivery.secretHash)
        text(delivery.eventType)
        text(delivery.sessionID)
        text(delivery.status.rawValue)
        text(delivery.error)
        integer(delivery.createdAt)
        text(delivery.deviceID)
    }
}

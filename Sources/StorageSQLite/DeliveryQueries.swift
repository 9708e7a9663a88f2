internal import Storage

/// Appends to the delivery log with prepared statements, on the writing connection within a transaction.
struct DeliveryWrites {
    /// Rows per statement: starting a statement costs about as much as inserting a row.
    private static let rowsPerStatement = 32
    /// Typical size of the text in a row with one push: two IDs, a hash, and short words.
    private static let textBytesPerRow = 224

    private let insert: SQLiteStatement
    private let insertMany: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        // A failed call is rolled back as a whole. With `OR FAIL`, SQLite needn't be able to roll back this statement
        // on its own, so it doesn't copy every page before changing it.
        insert = try connection.prepare(Self.insertion(rows: 1))
        insertMany = try connection.prepare(
            Self.insertion(rows: Self.rowsPerStatement),
            textBytes: Self.rowsPerStatement * Self.textBytesPerRow)
    }

    func append(_ deliveries: [Delivery]) throws(StorageError) {
        // In the table's order, each row follows the previous one, so SQLite needn't search for its place.
        var rest = deliveries.inTableOrder[...]
        while !rest.isEmpty {
            let count = rest.count < Self.rowsPerStatement ? 1 : Self.rowsPerStatement
            let rows = rest.prefix(count)
            try (count == 1 ? insert : insertMany).execute { binder in
                for index in rows.indices { binder.delivery(rows[index]) }
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func insertion(rows: Int) -> String {
        """
        INSERT OR FAIL INTO delivery_log
            (id, secret_hash, event_type, session_id, status, error, created_at, device_id, others,
             event_id)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", count: rows).joined(separator: ", "))
        """
    }
}

extension [Delivery] {
    /// The rows ordered by time and ID, the order in which they usually arrive.
    fileprivate var inTableOrder: [Delivery] {
        isInTableOrder ? self : sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Compares by index, so that no rows are copied.
    private var isInTableOrder: Bool {
        indices.dropFirst().allSatisfy { index in
            let (time, timeBefore) = (self[index].createdAt, self[index - 1].createdAt)
            return time == timeBefore ? self[index - 1].id <= self[index].id : timeBefore < time
        }
    }
}

extension SQLiteBinder {
    /// Binds every column of a log row, in the order of `DeliveryWrites.insertion`.
    fileprivate mutating func delivery(_ delivery: Delivery) {
        text(delivery.id)
        hash(delivery.secretHash)
        text(delivery.eventType)
        text(delivery.sessionID)
        text(delivery.status.rawValue)
        text(delivery.error)
        integer(delivery.createdAt)
        text(delivery.deviceID)
        text(delivery.others.isEmpty ? nil : delivery.others)
        text(delivery.eventID)
    }
}

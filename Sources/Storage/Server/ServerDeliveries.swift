/// The delivery log on a database server.
struct ServerDeliveries<Connection: SQLConnection> {
    let session: ServerSession<Connection>
    let statements: ServerStatements

    private static var chunkSizes: [Int] { Insertion.chunkSizes }

    func append(_ deliveries: [Delivery]) throws(SQLFailure) {
        guard let first = deliveries.first else { return }
        // A batch is all there or not at all, so one row speaks for it.
        if session.isRepeated, try isPresent(first) { return }
        if Self.chunkSizes.contains(deliveries.count) {
            return try insert(deliveries[...], statements.insertDeliveries)
        }
        try session.transaction { () throws(SQLFailure) in
            try insertAll(deliveries, statements.insertDeliveries)
        }
    }

    /// Stores the rows whose ids aren't there yet; within a transaction.
    func appendUnlessPresent(_ deliveries: [Delivery]) throws(SQLFailure) {
        try insertAll(deliveries, statements.insertDeliveriesUnlessPresent)
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) throws(SQLFailure) -> [Delivery] {
        let time = SQLValue.integer(cursor?.createdAt ?? .max)
        let bounds: [SQLValue] = [time, time, time, .text(cursor?.id ?? ""), .integer(Int64(max(limit, 0)))]
        var deliveries: [Delivery] = []
        let row: (SQLRow) throws(SQLFailure) -> Void = { row throws(SQLFailure) in
            deliveries.append(try Self.delivery(row))
        }
        if let legacy = key.legacy {
            let hashes: [SQLValue] = [.hash(key.primary), .hash(legacy)]
            try session.query(statements.pageOfBoth, hashes + bounds, row: row)
        } else {
            try session.query(statements.page, [.hash(key.primary)] + bounds, row: row)
        }
        return deliveries
    }

    func prune(before time: EpochMilliseconds, limit: Int) throws(SQLFailure) -> Int {
        try session.execute(
            statements.deleteOldDeliveries, [.integer(time), .integer(Int64(max(limit, 0)))])
    }

    private func insertAll(_ deliveries: [Delivery], _ insertion: Insertion) throws(SQLFailure) {
        var rest = deliveries[...]
        while !rest.isEmpty {
            let size = Self.chunkSizes.first { $0 <= rest.count } ?? 1
            try insert(rest.prefix(size), insertion)
            rest = rest.dropFirst(size)
        }
    }

    private func insert(_ deliveries: ArraySlice<Delivery>, _ insertion: Insertion) throws(SQLFailure) {
        var values: [SQLValue] = []
        values.reserveCapacity(8 * deliveries.count)
        for delivery in deliveries {
            values += [
                .text(delivery.id), .hash(delivery.secretHash), .text(delivery.eventType),
                .text(delivery.sessionID), .text(delivery.status.rawValue), .text(delivery.error),
                .integer(delivery.createdAt), .text(delivery.deviceID),
            ]
        }
        _ = try session.execute(insertion.sql(rows: deliveries.count), values)
    }

    func isPresent(_ delivery: Delivery) throws(SQLFailure) -> Bool {
        var isPresent = false
        try session.query(
            "SELECT created_at FROM delivery_log WHERE secret_hash = ? AND created_at = ? AND id = ?",
            [.hash(delivery.secretHash), .integer(delivery.createdAt), .text(delivery.id)]
        ) { (_: SQLRow) throws(SQLFailure) in isPresent = true }
        return isPresent
    }

    private static func delivery(_ row: SQLRow) throws(SQLFailure) -> Delivery {
        guard let status = DeliveryStatus(rawValue: try row.text(4)) else { throw row.wrong(4) }
        return Delivery(
            id: try row.text(0), secretHash: try row.hash(1), eventType: try row.text(2),
            sessionID: try row.text(3), status: status, error: try row.optionalText(5),
            createdAt: try row.integer(6), deviceID: try row.optionalText(7))
    }
}

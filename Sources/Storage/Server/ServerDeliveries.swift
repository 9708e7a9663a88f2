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
        for hash in key.hashes { try session.query(statements.page, [.hash(hash)] + bounds, row: row) }
        return !key.hasLegacy ? deliveries : deliveries.newestFirst(limit)
    }

    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> DeliveryTally {
        let span = (hash == nil ? "" : "secret_hash = ? AND ") + "created_at >= ? AND created_at < ?"
        let from: [SQLValue] = (hash.map { [.hash($0)] } ?? []) + [.integer(start)]
        let next = try session.connection.integer(
            "SELECT created_at FROM delivery_log WHERE \(span) ORDER BY created_at LIMIT 1 OFFSET ?",
            from + [.integer(end), .integer(Int64(max(limit, 1)))])
        var tally = DeliveryTally(end: DeliveryTally.end(from: start, next: next, before: end))
        let values = from + [.integer(tally.end)]
        try session.query(
            "SELECT status, error, count(*) FROM delivery_log WHERE \(span) GROUP BY status, error", values
        ) { row throws(SQLFailure) in
            guard let status = DeliveryStatus(rawValue: try row.text(0)) else { throw row.wrong(0) }
            tally.add(status, try row.optionalText(1), count: Int(try row.integer(2)))
        }
        let events = try session.connection.integer(
            """
            SELECT count(*) FROM (SELECT DISTINCT secret_hash, event_type, session_id, created_at
                FROM delivery_log WHERE \(span)) AS events
            """, values)
        tally.events = Int(events ?? 0)
        return tally
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

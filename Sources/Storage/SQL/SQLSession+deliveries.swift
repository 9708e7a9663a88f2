extension SQLSession {
    package func append(_ deliveries: [Delivery], isRepeated: Bool) throws(SQLFailure) {
        guard !deliveries.isEmpty else { return }
        // Some engines can commit only part of a transaction that spans shards, so each row is looked up.
        if isRepeated || self.isRepeated {
            return try transaction { () throws(SQLFailure) in try appendUnlessPresent(deliveries) }
        }
        if deliveries.count >= StorageLimits.loadedRowsMin, try load(Self.block(of: deliveries)) { return }
        if statements.insertDeliveries.sizes.contains(deliveries.count) {
            return try insert(deliveries[...], statements.insertDeliveries)
        }
        try transaction { () throws(SQLFailure) in
            try insertAll(deliveries, statements.insertDeliveries)
        }
    }

    /// Stores the rows whose IDs aren't stored yet; within a transaction.
    func appendUnlessPresent(_ deliveries: [Delivery]) throws(SQLFailure) {
        try insertAll(deliveries, statements.insertDeliveriesUnlessPresent)
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) throws(SQLFailure) -> [Delivery] {
        let time = SQLValue.integer(cursor?.createdAt ?? .max)
        let bounds: [SQLValue] = [time, time, time, .text(cursor?.id ?? ""), .limit(limit)]
        var deliveries: [Delivery] = []
        let row: (SQLRow) throws(SQLFailure) -> Void = { row throws(SQLFailure) in
            deliveries.append(try Delivery(row))
        }
        for hash in key.hashes { try query(statements.page, [.hash(hash)] + bounds, row: row) }
        return !key.hasLegacy ? deliveries : deliveries.newestFirst(limit)
    }

    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> DeliveryTally {
        let span = (hash == nil ? "" : "secret_hash = ? AND ") + "created_at >= ? AND created_at < ?"
        let from: [SQLValue] = (hash.map { [.hash($0)] } ?? []) + [.integer(start)]
        let next = try integer(
            "SELECT created_at FROM delivery_log WHERE \(span) ORDER BY created_at LIMIT 1 OFFSET ?",
            from + [.integer(end), .integer(Int64(max(limit, 1)))])
        var tally = DeliveryTally(end: DeliveryTally.end(from: start, next: next, before: end))
        let values = from + [.integer(tally.end)]
        try query(
            """
            SELECT status, error, count(*), coalesce(sum(length(others)), 0)
            FROM delivery_log WHERE \(span) GROUP BY status, error
            """, values
        ) { row throws(SQLFailure) in
            guard let status = DeliveryStatus(rawValue: try row.text(0)) else { throw row.wrong(0) }
            let others = Int(try row.integer(3)) / Delivery.bytesPerPush
            tally.add(status, try row.optionalText(1), count: Int(try row.integer(2)) + others)
        }
        tally.events = try count(
            """
            SELECT count(*) FROM (SELECT DISTINCT secret_hash, event_type, session_id, created_at
                FROM delivery_log WHERE \(span)) AS events
            """, values)
        return tally
    }

    /// The log rows in the form that the engine's bulk protocol requires.
    private static func block(of deliveries: [Delivery]) -> RowBlock {
        var block = RowBlock(
            "delivery_log", SQLStatements.deliveryColumns, rows: deliveries.count, bytesPerRow: 256)
        for delivery in deliveries {
            block.add(delivery.id)
            block.add(delivery.secretHash)
            block.add(delivery.eventType)
            block.add(delivery.sessionID)
            block.add(delivery.status.rawValue)
            block.add(delivery.error)
            block.add(delivery.createdAt)
            block.add(delivery.deviceID)
            block.add(delivery.others.isEmpty ? nil : delivery.others)
            block.add(delivery.eventID)
        }
        return block
    }

    private func insertAll(_ deliveries: [Delivery], _ insertion: Insertion) throws(SQLFailure) {
        for chunk in Insertion.chunks(of: deliveries, sizes: insertion.sizes) { try insert(chunk, insertion) }
    }

    private func insert(_ deliveries: ArraySlice<Delivery>, _ insertion: Insertion) throws(SQLFailure) {
        var values: [SQLValue] = []
        values.reserveCapacity(10 * deliveries.count)
        for delivery in deliveries {
            values += [
                .text(delivery.id), .hash(delivery.secretHash), .text(delivery.eventType),
                .text(delivery.sessionID), .text(delivery.status.rawValue), .text(delivery.error),
                .integer(delivery.createdAt), .text(delivery.deviceID),
                delivery.others.isEmpty ? .null : .text(delivery.others), .text(delivery.eventID),
            ]
        }
        _ = try execute(insertion.sql(rows: deliveries.count), values)
    }
}

extension Delivery {
    /// Reads a log row from ``SQLStatements/deliveryColumns``.
    init(_ row: SQLRow) throws(SQLFailure) {
        guard let status = DeliveryStatus(rawValue: try row.text(4)) else { throw row.wrong(4) }
        self.init(
            id: try row.text(0), secretHash: try row.hash(1), eventType: try row.text(2),
            sessionID: try row.text(3), status: status, error: try row.optionalText(5),
            createdAt: try row.integer(6), deviceID: try row.optionalText(7),
            others: try row.optionalText(8) ?? "", eventID: try row.optionalText(9))
    }
}

extension SQLSession {
    func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) throws(SQLFailure) -> [String: SentCount] {
        let sent = """
            FROM (SELECT device_id, event_type, created_at, status, others FROM delivery_log
                  WHERE secret_hash = ? AND created_at >= ? AND created_at < ? ORDER BY created_at DESC LIMIT ?) AS found
            WHERE status = '\(DeliveryStatus.sent.rawValue)' AND device_id IS NOT NULL
                AND event_type NOT LIKE '\(Delivery.activityPrefix)%'
            """
        var counts: [String: SentCount] = [:]
        for hash in key.hashes {
            let period: [SQLValue] = [.hash(hash), .integer(start), .integer(end)]
            try query(
                """
                SELECT device_id, count(*), count(CASE WHEN created_at >= ? THEN 1 END) \(sent) GROUP BY device_id
                """, [.integer(recent)] + period + [.limit(StorageLimits.countedDeliveriesMax)]
            ) { row throws(SQLFailure) in
                counts[try row.text(0), default: SentCount()].all += Int(try row.integer(1))
                counts[try row.text(0), default: SentCount()].recent += Int(try row.integer(2))
            }
            try query(
                "SELECT created_at, others \(sent) AND others IS NOT NULL",
                period + [.limit(StorageLimits.countedSharedDeliveriesMax)]
            ) { row throws(SQLFailure) in
                let isRecent = try row.integer(0) >= recent
                for device in Delivery.devices(ofOthers: try row.text(1)) {
                    counts[device, default: SentCount()].all += 1
                    if isRecent { counts[device, default: SentCount()].recent += 1 }
                }
            }
        }
        return counts
    }
}

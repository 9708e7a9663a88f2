extension SQLSession {
    func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) throws(SQLFailure) -> HistoryAddition {
        try transaction { () throws(SQLFailure) in
            let new = try withoutRepeated(ofRegistered(items))
            var addition = HistoryAddition()
            for chunk in Insertion.chunks(of: new) { addition.stored += try insert(chunk) }
            for hash in Set(new.map(\.secretHash)).sorted() {
                addition.removed += try removeItems(of: hash, beyond: StorageLimits.historyItemsMax)
            }
            for key in keys { addition.unread[key] = try countUnread(of: key) }
            return addition
        }
    }

    func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) throws(SQLFailure) -> HistoryPage {
        let time = SQLValue.integer(id?.milliseconds ?? .max)
        let bounds: [SQLValue] = [time, time, time, .text(id?.text ?? ""), .limit(limit)]
        var page = HistoryPage()
        for hash in key.hashes {
            try query(statements.historyPage, [.hash(hash)] + bounds) { row throws(SQLFailure) in
                page.items.append(try HistoryItem(row))
            }
        }
        if key.hasLegacy { page.items = page.items.newestFirst(limit) }
        page.unread = try countUnread(of: key)
        return page
    }

    func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) throws(SQLFailure) -> HistoryReading {
        let update = """
            UPDATE history_item SET read_at = ? WHERE secret_hash IN (\(SQLStatements.anyHash)) AND read_at IS NULL
            """
        let values: [SQLValue] = [.integer(now)] + .anyHash(of: key)
        return try transaction { () throws(SQLFailure) in
            var reading = HistoryReading()
            if let ids {
                // All calls use the same order, because two devices may report the same items at the same time.
                for id in Set(ids).sorted() {
                    reading.read += try execute(
                        update + " AND created_at = ? AND id = ?",
                        values + [.integer(id.milliseconds), .text(id.text)])
                }
            } else {
                reading.read = try execute(update, values)
            }
            reading.unread = try countUnread(of: key)
            return reading
        }
    }

    /// Removes a secret's other rows if it no longer has devices: history, last use, schedules, replies and tokens;
    /// within a transaction.
    func forgetWithoutDevices(_ key: SecretKey) throws(SQLFailure) {
        guard try !hasDevice(key) else { return }
        _ = try removeAccessTokens(of: key.hashes)
        for table in ["history_item", "agent_use", "schedule", "event_reply", "push_token"] {
            _ = try execute(
                "DELETE FROM \(table) WHERE secret_hash IN (\(SQLStatements.anyHash))", .anyHash(of: key))
        }
    }
}

// MARK: - Parts

extension SQLSession {
    /// The items whose secret has a device; locks each secret, so that no item is stored after the secret's last device
    /// is removed.
    private func ofRegistered(
        _ items: [(item: HistoryItem, key: SecretKey)]
    ) throws(SQLFailure) -> [(item: HistoryItem, key: SecretKey)] {
        var registered: Set<SecretHash> = []
        for key in Set(items.map(\.key)).sorted(by: { $0.primary < $1.primary }) {
            try lock(key.primary)
            if try hasDevice(key) { registered.insert(key.primary) }
        }
        return items.filter { registered.contains($0.key.primary) }
    }

    /// The items whose `eventID` isn't stored yet, in table order, so that concurrent calls lock rows in the same
    /// order.
    private func withoutRepeated(
        _ items: [(item: HistoryItem, key: SecretKey)]
    ) throws(SQLFailure) -> [HistoryItem] {
        var new: [HistoryItem] = []
        var known: Set<[UInt8]> = []
        for (item, key) in items {
            if let eventID = item.eventID {
                let name = Array(item.secretHash.hex.utf8) + Array(eventID.utf8)
                guard known.insert(name).inserted, try !hasItem(eventID, key) else { continue }
            }
            new.append(item)
        }
        return new.sorted { ($0.secretHash, $0.id) < ($1.secretHash, $1.id) }
    }

    private func hasItem(_ eventID: String, _ key: SecretKey) throws(SQLFailure) -> Bool {
        try integer(
            """
            SELECT created_at FROM history_item
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ? LIMIT 1
            """, .anyHash(of: key) + [.text(eventID)]) != nil
    }

    private func insert(_ items: ArraySlice<HistoryItem>) throws(SQLFailure) -> Int {
        var values: [SQLValue] = []
        for item in items {
            values += [
                .text(item.id.text), .hash(item.secretHash), .text(item.eventID), .text(item.eventType),
                .text(item.sessionID), .text(item.serverID), .integer(item.createdAt),
                item.readAt.map { .integer($0) } ?? .null, .text(item.title), .text(item.body),
                .text(item.sealed), item.acknowledgedAt.map { .integer($0) } ?? .null,
            ]
        }
        return try execute(statements.insertItems.sql(rows: items.count), values)
    }

    private func removeItems(of hash: SecretHash, beyond limit: Int) throws(SQLFailure) -> Int {
        let first = try rows(statements.firstItemBeyond, [.hash(hash), .limit(limit)]).first
        guard let first else { return 0 }
        return try execute(statements.deleteItemsFrom, [.hash(hash), first[0], first[0], first[1]])
    }

    private func countUnread(of key: SecretKey) throws(SQLFailure) -> Int {
        try count(
            """
            SELECT count(*) FROM history_item
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND read_at IS NULL
            """, .anyHash(of: key))
    }
}

extension HistoryItem {
    fileprivate init(_ row: SQLRow) throws(SQLFailure) {
        guard let id = UUIDv7(try row.text(0)) else { throw row.wrong(0) }
        self.init(
            id: id, secretHash: try row.hash(1), eventID: try row.optionalText(2), eventType: try row.text(3),
            sessionID: try row.text(4), serverID: try row.optionalText(5),
            readAt: row.isNull(7) ? nil : try row.integer(7), title: try row.optionalText(8),
            body: try row.optionalText(9), sealed: try row.optionalText(10),
            acknowledgedAt: row.isNull(11) ? nil : try row.integer(11))
    }
}

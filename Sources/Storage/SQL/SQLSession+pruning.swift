/// Walks over all devices and secrets to remove rows that are no longer renewed. Each step reads a bounded number of
/// rows along an index.
extension SQLSession {
    /// Of the next `limit` devices, those that last registered before `time`; and where the next step begins.
    func staleDevices(
        before time: EpochMilliseconds, after cursor: DeviceCursor?, limit: Int
    ) throws(SQLFailure) -> (devices: [Device], next: DeviceCursor?) {
        let start = cursor ?? DeviceCursor(secretHash: "", token: "")
        // The first bound is redundant, but lets the engine start reading the index there.
        let after = "secret_hash >= ? AND (secret_hash > ? OR device_token > ?)"
        let from: [SQLValue] = [.text(start.secretHash), .text(start.secretHash), .text(start.token)]
        var next: DeviceCursor?
        try query(
            """
            SELECT secret_hash, device_token FROM device_registration WHERE \(after)
            ORDER BY secret_hash, device_token LIMIT 1 OFFSET ?
            """, from + [.integer(Int64(max(limit, 1) - 1))]
        ) { row throws(SQLFailure) in
            next = DeviceCursor(secretHash: try row.repairedText(0), token: try row.repairedText(1))
        }
        // Even the last step has an upper bound: without one, Postgres may plan to read the whole table. "g" sorts
        // after all hexadecimal digits.
        let end = next ?? DeviceCursor(secretHash: "g", token: "")
        var devices: [Device] = []
        try query(
            """
            SELECT \(Device.columns) FROM device_registration
            WHERE \(after) AND secret_hash <= ? AND (secret_hash < ? OR device_token <= ?) AND updated_at < ?
            LIMIT ?
            """,
            from + [
                .text(end.secretHash), .text(end.secretHash), .text(end.token), .integer(time), .limit(limit),
            ]
        ) { row throws(SQLFailure) in
            // A row written by another program may have an invalid hash.
            if let device = try? Device(row) { devices.append(device) }
        }
        return (devices, next)
    }

    /// The preferences of the next `limit` devices; see ``RegistrationStorage/preferences(after:limit:)``.
    func preferences(after cursor: DeviceCursor?, limit: Int) throws(SQLFailure) -> PreferencesPage {
        let start = cursor ?? DeviceCursor(secretHash: "", token: "")
        var page = PreferencesPage()
        try query(
            """
            SELECT secret_hash, device_token, preferences FROM device_registration
            WHERE secret_hash >= ? AND (secret_hash > ? OR device_token > ?)
            ORDER BY secret_hash, device_token LIMIT ?
            """,
            [.text(start.secretHash), .text(start.secretHash), .text(start.token), .limit(limit)]
        ) { row throws(SQLFailure) in
            page.looked += 1
            page.next = DeviceCursor(secretHash: try row.repairedText(0), token: try row.repairedText(1))
            if let text = try row.optionalText(2) { page.texts.append(text) }
        }
        if page.looked < limit { page.next = nil }
        return page
    }

    /// Removes the locks of secrets without devices; see ``RegistrationStorage/pruneLocks(after:limit:)``.
    ///
    /// Each removal is a separate statement, because a statement that locks several rows can deadlock. A call stops
    /// after ``StorageLimits/locksRemovedPerCall``, so that it meets its deadline even if commits are slow.
    ///
    /// This may remove the lock row of a secret just after another caller's transaction added the secret's first
    /// device. Callers that wait for the row then create a new one.
    func pruneLocks(after start: String, limit: Int) throws(SQLFailure) -> (removed: Int, next: String?) {
        guard !dialect.hasOneWriter else { return (0, nil) }
        var looked: [String] = []
        var unused: [String] = []
        try query(
            """
            SELECT secret_hash, (SELECT device.id FROM device_registration device
                WHERE device.secret_hash = secret_lock.secret_hash LIMIT 1)
            FROM secret_lock WHERE secret_hash > ? ORDER BY secret_hash LIMIT ?
            """, [.text(start), .limit(limit)]
        ) { row throws(SQLFailure) in
            let hash = try row.text(0)
            looked.append(hash)
            if try row.optionalText(1) == nil { unused.append(hash) }
        }
        var removed = 0
        for hash in unused.prefix(StorageLimits.locksRemovedPerCall) {
            removed += try execute("DELETE FROM secret_lock WHERE secret_hash = ?", [.text(hash)])
        }
        if unused.count > StorageLimits.locksRemovedPerCall {
            return (removed, unused[StorageLimits.locksRemovedPerCall - 1])
        }
        return (removed, looked.count < limit ? nil : looked.last)
    }
}

/// Registrations on a database server.
struct ServerDevices<Connection: SQLConnection> {
    let session: ServerSession<Connection>
    let statements: ServerStatements

    /// The columns in the order in which `device` reads them.
    static func columns(of table: String = "") -> String {
        [
            "id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at",
            "device_name", "device_model", "os_version", "app_version", "preferences",
        ].map { table + $0 }.joined(separator: ", ")
    }

    func devices(of key: SecretKey) throws(SQLFailure) -> [Device] {
        var devices: [Device] = []
        let isOne = !key.hasLegacy
        let hashes = isOne ? "= ?" : "IN (\(ServerStatements.anyHash))"
        let sql = "SELECT \(Self.columns()) FROM device_registration WHERE secret_hash \(hashes)"
        try session.query(sql, isOne ? [.hash(key.primary)] : .anyHash(of: key)) { row throws(SQLFailure) in
            devices.append(try Self.device(row))
        }
        devices = key.once(devices)
        guard devices.count > 1 else { return devices }
        return devices.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// One statement where the device is known; a new one is counted and inserted while its secret is locked.
    func register(
        _ registration: Registration, _ key: SecretKey, limit: Int
    ) throws(SQLFailure) -> RegistrationResult {
        let legacy = try hashesWithRows(key.legacy)
        if legacy.isEmpty, try update(registration, key) { return try updatedResult(registration, key) }
        return try session.transaction { () throws(SQLFailure) in
            try moveAll(from: legacy, to: key.primary)
            if try update(registration, key) { return try updatedResult(registration, key) }
            let sql = "SELECT count(*) FROM device_registration WHERE secret_hash = ?"
            guard try integer(sql, [.hash(key.primary)]) ?? 0 < limit else { return .limitReached }
            try insert(
                Device(
                    id: registration.newID.text, secretHash: key.primary, token: registration.token,
                    bundleID: registration.bundleID, environment: registration.environment,
                    createdAt: registration.at, updatedAt: registration.at, details: registration.details))
            return .created
        }
    }

    /// Moves all rows of a secret to its primary hash; false when there were none under others.
    func rehash(_ key: SecretKey) throws(SQLFailure) -> Bool {
        let legacy = try hashesWithRows(key.legacy)
        guard !legacy.isEmpty else { return false }
        try session.transaction { () throws(SQLFailure) in try moveAll(from: legacy, to: key.primary) }
        return true
    }

    func unregister(
        _ token: String, _ key: SecretKey, at now: EpochMilliseconds
    ) throws(SQLFailure) -> Bool {
        if let wasThere = try unregisterOnce(token, key, at: now) { return wasThere }
        // It was there and is gone: removed, or moved to the primary hash meanwhile.
        return try unregisterOnce(token, key, at: now) ?? false
    }

    /// Nil when a row that was found was not there any more.
    private func unregisterOnce(
        _ token: String, _ key: SecretKey, at now: EpochMilliseconds
    ) throws(SQLFailure) -> Bool? {
        var rows: [(hash: SecretHash, id: String)] = []
        try session.query(
            """
            SELECT secret_hash, id FROM device_registration
            WHERE secret_hash IN (\(ServerStatements.anyHash)) AND device_token = ?
            """, .anyHash(of: key) + [.text(token)]
        ) { row throws(SQLFailure) in rows.append((try row.hash(0), try row.text(1))) }
        guard !rows.isEmpty else { return false }
        return try session.transaction { () throws(SQLFailure) in
            var deleted = 0
            for row in rows {
                deleted += try session.execute(
                    "DELETE FROM device_registration WHERE secret_hash = ? AND id = ?",
                    [.hash(row.hash), .text(row.id)])
                try endPushes(for: row.id, row.hash, at: now)
            }
            return deleted > 0 ? true : nil
        }
    }

    func setEnvironment(_ environment: DeviceEnvironment, _ device: Device) throws(SQLFailure) -> Bool {
        try session.execute(
            "UPDATE device_registration SET apns_env = ? WHERE secret_hash = ? AND id = ? AND updated_at <= ?",
            [
                .text(environment.rawValue), .hash(device.secretHash), .text(device.id),
                .integer(device.updatedAt),
            ]) > 0
    }

    func remove(
        _ device: Device, notUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) throws(SQLFailure) -> Bool {
        try session.transaction { () throws(SQLFailure) in
            let removed = try session.execute(
                "DELETE FROM device_registration WHERE secret_hash = ? AND id = ? AND updated_at <= ?",
                [.hash(device.secretHash), .text(device.id), .integer(time)])
            guard removed > 0 else { return false }
            try endPushes(for: device.id, device.secretHash, at: now)
            return true
        }
    }
}

// MARK: - Parts

extension ServerDevices {
    /// The device whose columns begin at one.
    static func device(_ row: SQLRow, from first: Int = 0) throws(SQLFailure) -> Device {
        Device(
            id: try row.text(first), secretHash: try row.hash(first + 1), token: try row.text(first + 2),
            bundleID: try row.text(first + 3),
            environment: DeviceEnvironment(column: try row.text(first + 4)),
            createdAt: try row.integer(first + 5), updatedAt: try row.integer(first + 6),
            details: DeviceDetails(
                deviceName: try row.optionalText(first + 7), deviceModel: try row.optionalText(first + 8),
                osVersion: try row.optionalText(first + 9), appVersion: try row.optionalText(first + 10),
                preferences: try row.optionalText(first + 11)))
    }

    private static func details(_ details: DeviceDetails) -> [SQLValue] {
        [
            .text(details.deviceName), .text(details.deviceModel), .text(details.osVersion),
            .text(details.appVersion), .text(details.preferences),
        ]
    }

    /// Ends what waits for a device that goes.
    ///
    /// What somebody holds is left for them to end: it may be on its way.
    private func endPushes(
        for device: String, _ hash: SecretHash, at now: EpochMilliseconds
    ) throws(SQLFailure) {
        let logged = try session.execute(
            statements.logRemovedPushes, [.integer(now), .hash(hash), .text(device)])
        guard logged > 0 else { return }
        // And no row that was stored since: its end is written when it is claimed without a device.
        _ = try session.execute(
            """
            DELETE FROM pending_push WHERE secret_hash = ? AND device_id = ? AND EXISTS (
                SELECT 1 FROM delivery_log l
                WHERE l.secret_hash = pending_push.secret_hash AND l.created_at = ? AND l.id = pending_push.id)
            """, [.hash(hash), .text(device), .integer(now)])
    }

    private func integer(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int64? {
        var value: Int64?
        try session.query(sql, parameters) { row throws(SQLFailure) in value = try row.integer(0) }
        return value
    }

    private func update(_ registration: Registration, _ key: SecretKey) throws(SQLFailure) -> Bool {
        var values: [SQLValue] = [
            .text(registration.bundleID), .text(registration.environment.rawValue), .integer(registration.at),
        ]
        values += Self.details(registration.details)
        values += [.hash(key.primary), .text(registration.token)]
        return try session.execute(
            """
            UPDATE device_registration SET bundle_id = ?, apns_env = ?, updated_at = greatest(updated_at + 1, ?),
                device_name = coalesce(?, device_name), device_model = coalesce(?, device_model),
                os_version = coalesce(?, os_version), app_version = coalesce(?, app_version),
                preferences = coalesce(?, preferences)
            WHERE secret_hash = ? AND device_token = ?
            """, values) > 0
    }

    /// `updated`, unless it is this very call that made the row before its connection was lost.
    private func updatedResult(
        _ registration: Registration, _ key: SecretKey
    ) throws(SQLFailure) -> RegistrationResult {
        guard session.isRepeated else { return .updated }
        let mine = try integer(
            "SELECT count(*) FROM device_registration WHERE secret_hash = ? AND device_token = ? AND id = ?",
            [.hash(key.primary), .text(registration.token), .text(registration.newID.text)])
        return mine == 1 ? .created : .updated
    }

    private func insert(_ device: Device) throws(SQLFailure) {
        let values: [SQLValue] = [
            .text(device.id), .hash(device.secretHash), .text(device.token), .text(device.bundleID),
            .text(device.environment.rawValue), .integer(device.createdAt), .integer(device.updatedAt),
        ]
        _ = try session.execute(
            "INSERT INTO device_registration (\(Self.columns())) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values + Self.details(device.details))
    }

    /// Those of the hashes that have rows.
    private func hashesWithRows(_ hashes: [SecretHash]) throws(SQLFailure) -> [SecretHash] {
        var found: [SecretHash] = []
        for hash in hashes {
            for table in ["device_registration", "pending_push"] where found.last != hash {
                let sql = "SELECT created_at FROM \(table) WHERE secret_hash = ? LIMIT 1"
                if try integer(sql, [.hash(hash)]) != nil { found.append(hash) }
            }
        }
        return found
    }

    /// Locks a secret under all these hashes, and moves its rows to the primary one; within a transaction.
    private func moveAll(from legacy: [SecretHash], to primary: SecretHash) throws(SQLFailure) {
        // In one order everywhere. A relay without the pepper registers under a legacy hash meanwhile.
        for hash in ([primary] + legacy).sorted(by: { $0.hex < $1.hex }) {
            try session.lock(hash, statements)
        }
        for hash in legacy { try move(from: hash, to: primary) }
    }

    /// Moves all rows of a secret to its primary hash; where a token has both, the primary row stays.
    ///
    /// As delete and insert: engines that shard by `secret_hash` refuse to change it.
    private func move(from legacy: SecretHash, to primary: SecretHash) throws(SQLFailure) {
        let current = try devices(of: SecretKey(primary: primary)).map { Array($0.token.utf8) }
        let tokens = Set(current)
        var found: [Device] = []
        // Held until the end, so that no change of them is undone by the copy.
        let sql = "SELECT \(Self.columns()) FROM device_registration WHERE secret_hash = ? FOR UPDATE"
        try session.query(sql, [.hash(legacy)]) { row throws(SQLFailure) in
            found.append(try Self.device(row))
        }
        for device in found {
            _ = try session.execute(
                "DELETE FROM device_registration WHERE secret_hash = ? AND id = ?",
                [.hash(legacy), .text(device.id)])
            guard !tokens.contains(Array(device.token.utf8)) else { continue }
            try insert(
                Device(
                    id: device.id, secretHash: primary, token: device.token, bundleID: device.bundleID,
                    environment: device.environment, createdAt: device.createdAt,
                    updatedAt: device.updatedAt, details: device.details))
        }
        try ServerQueue(session: session, statements: statements).move(from: legacy, to: primary)
    }
}

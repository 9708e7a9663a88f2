/// Registrations.
extension SQLSession {
    func devices(of key: SecretKey) throws(SQLFailure) -> [Device] {
        var devices: [Device] = []
        let isOne = !key.hasLegacy
        let sql = isOne ? Device.selectByHash : Device.selectByAnyHash
        try query(sql, isOne ? [.hash(key.primary)] : .anyHash(of: key)) { row throws(SQLFailure) in
            devices.append(try Device(row))
        }
        return key.ordered(devices)
    }

    /// Registering a known device takes one statement; a new device, or an installation's new token, is stored while
    /// its secret is locked.
    package func register(
        _ registration: Registration, _ key: SecretKey, limit: Int
    ) throws(SQLFailure) -> RegistrationResult {
        let legacy = try hashesWithRows(key.legacy)
        if legacy.isEmpty, try update(registration, key) { return try updatedResult(registration, key) }
        return try transaction { () throws(SQLFailure) in
            try moveAll(from: legacy, to: key.primary)
            let installation = registration.details.installationID
            if let installation { try giveToken(registration.token, to: installation, key.primary) }
            // The device may belong to another installation or to none, or may have moved. Another writer may have
            // created it in the meantime.
            let mayBeKnown = installation != nil || !legacy.isEmpty || !dialect.hasOneWriter
            if mayBeKnown, try update(registration, key, ofAnyInstallation: true) {
                return try updatedResult(registration, key)
            }
            guard try count(Device.countByHash, [.hash(key.primary)]) < limit else { return .limitReached }
            try insert(
                Device(
                    id: registration.newID.text, secretHash: key.primary, token: registration.token,
                    bundleID: registration.bundleID, environment: registration.environment,
                    createdAt: registration.at, updatedAt: registration.at, details: registration.details))
            return .created
        }
    }

    /// Moves a secret's rows to its primary hash; false if there were none under other hashes.
    func rehash(_ key: SecretKey) throws(SQLFailure) -> Bool {
        let legacy = try hashesWithRows(key.legacy)
        guard !legacy.isEmpty else { return false }
        try transaction { () throws(SQLFailure) in try moveAll(from: legacy, to: key.primary) }
        return true
    }

    func unregister(
        _ token: String, _ key: SecretKey, at now: EpochMilliseconds, logging: Bool
    ) throws(SQLFailure) -> Bool {
        if let wasThere = try unregisterOnce(token, key, at: now, logging: logging) { return wasThere }
        // The device existed and is gone: it was removed, or moved to the primary hash.
        return try unregisterOnce(token, key, at: now, logging: logging) ?? false
    }

    /// Tries once to remove a device; nil if none of the rows that were found still exists.
    private func unregisterOnce(
        _ token: String, _ key: SecretKey, at now: EpochMilliseconds, logging: Bool
    ) throws(SQLFailure) -> Bool? {
        var rows: [(hash: SecretHash, id: String)] = []
        try query(
            """
            SELECT secret_hash, id FROM device_registration
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND device_token = ?
            """, .anyHash(of: key) + [.text(token)]
        ) { row throws(SQLFailure) in rows.append((try row.hash(0), try row.text(1))) }
        guard !rows.isEmpty else { return false }
        return try transaction { () throws(SQLFailure) in
            // Locked, so that nothing is stored for the secret after its last device is removed and before its other
            // rows are removed.
            try lock(key.hashes)
            var deleted = 0
            for row in rows {
                deleted += try execute(
                    "DELETE FROM device_registration WHERE secret_hash = ? AND id = ?",
                    [.hash(row.hash), .text(row.id)])
                try endPushes(for: row.id, row.hash, at: now, logging: logging)
                try removeTokens(ofDevice: row.id, row.hash)
            }
            if deleted > 0 { try forgetWithoutDevices(key) }
            return deleted > 0 ? true : nil
        }
    }

    func setEnvironment(_ environment: DeviceEnvironment, _ device: Device) throws(SQLFailure) -> Bool {
        try execute(
            "UPDATE \(device.table) SET apns_env = ? WHERE secret_hash = ? AND id = ? AND updated_at <= ?",
            [
                .text(environment.rawValue), .hash(device.secretHash), .text(device.id),
                .integer(device.updatedAt),
            ]) > 0
    }

    func setPreferences(_ preferences: String, _ device: Device) throws(SQLFailure) -> Bool {
        try execute(
            "UPDATE \(device.table) SET preferences = ? WHERE secret_hash = ? AND id = ? AND updated_at <= ?",
            [.text(preferences), .hash(device.secretHash), .text(device.id), .integer(device.updatedAt)]) > 0
    }

    func remove(
        _ device: Device, notUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds, logging: Bool
    ) throws(SQLFailure) -> Bool {
        try transaction { () throws(SQLFailure) in
            // Locked, so that no token is stored for the device between its own removal and that of its tokens.
            if device.details.tokenKind == nil { try lock(device.secretHash) }
            let removed = try execute(
                "DELETE FROM \(device.table) WHERE secret_hash = ? AND id = ? AND updated_at <= ?",
                [.hash(device.secretHash), .text(device.id), .integer(time)])
            guard removed > 0 else { return false }
            try endPushes(for: device.id, device.secretHash, at: now, logging: logging)
            if device.details.tokenKind == nil { try removeTokens(ofDevice: device.id, device.secretHash) }
            return true
        }
    }
}

// MARK: - Parts

extension SQLSession {
    /// Ends the queued pushes of a device that is being removed.
    ///
    /// A push that a worker has leased is left to that worker, because it may be in flight.
    private func endPushes(
        for device: String, _ hash: SecretHash, at now: EpochMilliseconds, logging: Bool
    ) throws(SQLFailure) {
        guard logging else {
            _ = try execute(
                """
                DELETE FROM pending_push WHERE secret_hash = ? AND device_id = ? AND lease_owner IS NULL
                """, [.hash(hash), .text(device)])
            return
        }
        let logged = try execute(
            statements.logRemovedPushes, [.integer(now), .hash(hash), .text(device)])
        guard logged > 0 else { return }
        // Pushes stored in the meantime stay; they end when they are claimed without a device.
        _ = try execute(
            """
            DELETE FROM pending_push WHERE secret_hash = ? AND device_id = ? AND EXISTS (
                SELECT 1 FROM delivery_log l
                WHERE l.secret_hash = pending_push.secret_hash AND l.created_at = ? AND l.id = pending_push.id)
            """, [.hash(hash), .text(device), .integer(now)])
    }

    /// Updates the device that has the token; false if there is none.
    ///
    /// - Parameter ofAnyInstallation: Whether the device may belong to another installation; it then becomes this
    ///   installation's.
    private func update(
        _ registration: Registration, _ key: SecretKey, ofAnyInstallation: Bool = false
    ) throws(SQLFailure) -> Bool {
        let details = registration.details
        let values: [SQLValue] = [
            .text(registration.bundleID), .text(registration.environment.rawValue),
            .integer(registration.at), .text(details.deviceName), .text(details.deviceModel),
            .text(details.osVersion), .text(details.appVersion), .text(details.preferences),
            .text(details.sealedVersions), .text(details.installationID), .text(details.webPush),
            .hash(key.primary), .text(registration.token),
        ]
        guard let installation = details.installationID, !ofAnyInstallation else {
            return try execute(dialect.updateDevice, values) > 0
        }
        return try execute(dialect.updateInstallation, values + [.text(installation)]) > 0
    }

    /// `updated`, unless this call itself created the row before its connection was lost.
    private func updatedResult(
        _ registration: Registration, _ key: SecretKey
    ) throws(SQLFailure) -> RegistrationResult {
        guard isRepeated else { return .updated }
        let mine = try count(
            "SELECT count(*) FROM device_registration WHERE secret_hash = ? AND device_token = ? AND id = ?",
            [.hash(key.primary), .text(registration.token), .text(registration.newID.text)])
        return mine == 1 ? .created : .updated
    }

    private func insert(_ device: Device) throws(SQLFailure) {
        let details = device.details
        _ = try execute(
            Device.insert,
            [
                .text(device.id), .hash(device.secretHash), .text(device.token), .text(device.bundleID),
                .text(device.environment.rawValue), .integer(device.createdAt), .integer(device.updatedAt),
                .text(details.deviceName), .text(details.deviceModel), .text(details.osVersion),
                .text(details.appVersion), .text(details.preferences), .text(details.sealedVersions),
                .text(details.installationID), .text(details.webPush),
            ])
    }

    /// The hashes under which there are rows to move.
    private func hashesWithRows(_ hashes: [SecretHash]) throws(SQLFailure) -> [SecretHash] {
        var found: [SecretHash] = []
        for hash in hashes {
            for table in [
                "device_registration", "pending_push", "blocked_secret", "schedule", "access_token",
            ]
            where found.last != hash {
                let sql = "SELECT created_at FROM \(table) WHERE secret_hash = ? LIMIT 1"
                if try integer(sql, [.hash(hash)]) != nil { found.append(hash) }
            }
        }
        return found
    }

    /// Locks a secret under all of its hashes and moves its rows to the primary one; within a transaction.
    private func moveAll(from legacy: [SecretHash], to primary: SecretHash) throws(SQLFailure) {
        // A relay without the pepper may register a device under a legacy hash in the meantime.
        try lock([primary] + legacy)
        for hash in legacy { try move(from: hash, to: primary) }
    }

    /// Moves a secret's rows from a legacy hash to its primary hash.
    ///
    /// If a token or installation has rows under both hashes, the row under the primary hash stays and gets the other
    /// row's queued pushes.
    ///
    /// Deletes and inserts rows, because engines that shard by `secret_hash` refuse to change it.
    private func move(from legacy: SecretHash, to primary: SecretHash) throws(SQLFailure) {
        let current = try devices(of: SecretKey(primary: primary))
        let ids = Dictionary(current.map { (Array($0.token.utf8), $0.id) }) { first, _ in first }
        var replaced: [String: String] = [:]
        var found: [Device] = []
        // Locked until the transaction ends, so that copying the rows doesn't undo a concurrent change.
        let sql =
            "SELECT \(Device.columns) FROM device_registration WHERE secret_hash = ?\(statements.lockRows)"
        try query(sql, [.hash(legacy)]) { row throws(SQLFailure) in
            found.append(try Device(row))
        }
        for device in found {
            _ = try execute(
                "DELETE FROM device_registration WHERE secret_hash = ? AND id = ?",
                [.hash(legacy), .text(device.id)])
            if let id = ids[Array(device.token.utf8)] {
                replaced[device.id] = id
                continue
            }
            if let same = current.first(where: device.isSameInstallation) {
                replaced[device.id] = same.id
                try merge(device, into: same)
                continue
            }
            try insert(
                Device(
                    id: device.id, secretHash: primary, token: device.token, bundleID: device.bundleID,
                    environment: device.environment, createdAt: device.createdAt,
                    updatedAt: device.updatedAt, details: device.details))
        }
        try movePushes(from: legacy, to: primary, replacing: replaced)
        try moveSchedules(from: legacy, to: primary)
        try moveTokens(from: legacy, to: primary, replacing: replaced)
        try moveAccessTokens(from: legacy, to: primary)
        try moveBlock(from: legacy, to: primary)
    }
}

extension Device {
    /// The table that contains the recipient's row.
    fileprivate var table: String { details.tokenKind == nil ? "device_registration" : "push_token" }

    private static let columnNames = [
        "id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at",
        "device_name", "device_model", "os_version", "app_version", "preferences", "sealed_versions",
        "installation_id", "web_push",
    ]

    /// The columns in the order in which a device is read from them.
    static let columns = columnNames.joined(separator: ", ")
    /// The same columns as `columns`, qualified with the table alias `d`.
    static let columnsOfD = columnNames.map { "d." + $0 }.joined(separator: ", ")

    /// Counts the devices under one hash.
    package static let countByHash = "SELECT count(*) FROM device_registration WHERE secret_hash = ?"
    /// Inserts a device with values for all `columns`.
    package static let insert =
        "INSERT INTO device_registration (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    /// Selects the devices under one hash.
    package static let selectByHash = "SELECT \(columns) FROM device_registration WHERE secret_hash = ?"
    /// Selects a secret's devices under all of its hashes.
    package static let selectByAnyHash = """
        SELECT \(columns) FROM device_registration WHERE secret_hash IN (\(SQLStatements.anyHash))
        """

    /// Reads a device whose columns start at index `first`.
    init(_ row: SQLRow, from first: Int = 0) throws(SQLFailure) {
        self.init(
            id: try row.text(first), secretHash: try row.hash(first + 1),
            token: try row.repairedText(first + 2),
            bundleID: try row.repairedText(first + 3),
            environment: DeviceEnvironment(column: try row.repairedText(first + 4)),
            createdAt: try row.integer(first + 5), updatedAt: try row.integer(first + 6),
            details: DeviceDetails(
                deviceName: try row.optionalText(first + 7), deviceModel: try row.optionalText(first + 8),
                osVersion: try row.optionalText(first + 9), appVersion: try row.optionalText(first + 10),
                preferences: try row.optionalText(first + 11),
                sealedVersions: try row.optionalText(first + 12),
                installationID: try row.optionalText(first + 13),
                webPush: try row.optionalText(first + 14)))
    }
}

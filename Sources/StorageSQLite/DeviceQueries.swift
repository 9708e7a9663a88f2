internal import Storage

/// Looks devices up; for a reading connection.
struct DeviceReads {
    private let byHash: SQLiteStatement
    private let byAnyHash: SQLiteStatement

    static let columns =
        "id, device_token, bundle_id, apns_env, created_at, updated_at, \(details)"
    private static let details = "device_name, device_model, os_version, app_version, preferences"

    init(_ connection: SQLiteConnection) throws(StorageError) {
        byHash = try connection.prepare(
            "SELECT \(Self.columns) FROM device_registration WHERE secret_hash = ?")
        byAnyHash = try connection.prepare(
            """
            SELECT \(Self.columns), secret_hash FROM device_registration
            WHERE secret_hash IN (\(SQLiteStatement.anyHash))
            """)
    }

    func devices(of key: SecretKey) throws(StorageError) -> [Device] {
        var devices: [Device] = []
        guard key.hasLegacy else {
            try byHash.query({ $0.hash(key.primary) }) { row throws(StorageError) in
                devices.append(try Self.device(row, key.primary))
            }
            return Self.ordered(devices)
        }
        try byAnyHash.query {
            $0.anyHash(of: key)
        } row: { row throws(StorageError) in
            devices.append(try Self.device(row, try row.secretHash(11)))
        }
        return Self.ordered(key.once(devices))
    }

    /// Sorted here, because for a handful of rows SQLite's sorter costs more than finding them.
    private static func ordered(_ devices: [Device]) -> [Device] {
        guard devices.count > 1 else { return devices }
        return devices.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    static func device(
        _ row: borrowing SQLiteRow, _ hash: SecretHash
    ) throws(StorageError) -> Device {
        Device(
            id: try row.text(0), secretHash: hash, token: row.repairedText(1), bundleID: row.repairedText(2),
            environment: DeviceEnvironment(column: row.repairedText(3)), createdAt: try row.integer(4),
            updatedAt: try row.integer(5),
            details: DeviceDetails(
                deviceName: try row.optionalText(6), deviceModel: try row.optionalText(7),
                osVersion: try row.optionalText(8), appVersion: try row.optionalText(9),
                preferences: try row.optionalText(10)))
    }
}

/// Changes devices; for the writing connection, within a transaction.
struct DeviceWrites {
    private let adoptLegacy: SQLiteStatement
    private let dropLegacy: SQLiteStatement
    private let update: SQLiteStatement
    private let count: SQLiteStatement
    private let insert: SQLiteStatement
    private let deleteToken: SQLiteStatement
    private let updateEnvironment: SQLiteStatement
    private let deleteStale: SQLiteStatement
    private let movePending: SQLiteStatement
    private let logPending: SQLiteStatement
    private let dropPending: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        adoptLegacy = try connection.prepare(
            "UPDATE OR IGNORE device_registration SET secret_hash = ? WHERE secret_hash = ?")
        dropLegacy = try connection.prepare("DELETE FROM device_registration WHERE secret_hash = ?")
        update = try connection.prepare(
            """
            UPDATE device_registration SET bundle_id = ?, apns_env = ?, updated_at = max(updated_at + 1, ?),
                device_name = coalesce(?, device_name), device_model = coalesce(?, device_model),
                os_version = coalesce(?, os_version), app_version = coalesce(?, app_version),
                preferences = coalesce(?, preferences)
            WHERE secret_hash = ? AND device_token = ?
            """)
        count = try connection.prepare("SELECT count(*) FROM device_registration WHERE secret_hash = ?")
        insert = try connection.prepare(
            """
            INSERT INTO device_registration
                (id, secret_hash, device_token, bundle_id, apns_env, created_at, updated_at,
                 device_name, device_model, os_version, app_version, preferences)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        deleteToken = try connection.prepare(
            """
            DELETE FROM device_registration
            WHERE secret_hash IN (\(SQLiteStatement.anyHash)) AND device_token = ?
            RETURNING secret_hash, id
            """)
        updateEnvironment = try connection.prepare(
            "UPDATE device_registration SET apns_env = ? WHERE secret_hash = ? AND id = ? AND updated_at <= ?"
        )
        deleteStale = try connection.prepare(
            "DELETE FROM device_registration WHERE secret_hash = ? AND id = ? AND updated_at <= ?")
        movePending = try connection.prepare("UPDATE pending_push SET secret_hash = ? WHERE secret_hash = ?")
        // What somebody holds is left for them to end: it may be on its way.
        let waiting = "FROM pending_push WHERE secret_hash = ? AND device_id = ? AND lease_owner IS NULL"
        logPending = try connection.prepare(
            """
            INSERT OR IGNORE INTO delivery_log
                (created_at, id, secret_hash, event_type, session_id, status, error, device_id)
            SELECT ?, id, secret_hash, event_type, session_id, '\(DeliveryStatus.failed.rawValue)',
                '\(Delivery.deviceRemoved)', device_id \(waiting)
            """)
        dropPending = try connection.prepare("DELETE \(waiting)")
    }

    func register(
        _ registration: Registration, _ key: SecretKey, limit: Int
    ) throws(StorageError) -> RegistrationResult {
        try rehash(key)
        let updated = try update.execute {
            $0.text(registration.bundleID)
            $0.text(registration.environment.rawValue)
            $0.integer(registration.at)
            $0.details(registration.details)
            $0.hash(key.primary)
            $0.text(registration.token)
        }
        guard updated == 0 else { return .updated }
        var devices: Int64 = 0
        try count.query({ $0.hash(key.primary) }) { row throws(StorageError) in devices = try row.integer(0) }
        guard devices < limit else { return .limitReached }
        try insert.execute {
            $0.text(registration.newID.text)
            $0.hash(key.primary)
            $0.text(registration.token)
            $0.text(registration.bundleID)
            $0.text(registration.environment.rawValue)
            $0.integer(registration.at)
            $0.integer(registration.at)
            $0.details(registration.details)
        }
        return .created
    }

    func unregister(
        _ token: String, _ key: SecretKey, at now: EpochMilliseconds
    ) throws(StorageError) -> Bool {
        var deleted: [(hash: SecretHash, id: String)] = []
        try deleteToken.query {
            $0.anyHash(of: key)
            $0.text(token)
        } row: { row throws(StorageError) in
            deleted.append((try row.secretHash(0), try row.text(1)))
        }
        for device in deleted { try endPushes(for: device.id, device.hash, at: now) }
        return !deleted.isEmpty
    }

    private func endPushes(
        for device: String, _ hash: SecretHash, at now: EpochMilliseconds
    ) throws(StorageError) {
        try logPending.execute {
            $0.integer(now)
            $0.hash(hash)
            $0.text(device)
        }
        try dropPending.execute {
            $0.hash(hash)
            $0.text(device)
        }
    }

    func setEnvironment(_ environment: DeviceEnvironment, _ device: Device) throws(StorageError) -> Bool {
        try updateEnvironment.execute {
            $0.text(environment.rawValue)
            $0.hash(device.secretHash)
            $0.text(device.id)
            $0.integer(device.updatedAt)
        } > 0
    }

    func remove(
        _ device: Device, notUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) throws(StorageError) -> Bool {
        let removed = try deleteStale.execute {
            $0.hash(device.secretHash)
            $0.text(device.id)
            $0.integer(time)
        }
        guard removed > 0 else { return false }
        try endPushes(for: device.id, device.secretHash, at: now)
        return true
    }

    /// Moves all rows of a secret to its primary hash; where a token has several, the one that counts most stays.
    @discardableResult
    func rehash(_ key: SecretKey) throws(StorageError) -> Bool {
        var moved = 0
        for legacy in key.legacy {
            moved += try adoptLegacy.execute {
                $0.hash(key.primary)
                $0.hash(legacy)
            }
            moved += try dropLegacy.execute { $0.hash(legacy) }
            moved += try movePending.execute {
                $0.hash(key.primary)
                $0.hash(legacy)
            }
        }
        return moved > 0
    }
}

extension SQLiteBinder {
    fileprivate mutating func details(_ value: DeviceDetails) {
        text(value.deviceName)
        text(value.deviceModel)
        text(value.osVersion)
        text(value.appVersion)
        text(value.preferences)
    }
}

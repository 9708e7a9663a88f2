internal import Storage

/// Looks up a secret's devices with prepared statements, reading columns in place, on a reading connection.
struct DeviceReads {
    private let byHash: SQLiteStatement
    private let byAnyHash: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        byHash = try connection.prepare(Device.selectByHash)
        byAnyHash = try connection.prepare(Device.selectByAnyHash)
    }

    func devices(of key: SecretKey) throws(StorageError) -> [Device] {
        var devices: [Device] = []
        guard key.hasLegacy else {
            try byHash.query({ $0.hash(key.primary) }) { row throws(StorageError) in
                devices.append(try Self.device(row, key.primary))
            }
            return key.ordered(devices)
        }
        try byAnyHash.query {
            $0.anyHash(of: key)
        } row: { row throws(StorageError) in
            devices.append(try Self.device(row, try row.secretHash(1)))
        }
        // Sorted here, because sorting a handful of rows costs SQLite more than finding them.
        return key.ordered(devices)
    }

    private static func device(
        _ row: borrowing SQLiteRow, _ hash: SecretHash
    ) throws(StorageError) -> Device {
        Device(
            id: try row.text(0), secretHash: hash, token: row.repairedText(2), bundleID: row.repairedText(3),
            environment: DeviceEnvironment(column: row.repairedText(4)), createdAt: try row.integer(5),
            updatedAt: try row.integer(6),
            details: DeviceDetails(
                deviceName: try row.optionalText(7), deviceModel: try row.optionalText(8),
                osVersion: try row.optionalText(9), appVersion: try row.optionalText(10),
                preferences: try row.optionalText(11), sealedVersions: try row.optionalText(12),
                installationID: try row.optionalText(13), webPush: try row.optionalText(14)))
    }
}

/// Registers a device with prepared statements, on the writing connection within a transaction.
struct DeviceWrites {
    private let update: SQLiteStatement
    private let count: SQLiteStatement
    private let insert: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        update = try connection.prepare(SQLiteConnection.dialect.updateDevice)
        count = try connection.prepare(Device.countByHash)
        insert = try connection.prepare(Device.insert)
    }

    /// Like `SQLSession.register`, for a secret without legacy hashes.
    func register(
        _ registration: Registration, _ hash: SecretHash, limit: Int
    ) throws(StorageError) -> RegistrationResult {
        let updated = try update.execute {
            $0.text(registration.bundleID)
            $0.text(registration.environment.rawValue)
            $0.integer(registration.at)
            $0.details(registration.details)
            $0.hash(hash)
            $0.text(registration.token)
        }
        guard updated == 0 else { return .updated }
        var devices: Int64 = 0
        try count.query({ $0.hash(hash) }) { row throws(StorageError) in devices = try row.integer(0) }
        guard devices < limit else { return .limitReached }
        try insert.execute {
            $0.text(registration.newID.text)
            $0.hash(hash)
            $0.text(registration.token)
            $0.text(registration.bundleID)
            $0.text(registration.environment.rawValue)
            $0.integer(registration.at)
            $0.integer(registration.at)
            $0.details(registration.details)
        }
        return .created
    }
}

extension SQLiteBinder {
    fileprivate mutating func details(_ value: DeviceDetails) {
        text(value.deviceName)
        text(value.deviceModel)
        text(value.osVersion)
        text(value.appVersion)
        text(value.preferences)
        text(value.sealedVersions)
        text(value.installationID)
        text(value.webPush)
    }
}

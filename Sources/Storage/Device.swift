/// Which of APNs' two environments a device's token belongs to; the raw value is the column's text.
package enum DeviceEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `api.sandbox.push.apple.com`: builds signed for development.
    case sandbox
    /// `api.push.apple.com`: TestFlight and the App Store.
    case production

    /// The environment for a column's text.
    ///
    /// A row written by another program may contain any text. Unknown text counts as the column's default, so that one
    /// invalid row doesn't make all of its secret's devices unreadable; if the default is wrong, APNs' response
    /// corrects it.
    package init(column text: String) {
        self = DeviceEnvironment(rawValue: text) ?? .production
    }

    /// The other environment.
    package var other: DeviceEnvironment {
        switch self {
        case .sandbox: .production
        case .production: .sandbox
        }
    }
}

/// A device registered under one secret: a row of `device_registration`.
package struct Device: Hashable, Sendable {
    /// The row's ID: a UUIDv7, or a UUIDv4 in rows written by OpenCode's relay.
    package let id: String
    /// The hash under which the row is stored, one of a `SecretKey`'s hashes.
    package let secretHash: SecretHash
    /// The device's APNs token as hexadecimal text.
    package let token: String
    /// The bundle identifier of the app that registered the device: APNs' topic.
    package let bundleID: String
    /// The environment that the device's token belongs to.
    package let environment: DeviceEnvironment
    /// When the row was created.
    package let createdAt: EpochMilliseconds
    /// When the device last registered.
    package let updatedAt: EpochMilliseconds
    /// The details that the device sent about itself.
    package let details: DeviceDetails

    /// Creates a device from its columns.
    package init(
        id: String, secretHash: SecretHash, token: String, bundleID: String, environment: DeviceEnvironment,
        createdAt: EpochMilliseconds, updatedAt: EpochMilliseconds, details: DeviceDetails = .none
    ) {
        self.id = id
        self.secretHash = secretHash
        self.token = token
        self.bundleID = bundleID
        self.environment = environment
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.details = details
    }
}

/// A device's registration request.
package struct Registration: Hashable, Sendable {
    /// The ID for the row if the device is new.
    package let newID: UUIDv7
    /// The device's APNs token; compared byte for byte, so callers normalise its case first.
    package let token: String
    /// The app's bundle identifier.
    package let bundleID: String
    /// The token's environment, as stated by the caller.
    package let environment: DeviceEnvironment
    /// The time of the call.
    package let at: EpochMilliseconds
    /// The device's details; on an update, a nil detail leaves the stored value unchanged.
    ///
    /// The installation ID, if present, identifies the device.
    package let details: DeviceDetails

    /// Creates a registration from its parts.
    package init(
        newID: UUIDv7, token: String, bundleID: String, environment: DeviceEnvironment, at: EpochMilliseconds,
        details: DeviceDetails = .none
    ) {
        self.newID = newID
        self.token = token
        self.bundleID = bundleID
        self.environment = environment
        self.at = at
        self.details = details
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(token, field: "deviceToken", bytes: StorageLimits.tokenBytes)
        try StorageText.check(bundleID, field: "bundleId", bytes: StorageLimits.bundleIDBytes)
        try details.validate()
    }
}

/// The result of a registration.
package enum RegistrationResult: Hashable, Sendable {
    /// The device is new under this secret.
    case created
    /// The device was registered before; its row was updated.
    case updated
    /// The device is new and the secret already has the maximum number of devices; nothing was stored.
    case limitReached
}

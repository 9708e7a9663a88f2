/// Which of APNs' two environments a device's token belongs to; the raw value is the column's text.
package enum DeviceEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `api.sandbox.push.apple.com`: builds signed for development.
    case sandbox
    /// `api.push.apple.com`: TestFlight and the App Store.
    case production

    /// The environment that a column's text stands for.
    ///
    /// Another program's row may have any text there. It counts as the column's default, so that one strange row
    /// doesn't keep its secret's devices from being read; if that is wrong, APNs' answer corrects it.
    package init(column text: String) {
        self = DeviceEnvironment(rawValue: text) ?? .production
    }

    /// The other one.
    package var other: DeviceEnvironment {
        switch self {
        case .sandbox: .production
        case .production: .sandbox
        }
    }
}

/// One registered device of one secret: a row of `device_registration`.
package struct Device: Hashable, Sendable {
    /// The row's id: a UUIDv7, or a UUIDv4 in rows that OpenCode's relay made.
    package let id: String
    /// The hash under which the row is kept; which of a `SecretKey`'s two it is.
    package let secretHash: SecretHash
    /// The device's APNs token as hexadecimal text.
    package let token: String
    /// The app that registered it, APNs' topic.
    package let bundleID: String
    /// The environment its token belongs to.
    package let environment: DeviceEnvironment
    /// When the row was made.
    package let createdAt: EpochMilliseconds
    /// When a registration last named it.
    package let updatedAt: EpochMilliseconds
    /// What it told of itself.
    package let details: DeviceDetails

    /// A device of its columns.
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

/// What a device says of itself when it registers.
package struct Registration: Hashable, Sendable {
    /// The id that the row gets if it is new.
    package let newID: UUIDv7
    /// The device's APNs token; compared byte for byte, so callers fold its case first.
    package let token: String
    /// The app's bundle identifier.
    package let bundleID: String
    /// The environment the token is said to belong to.
    package let environment: DeviceEnvironment
    /// The time of the call.
    package let at: EpochMilliseconds
    /// What it tells of itself; on update a part that is nil leaves what is stored as it is.
    package let details: DeviceDetails

    /// A registration of its parts.
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

    /// Refuses what can't be stored as it is; every driver calls it first.
    package func validate() throws(StorageError) {
        try StorageText.check(token, field: "deviceToken", bytes: StorageLimits.tokenBytes)
        try StorageText.check(bundleID, field: "bundleId", bytes: StorageLimits.bundleIDBytes)
        try details.validate()
    }
}

/// What a registration came to.
package enum RegistrationResult: Hashable, Sendable {
    /// The device is new under this secret.
    case created
    /// The device was registered before; its row follows this call.
    case updated
    /// The device is new and the secret has as many as it may; no row was made.
    case limitReached
}

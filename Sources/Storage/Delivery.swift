/// A push's final result; the raw value is the column's text.
package enum DeliveryStatus: String, Hashable, Sendable, CaseIterable {
    /// APNs accepted it.
    case sent
    /// It failed permanently.
    case failed
}

/// The final result of one push to one device: a row of `delivery_log`.
package struct Delivery: Hashable, Sendable {
    /// The error of a push whose device was removed before it could be sent.
    package static let deviceRemoved = "DeviceRemoved"
    /// The prefix of the event type of a push to a Live Activity.
    package static let activityPrefix = "activity."

    /// The row's ID: a UUIDv7, or a UUIDv4 in rows written by OpenCode's relay.
    package let id: String
    /// The secret's hash.
    package let secretHash: SecretHash
    /// The event's type as the caller wrote it: `complete`, `permission` or `error`.
    package let eventType: String
    /// The session that the event is about.
    package let sessionID: String
    /// How it ended.
    package let status: DeliveryStatus
    /// Why it failed, at most 1,024 bytes; nil when it was sent.
    package let error: String?
    /// When it ended.
    package let createdAt: EpochMilliseconds
    /// The device's `id`; nil in rows written before this column existed.
    package let deviceID: String?

    /// Creates a delivery from its columns.
    ///
    /// `error` comes from outside, so it loses NULs and is cut to 1,024 bytes between
    /// two characters: an unusual answer from APNs must not make the whole batch fail.
    package init(
        id: String, secretHash: SecretHash, eventType: String, sessionID: String, status: DeliveryStatus,
        error: String?, createdAt: EpochMilliseconds, deviceID: String? = nil
    ) {
        self.id = id
        self.secretHash = secretHash
        self.eventType = eventType
        self.sessionID = sessionID
        self.status = status
        self.error = error.map { StorageText.cut($0, bytes: StorageLimits.errorBytes) }
        self.createdAt = createdAt
        self.deviceID = deviceID
    }

    /// Throws if a value can't be stored unchanged.
    func validate() throws(StorageError) {
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try Self.checkDevice(deviceID)
    }

    fileprivate static func checkDevice(_ deviceID: String?) throws(StorageError) {
        try StorageText.check(deviceID ?? "", field: "deviceID", bytes: StorageLimits.idBytes)
    }

    /// This row's position in the log, for requesting the rows before it.
    package var cursor: DeliveryCursor { DeliveryCursor(createdAt: createdAt, id: id) }
}

extension [Delivery] {
    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        var checked: (eventType: String, sessionID: String)?
        for index in indices {
            // The rows of one event have the same texts.
            if let checked, checked.eventType == self[index].eventType,
                checked.sessionID == self[index].sessionID
            {
                try Delivery.checkDevice(self[index].deviceID)
            } else {
                try self[index].validate()
                checked = (self[index].eventType, self[index].sessionID)
            }
        }
    }

    /// At most `limit` rows, newest first.
    package func newestFirst(_ limit: Int) -> [Delivery] {
        Array(sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.prefix(Swift.max(limit, 0)))
    }
}

/// A position in the delivery log, which is ordered by time, then ID.
package struct DeliveryCursor: Hashable, Sendable {
    /// The row's time.
    package let createdAt: EpochMilliseconds
    /// The row's id.
    package let id: String

    /// Creates a position from its parts.
    package init(createdAt: EpochMilliseconds, id: String) {
        self.createdAt = createdAt
        self.id = id
    }
}

/// How many pushes to a device APNs accepted.
package struct SentCount: Hashable, Sendable {
    /// In the whole period.
    package var all: Int
    /// In the later part of the period.
    package var recent: Int

    /// Creates a count from its parts.
    package init(all: Int = 0, recent: Int = 0) {
        self.all = all
        self.recent = recent
    }
}

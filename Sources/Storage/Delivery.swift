/// How one push ended; the raw value is the column's text.
package enum DeliveryStatus: String, Hashable, Sendable, CaseIterable {
    /// APNs accepted it.
    case sent
    /// It was given up.
    case failed
}

/// One push to one device that has ended: a row of `delivery_log`.
package struct Delivery: Hashable, Sendable {
    /// The error of a push whose device left before it could be sent.
    package static let deviceRemoved = "DeviceRemoved"

    /// The row's id: a UUIDv7, or a UUIDv4 in rows that OpenCode's relay made.
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
    /// The `id` of the device that it was for; nil in rows from before this was kept.
    package let deviceID: String?

    /// A delivery of its columns.
    ///
    /// `error` comes from outside, so it loses NULs and is cut to 1,024 bytes between
    /// two characters: a strange answer of APNs must not cost the other rows of a batch.
    package init(
        id: String, secretHash: SecretHash, eventType: String, sessionID: String, status: DeliveryStatus,
        error: String?, createdAt: EpochMilliseconds, deviceID: String? = nil
    ) {
        self.id = id
        self.secretHash = secretHash
        self.eventType = eventType
        self.sessionID = sessionID
        self.status = status
        self.error = error.map(Self.storable)
        self.createdAt = createdAt
        self.deviceID = deviceID
    }

    /// Refuses what can't be stored as it is.
    func validate() throws(StorageError) {
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try Self.checkDevice(deviceID)
    }

    fileprivate static func checkDevice(_ deviceID: String?) throws(StorageError) {
        try StorageText.check(deviceID ?? "", field: "deviceID", bytes: StorageLimits.idBytes)
    }

    /// Where this row stands in the log, to ask for those before it.
    package var cursor: DeliveryCursor { DeliveryCursor(createdAt: createdAt, id: id) }

    private static func storable(_ text: String) -> String {
        guard text.utf8.count > StorageLimits.errorBytes || text.utf8.contains(0) else { return text }
        var kept = ""
        var bytes = 0
        for character in text where !character.utf8.contains(0) {
            bytes += character.utf8.count
            guard bytes <= StorageLimits.errorBytes else { break }
            kept.append(character)
        }
        return kept
    }
}

extension [Delivery] {
    /// Refuses what can't be stored as it is; every driver calls it first.
    package func validate() throws(StorageError) {
        var checked: (eventType: String, sessionID: String)?
        for index in indices {
            // The rows of one event have the same words.
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

    /// At most so many of the rows, the newest of them first.
    package func newestFirst(_ limit: Int) -> [Delivery] {
        Array(sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.prefix(Swift.max(limit, 0)))
    }
}

/// A place in the delivery log, which is ordered by time and then id.
package struct DeliveryCursor: Hashable, Sendable {
    /// The row's time.
    package let createdAt: EpochMilliseconds
    /// The row's id.
    package let id: String

    /// A place of its parts.
    package init(createdAt: EpochMilliseconds, id: String) {
        self.createdAt = createdAt
        self.id = id
    }
}

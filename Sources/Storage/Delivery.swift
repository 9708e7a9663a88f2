/// A push's final result; the raw value is the column's text.
package enum DeliveryStatus: String, Hashable, Sendable, CaseIterable {
    /// APNs accepted the push.
    case sent
    /// The push failed permanently.
    case failed
}

/// The final result of one or more pushes: a row of `delivery_log`.
///
/// Pushes for one event that end in the same way before the event's response is sent share a row, because storing a row
/// costs more than storing an ID.
package struct Delivery: Hashable, Sendable {
    /// The error for a push whose device was removed before the push could be sent.
    package static let deviceRemoved = "DeviceRemoved"
    /// The event type prefix for pushes to Live Activities.
    package static let activityPrefix = "activity."

    /// The first push's ID, which is also the row's: a UUIDv7, or a UUIDv4 in rows written by OpenCode's relay.
    package let id: String
    /// The secret's hash.
    package let secretHash: SecretHash
    /// The event's type as the caller wrote it: `complete`, `permission` or `error`.
    package let eventType: String
    /// The session that the event is about.
    package let sessionID: String
    /// How the pushes ended.
    package let status: DeliveryStatus
    /// Why the pushes failed, at most 1,024 bytes; nil if they were sent.
    package let error: String?
    /// When the pushes ended.
    package let createdAt: EpochMilliseconds
    /// The `id` of the first push's device; nil in rows written before this column existed.
    package let deviceID: String?
    /// For each push after the first, its ID and its device's ID, without separators.
    package private(set) var others: String
    /// The ID by which the event is acknowledged; nil if there is none, and in rows written before this column existed.
    package let eventID: String?

    /// Creates a delivery from its columns.
    ///
    /// `error` comes from outside, so NULs are removed from it and it is truncated to 1,024 bytes at a character
    /// boundary: an unusual response from APNs must not make the whole batch fail.
    package init(
        id: String, secretHash: SecretHash, eventType: String, sessionID: String, status: DeliveryStatus,
        error: String?, createdAt: EpochMilliseconds, deviceID: String? = nil, others: String = "",
        eventID: String? = nil
    ) {
        self.id = id
        self.secretHash = secretHash
        self.eventType = eventType
        self.sessionID = sessionID
        self.status = status
        self.error = error.map { StorageText.cut($0, bytes: StorageLimits.errorBytes) }
        self.createdAt = createdAt
        self.deviceID = deviceID
        self.others = others
        self.eventID = eventID
    }

    /// Adds a push that ended like the others; false if the row is full or an ID doesn't look like a UUID.
    package mutating func add(id: String, deviceID: String) -> Bool {
        guard pushCount < StorageLimits.pushesPerDelivery, Self.isLong(id), Self.isLong(deviceID) else {
            return false
        }
        others += id
        others += deviceID
        return true
    }

    private static func isLong(_ id: String) -> Bool {
        id.utf8.count == StorageLimits.idBytes && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Bytes per push in `others`.
    static let bytesPerPush = 2 * StorageLimits.idBytes

    /// The number of pushes.
    package var pushCount: Int { 1 + others.utf8.count / Self.bytesPerPush }

    /// One row per push, in the order in which they were added.
    package var singles: [Delivery] {
        let ids = Self.ids(others)
        let further = stride(from: 0, to: ids.count - 1, by: 2).map { single(ids[$0], ids[$0 + 1]) }
        return [single(id, deviceID)] + further
    }

    /// The device IDs in a row's `others`.
    static func devices(ofOthers others: String) -> [String] {
        let ids = ids(others)
        return stride(from: 1, to: ids.count, by: 2).map { ids[$0] }
    }

    private static func ids(_ others: String) -> [String] {
        let bytes = Array(others.utf8)
        return stride(from: 0, to: bytes.count, by: StorageLimits.idBytes).map {
            String(decoding: bytes[$0...].prefix(StorageLimits.idBytes), as: UTF8.self)
        }
    }

    private func single(_ id: String, _ deviceID: String?) -> Delivery {
        Delivery(
            id: id, secretHash: secretHash, eventType: eventType, sessionID: sessionID, status: status,
            error: error, createdAt: createdAt, deviceID: deviceID, eventID: eventID)
    }

    /// Throws if a value can't be stored unchanged.
    func validate() throws(StorageError) {
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try StorageText.check(eventID ?? "", field: "eventID", bytes: StorageLimits.eventIDBytes)
        try Self.checkDevice(deviceID)
    }

    fileprivate static func checkDevice(_ deviceID: String?) throws(StorageError) {
        try StorageText.check(deviceID ?? "", field: "deviceID", bytes: StorageLimits.idBytes)
    }

    /// This row's position in the log, for requesting the rows before it.
    package var cursor: DeliveryCursor { DeliveryCursor(createdAt: createdAt, id: id) }
}

extension Collection<Delivery> {
    /// The number of pushes in all rows.
    package var pushCount: Int { reduce(0) { $0 + $1.pushCount } }
}

extension [Delivery] {
    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        var checked: Delivery?
        for index in indices {
            // Rows for the same event have the same text fields.
            if let checked, checked.eventType == self[index].eventType,
                checked.sessionID == self[index].sessionID, checked.eventID == self[index].eventID
            {
                try Delivery.checkDevice(self[index].deviceID)
            } else {
                try self[index].validate()
                checked = self[index]
            }
        }
    }

    /// One row per push, newest first; the rows must be sorted newest first.
    package var singles: [Delivery] { flatMap { $0.singles.reversed() } }

    /// At most `limit` rows, newest first.
    package func newestFirst(_ limit: Int) -> [Delivery] {
        Array(sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.prefix(Swift.max(limit, 0)))
    }
}

/// A position in the delivery log, which is ordered by time, then ID.
package struct DeliveryCursor: Hashable, Sendable {
    /// The row's time.
    package let createdAt: EpochMilliseconds
    /// The row's ID.
    package let id: String

    /// Creates a position from its parts.
    package init(createdAt: EpochMilliseconds, id: String) {
        self.createdAt = createdAt
        self.id = id
    }
}

/// For one device, how many pushes APNs accepted.
package struct SentCount: Hashable, Sendable {
    /// Pushes accepted in the whole period.
    package var all: Int
    /// Pushes accepted in the later part of the period.
    package var recent: Int

    /// Creates a count from its parts.
    package init(all: Int = 0, recent: Int = 0) {
        self.all = all
        self.recent = recent
    }
}

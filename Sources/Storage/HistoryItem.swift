/// Something that was sent to a secret's devices, as kept in the secret's history: a row of `history_item`.
package struct HistoryItem: Hashable, Sendable {
    /// The row's ID, whose milliseconds are the time when the item was sent.
    package let id: UUIDv7
    /// The secret's hash.
    package let secretHash: SecretHash
    /// The ID that the sender gave the event; a secret's history has at most one item per ID.
    package let eventID: String?
    /// The event's type or the notification's kind, as in the delivery log.
    package let eventType: String
    /// The session that the item is about; empty if there is none.
    package let sessionID: String
    /// The ID of the session's server.
    package let serverID: String?
    /// When one of the secret's devices reported the item as read; nil while it is unread.
    package var readAt: EpochMilliseconds?
    /// The readable title, at most `StorageLimits.historyTextBytes` long.
    package let title: String?
    /// The readable body text, at most `StorageLimits.historyTextBytes` long.
    package let body: String?
    /// The content as encrypted by the sender.
    package let sealed: String?
    /// When the event was acknowledged or replied to; nil until then.
    package var acknowledgedAt: EpochMilliseconds?

    /// Creates an item from its columns.
    ///
    /// NULs are removed from `title` and `body`, and both are truncated to ``StorageLimits/historyTextBytes`` at a
    /// character boundary, because pushes allow NULs and longer text.
    package init(
        id: UUIDv7, secretHash: SecretHash, eventID: String?, eventType: String, sessionID: String,
        serverID: String?, readAt: EpochMilliseconds? = nil, title: String? = nil, body: String? = nil,
        sealed: String? = nil, acknowledgedAt: EpochMilliseconds? = nil
    ) {
        self.id = id
        self.secretHash = secretHash
        self.eventID = eventID
        self.eventType = eventType
        self.sessionID = sessionID
        self.serverID = serverID
        self.readAt = readAt
        self.title = title.map { StorageText.cut($0, bytes: StorageLimits.historyTextBytes) }
        self.body = body.map { StorageText.cut($0, bytes: StorageLimits.historyTextBytes) }
        self.sealed = sealed
        self.acknowledgedAt = acknowledgedAt
    }

    /// When the item was sent.
    package var createdAt: EpochMilliseconds { id.milliseconds }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(eventID ?? "", field: "eventID", bytes: StorageLimits.eventIDBytes)
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try StorageText.check(serverID ?? "", field: "serverID", bytes: StorageLimits.serverIDBytes)
        try StorageText.check(sealed ?? "", field: "sealed", bytes: StorageLimits.sealedBytes)
    }
}

/// The result of adding items to histories.
package struct HistoryAddition: Hashable, Sendable {
    /// The number of stored items; an item is left out if its secret has no device or already has its `eventID`.
    package var stored: Int
    /// The number of older items removed because their secret had more than ``StorageLimits/historyItemsMax``.
    package var removed: Int
    /// The numbers of unread items for the requested keys, including those added by this call.
    package var unread: [SecretKey: Int]

    /// Creates a result from its counts.
    package init(stored: Int = 0, removed: Int = 0, unread: [SecretKey: Int] = [:]) {
        self.stored = stored
        self.removed = removed
        self.unread = unread
    }
}

/// A page of a secret's history.
package struct HistoryPage: Hashable, Sendable {
    /// The items, newest first.
    package var items: [HistoryItem]
    /// How many of the secret's items are unread in total.
    package var unread: Int

    /// Creates a page from its parts.
    package init(items: [HistoryItem] = [], unread: Int = 0) {
        self.items = items
        self.unread = unread
    }
}

/// The result of marking items as read.
package struct HistoryReading: Hashable, Sendable {
    /// The number of items that the call marked as read.
    package var read: Int
    /// The number of the secret's items that are unread now.
    package var unread: Int

    /// Creates a result from its counts.
    package init(read: Int = 0, unread: Int = 0) {
        self.read = read
        self.unread = unread
    }
}

extension [HistoryItem] {
    /// At most `limit` items, newest first.
    package func newestFirst(_ limit: Int) -> [HistoryItem] {
        Array(sorted { $0.id > $1.id }.prefix(Swift.max(limit, 0)))
    }
}

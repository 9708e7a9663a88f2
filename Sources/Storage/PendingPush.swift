/// A push waiting to be retried: a row of `pending_push`.
package struct PendingPush: Hashable, Sendable {
    /// The push's `apns-id`, a UUID of 36 characters; the same for every attempt.
    package let id: String
    /// The hash under which the device's row is stored, so that the push and the device stay together.
    package let secretHash: SecretHash
    /// The `id` of the device that the push is for.
    package let deviceID: String
    /// The event's type, for the delivery log.
    package let eventType: String
    /// The session that the event is about, for the delivery log.
    package let sessionID: String
    /// APNs' request body.
    package let payload: [UInt8]
    /// The push's `apns-push-type`.
    package let pushType: String
    /// The push's `apns-priority`.
    package let priority: Int
    /// The push's `apns-collapse-id`, if any.
    package let collapseID: String?
    /// The number of attempts so far.
    package let attempts: Int
    /// The time of the next attempt.
    package let dueAt: EpochMilliseconds
    /// When the event arrived.
    package let createdAt: EpochMilliseconds
    /// When the push expires; `apns-expiration` is this time in seconds.
    package let expiresAt: EpochMilliseconds
    /// The ID by which the push's event can be acknowledged, after which the push isn't sent; nil if the event can't be
    /// acknowledged.
    package let eventID: String?
    /// The event type or the notification's kind, which devices can opt out of; nil if the push has none.
    package let kind: String?

    /// Creates a push from its columns.
    package init(
        id: String, secretHash: SecretHash, deviceID: String, eventType: String, sessionID: String,
        payload: [UInt8], pushType: String, priority: Int, collapseID: String?, attempts: Int,
        dueAt: EpochMilliseconds, createdAt: EpochMilliseconds, expiresAt: EpochMilliseconds,
        eventID: String? = nil, kind: String? = nil
    ) {
        self.id = id
        self.secretHash = secretHash
        self.deviceID = deviceID
        self.eventType = eventType
        self.sessionID = sessionID
        self.payload = payload
        self.pushType = pushType
        self.priority = priority
        self.collapseID = collapseID
        self.attempts = attempts
        self.dueAt = dueAt
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.eventID = eventID
        self.kind = kind
    }

    /// Whether the push goes to a row of `push_token` instead of its device's own token.
    var isForToken: Bool { ["liveactivity", "widgets", "controls"].contains(pushType) }

    /// The same push, for a device that is stored under another hash.
    package func moved(to secretHash: SecretHash, for deviceID: String) -> PendingPush {
        copy(secretHash: secretHash, deviceID: deviceID, dueAt: dueAt)
    }

    /// The same push with another payload.
    package func with(payload: [UInt8]) -> PendingPush {
        copy(secretHash: secretHash, deviceID: deviceID, dueAt: dueAt, payload: payload)
    }

    /// The same push, due at another time.
    func due(at time: EpochMilliseconds) -> PendingPush {
        copy(secretHash: secretHash, deviceID: deviceID, dueAt: time)
    }

    private func copy(
        secretHash: SecretHash, deviceID: String, dueAt: EpochMilliseconds, payload: [UInt8]? = nil
    ) -> PendingPush {
        PendingPush(
            id: id, secretHash: secretHash, deviceID: deviceID, eventType: eventType, sessionID: sessionID,
            payload: payload ?? self.payload, pushType: pushType, priority: priority, collapseID: collapseID,
            attempts: attempts, dueAt: dueAt, createdAt: createdAt, expiresAt: expiresAt,
            eventID: eventID, kind: kind)
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(id, field: "id", bytes: StorageLimits.idBytes)
        try StorageText.check(deviceID, field: "deviceID", bytes: StorageLimits.idBytes)
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try StorageText.check(pushType, field: "pushType", bytes: StorageLimits.pushTypeBytes)
        try StorageText.check(collapseID ?? "", field: "collapseID", bytes: StorageLimits.collapseIDBytes)
        try StorageText.check(eventID ?? "", field: "eventID", bytes: StorageLimits.eventIDBytes)
        try StorageText.check(kind ?? "", field: "kind", bytes: StorageLimits.eventTypeBytes)
        guard payload.count <= StorageLimits.payloadBytes else { throw .invalidValue(field: "payload") }
    }
}

/// A worker's temporary right to send pushes; until it ends, no other worker can claim them.
///
/// In the table a leased row has `lease_owner`, and `due_at` is the lease's end: a push whose lease has expired is
/// simply due.
package struct PushLease: Hashable, Sendable {
    /// The ID of the lease's owner.
    ///
    /// Each call that takes a lease uses a new ID, so that a worker can't confuse two of its leases on the same row.
    package let owner: UUIDv7
    /// When others may take the pushes, according to the clock of the process that took the lease.
    ///
    /// Relays' clocks differ: the lease must outlast the work by more than the maximum clock skew.
    package let until: EpochMilliseconds

    /// Creates a lease from its parts.
    package init(owner: UUIDv7, until: EpochMilliseconds) {
        self.owner = owner
        self.until = until
    }
}

/// The result of storing a push; reaching a limit isn't an error.
package enum EnqueueResult: Hashable, Sendable {
    /// The push is stored.
    case queued
    /// The secret already has the maximum number of queued pushes.
    case secretFull
    /// The device was unregistered or removed in the meantime; nothing was stored.
    case deviceGone
}

/// A push that a worker has leased.
package struct ClaimedPush: Hashable, Sendable {
    /// The push, with its `dueAt` from before the claim.
    package let push: PendingPush
    /// The device as registered now; nil if it is no longer registered.
    package let device: Device?
    /// Whether the push's event has been acknowledged or replied to.
    package let isAcknowledged: Bool

    /// Creates a claimed push from its parts.
    package init(push: PendingPush, device: Device?, isAcknowledged: Bool = false) {
        self.push = push
        self.device = device
        self.isAcknowledged = isAcknowledged
    }
}

/// The size of the queue.
package struct QueueSize: Hashable, Sendable {
    /// The number of pushes.
    package var pushes: Int
    /// The total size of the pushes' payloads in bytes.
    package var bytes: Int

    /// Creates a size from its parts.
    package init(pushes: Int = 0, bytes: Int = 0) {
        self.pushes = pushes
        self.bytes = bytes
    }
}

/// How a worker ends its lease on a push.
package struct Settlement: Hashable, Sendable {
    /// What to do with the push.
    package enum End: Hashable, Sendable {
        /// The push has a final result: its row is deleted and the result is logged in the same transaction.
        ///
        /// An existing delivery log row with the same time and ID is left unchanged.
        case over(Delivery)
        /// The push is retried at `dueAt`, or returned unsent; `attempts` is the number of attempts so far.
        case again(dueAt: EpochMilliseconds, attempts: Int)
    }

    /// The push's `id`.
    package let id: String
    /// The hash under which the push was claimed or stored.
    package let secretHash: SecretHash
    /// The owner of the push's lease.
    package let owner: UUIDv7
    /// What to do with the push.
    package let end: End

    /// Creates a settlement from its parts.
    package init(id: String, secretHash: SecretHash, owner: UUIDv7, end: End) {
        self.id = id
        self.secretHash = secretHash
        self.owner = owner
        self.end = end
    }

    /// Throws if the log row can't be stored unchanged; drivers call this before they write the row.
    package func validate() throws(StorageError) {
        if case .over(let delivery) = end { try delivery.validate() }
    }
}

/// A push that waits to be sent again: a row of `pending_push`.
package struct PendingPush: Hashable, Sendable {
    /// The push's `apns-id`, a UUID of 36 characters; the same at every attempt.
    package let id: String
    /// The hash under which the device's row is kept, so that the two stay together.
    package let secretHash: SecretHash
    /// The `id` of the device it is for.
    package let deviceID: String
    /// The event's type, for the delivery log.
    package let eventType: String
    /// The session that the event is about, for the delivery log.
    package let sessionID: String
    /// APNs' request body.
    package let payload: [UInt8]
    /// `apns-push-type`.
    package let pushType: String
    /// `apns-priority`.
    package let priority: Int
    /// `apns-collapse-id`; nil where there is none.
    package let collapseID: String?
    /// How often it was tried.
    package let attempts: Int
    /// When it may be tried next.
    package let dueAt: EpochMilliseconds
    /// When the event came.
    package let createdAt: EpochMilliseconds
    /// When it is given up; `apns-expiration` is this in seconds.
    package let expiresAt: EpochMilliseconds

    /// A push of its columns.
    package init(
        id: String, secretHash: SecretHash, deviceID: String, eventType: String, sessionID: String,
        payload: [UInt8], pushType: String, priority: Int, collapseID: String?, attempts: Int,
        dueAt: EpochMilliseconds, createdAt: EpochMilliseconds, expiresAt: EpochMilliseconds
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
    }

    /// Refuses what can't be stored as it is; every driver calls it first.
    package func validate() throws(StorageError) {
        try StorageText.check(id, field: "id", bytes: StorageLimits.idBytes)
        try StorageText.check(deviceID, field: "deviceID", bytes: StorageLimits.idBytes)
        try StorageText.check(eventType, field: "eventType", bytes: StorageLimits.eventTypeBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try StorageText.check(pushType, field: "pushType", bytes: StorageLimits.pushTypeBytes)
        try StorageText.check(collapseID ?? "", field: "collapseID", bytes: StorageLimits.collapseIDBytes)
        guard payload.count <= StorageLimits.payloadBytes else { throw .invalidValue(field: "payload") }
    }
}

/// A worker's hold on pushes for some time; while it lasts nobody else is given them.
///
/// In the table a leased row has `lease_owner`, and `due_at` is the lease's end: a lease that ran out is simply due.
package struct PushLease: Hashable, Sendable {
    /// Whose it is.
    ///
    /// One for each call that takes a lease, so that a worker can't mistake a later hold on the same row
    /// for an earlier one of its own.
    package let owner: UUIDv7
    /// When others may take the pushes, by the clock of the lease's taker.
    ///
    /// Clocks of relays differ: it must be later than the work can take by more than they may.
    package let until: EpochMilliseconds

    /// A lease of its parts.
    package init(owner: UUIDv7, until: EpochMilliseconds) {
        self.owner = owner
        self.until = until
    }
}

/// What became of a push that was to be stored; a bound that is reached is no error.
package enum EnqueueResult: Hashable, Sendable {
    /// It is stored.
    case queued
    /// The secret has as many waiting as it may.
    case secretFull
    /// The device was unregistered or removed in the meantime; nothing was stored.
    case deviceGone
}

/// A push that a worker holds.
package struct ClaimedPush: Hashable, Sendable {
    /// The push; its `dueAt` is as it was before the claim.
    package let push: PendingPush
    /// The device as it is registered now; nil when there is no such device any more.
    package let device: Device?

    /// A claimed push of its parts.
    package init(push: PendingPush, device: Device?) {
        self.push = push
        self.device = device
    }
}

/// The end of a worker's hold on one push.
package struct Settlement: Hashable, Sendable {
    /// What shall become of the push.
    package enum End: Hashable, Sendable {
        /// It is over: the row goes, and its end is written to the delivery log in the same transaction.
        ///
        /// A log row that has the same time and id already stays as it is.
        case over(Delivery)
        /// It shall be tried again, or given back; it has been tried so often by then.
        case again(dueAt: EpochMilliseconds, attempts: Int)
    }

    /// The push's `id`.
    package let id: String
    /// The hash under which it was claimed or stored.
    package let secretHash: SecretHash
    /// The owner of the lease under which it is held.
    package let owner: UUIDv7
    /// What shall become of it.
    package let end: End

    /// A settlement of its parts.
    package init(id: String, secretHash: SecretHash, owner: UUIDv7, end: End) {
        self.id = id
        self.secretHash = secretHash
        self.owner = owner
        self.end = end
    }

    /// Refuses what can't be stored as it is; every driver calls it first.
    package func validate() throws(StorageError) {
        if case .over(let delivery) = end { try delivery.validate() }
    }
}

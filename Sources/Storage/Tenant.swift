/// What the database stores about one secret.
package struct Tenant: Hashable, Sendable {
    /// The hash under which the tenant's rows are stored.
    package let secretHash: SecretHash
    /// The number of the tenant's devices.
    package var devices = 0
    /// The number of the tenant's queued pushes, including leased ones.
    package var waiting = 0
    /// When one of the tenant's devices last registered; nil if it has no devices.
    package var deviceUpdatedAt: EpochMilliseconds?
    /// When the tenant's newest delivery log row was written; nil if there is none.
    package var deliveredAt: EpochMilliseconds?

    /// Creates a tenant without any rows yet.
    package init(secretHash: SecretHash) {
        self.secretHash = secretHash
    }

    /// The later of `deviceUpdatedAt` and `deliveredAt`; nil if neither is known.
    package var lastUsed: EpochMilliseconds? {
        [deviceUpdatedAt, deliveredAt].compactMap(\.self).max()
    }
}

/// Some of a database's tenants, in the order of their hashes.
package struct TenantPage: Hashable, Sendable {
    /// The tenants that were read.
    package var tenants: [Tenant]
    /// Where the next page begins; nil when there is none.
    package var next: String?

    /// Creates a page from its parts.
    package init(tenants: [Tenant], next: String?) {
        self.tenants = tenants
        self.next = next
    }
}

/// A queued push as shown to an operator, without its content.
package struct WaitingPush: Hashable, Sendable {
    /// The secret's hash.
    package let secretHash: SecretHash
    /// The push's `apns-id`.
    package let id: String
    /// The `id` of the device that the push is for.
    package let deviceID: String
    /// The event's type.
    package let eventType: String
    /// The number of attempts so far.
    package let attempts: Int
    /// When the next attempt may start; while a relay has leased the push, the end of the lease.
    package let dueAt: EpochMilliseconds
    /// Whether a relay has leased the push and is sending it.
    package let isLeased: Bool
    /// When the event arrived.
    package let createdAt: EpochMilliseconds
    /// When the push expires.
    package let expiresAt: EpochMilliseconds

    /// Creates a push from its columns.
    package init(
        secretHash: SecretHash, id: String, deviceID: String, eventType: String, attempts: Int,
        dueAt: EpochMilliseconds, isLeased: Bool, createdAt: EpochMilliseconds, expiresAt: EpochMilliseconds
    ) {
        self.secretHash = secretHash
        self.id = id
        self.deviceID = deviceID
        self.eventType = eventType
        self.attempts = attempts
        self.dueAt = dueAt
        self.isLeased = isLeased
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    /// The push's position in the queue.
    package var cursor: WaitingCursor {
        WaitingCursor(dueAt: dueAt, secretHash: secretHash, id: id)
    }
}

/// A position in the queue, which is ordered by due time, then hash and ID.
package struct WaitingCursor: Hashable, Sendable {
    /// The push's due time.
    package let dueAt: EpochMilliseconds
    /// The hash of the push's secret.
    package let secretHash: SecretHash
    /// The push's `apns-id`.
    package let id: String

    /// Creates a position from its parts.
    package init(dueAt: EpochMilliseconds, secretHash: SecretHash, id: String) {
        self.dueAt = dueAt
        self.secretHash = secretHash
        self.id = id
    }
}

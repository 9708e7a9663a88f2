// The roles of a storage. Code asks only for the role that it needs. ``Storage`` documents what all roles have in
// common.

/// The devices of secrets.
package protocol RegistrationStorage: Sendable {
    /// Inserts a device or, when the secret has its token already, updates it.
    ///
    /// On update the bundle and environment follow this call and `updatedAt` becomes the call's time, and always later
    /// than it was, so that a removal for the registration before can't take this one; `id` and `createdAt` stay, and
    /// so does each of the details that the call leaves nil. The limit counts the secret's devices in the same
    /// transaction as the insert, so that concurrent calls never exceed it; it refuses new tokens only. Rows under a
    /// legacy hash move to the primary.
    ///
    /// With an `installationID`, the device is the secret's one of that installation: the call's token replaces the
    /// token that it has, and its queued pushes go to the new one. A device that has the token but is another
    /// installation's, or none, becomes this one's; if there are both, it is removed and its queued pushes move. Without
    /// one, the device is the one with the token and stays what it is.
    func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult

    /// Removes a device from a secret and ends its queued pushes; false if it wasn't registered, which is no error.
    ///
    /// Each of these pushes gets a log row (`Delivery.deviceRemoved`) at `now`, in the same transaction. If the log
    /// can't be written, they end without rows: a full log must not keep a device registered. A push that a worker
    /// holds stays until the worker ends it, or is claimed without a device once its lease has expired. The secret's
    /// history, replies, schedules and agents' last use are removed together with its last device.
    func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// The secret's devices, each token once, oldest first (by `createdAt`, then `id`).
    func devices(of key: SecretKey) async throws(StorageError) -> [Device]

    /// Moves a secret's devices, waiting pushes, schedules and block from its legacy hashes to the primary; false when
    /// there were none.
    ///
    /// If a token has rows under several hashes, one row stays and gets the pushes of the others. A worker that holds
    /// one of the pushes or schedules no longer holds it (`settle` returns false). Log rows and receipts stay until they expire.
    func rehash(_ key: SecretKey) async throws(StorageError) -> Bool

    /// Stores which environment accepted a device's token.
    ///
    /// Only if the row still exists and hasn't been registered again since `device` was read (`updatedAt` isn't newer):
    /// a newer registration takes precedence. `updatedAt` stays. True if this call changed the row.
    func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool

    /// Removes a device that APNs no longer knows, unless its `updatedAt` is later than `time`.
    ///
    /// APNs reports since when a token has been invalid; a later registration stays. True if the device was removed;
    /// its queued pushes then end as in `unregister`.
    func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// The preferences of all secrets' devices; one step of a walk over all devices, in the order of `pruneDevices`.
    ///
    /// Looks at `limit` devices after `cursor`; `looked` is how many there were, and `texts` has the preferences of those
    /// that have any. Call again with the result's `next` until it is nil.
    func preferences(
        after cursor: DeviceCursor?, limit: Int
    ) async throws(StorageError) -> PreferencesPage

    /// The number of devices of all secrets; counting stops at `limit`.
    func countDevices(limit: Int) async throws(StorageError) -> Int

    /// Removes devices that last registered before `time`; one step of a walk over all devices.
    ///
    /// Looks at `limit` devices after `cursor`, whatever their age. Each is removed as `remove` does it, in a
    /// transaction of its own. Rows that can't be read stay. Call again with the result's `next` until it is nil.
    func pruneDevices(
        before time: EpochMilliseconds, after cursor: DeviceCursor?, limit: Int, at now: EpochMilliseconds
    ) async throws(StorageError) -> DevicePruning

    /// Removes what secrets without devices leave behind for locking; one step of a walk over all secrets.
    ///
    /// Looks at `limit` rows at most after the hash `start`, and returns how many it removed and the hash from which to
    /// go on, which is nil at the end. A secret that gets a device meanwhile isn't affected.
    func pruneLocks(after start: String, limit: Int) async throws(StorageError) -> (
        removed: Int, next: String?
    )
}

/// The delivery log.
package protocol DeliveryLogStorage: Sendable {
    /// Appends to the delivery log: all rows or none, except that a database which shards by secret may have stored some
    /// when this throws. There each call finds the rows that are stored, as if `isRepeated` were set.
    ///
    /// If it throws `unconfirmed`, the caller may call again with `isRepeated`: rows whose time and id are already
    /// stored stay as they are.
    func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError)

    /// The secret's delivery log, newest first (by `createdAt`, then `id`, both falling), at most `limit` rows.
    ///
    /// - Parameter before: the `cursor` of the last row of the page before; nil for the first page.
    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery]

    /// How many pushes to each of a secret's devices APNs accepted from a time on, and how many of them from a later
    /// time on; devices without any are left out.
    ///
    /// Rows from `end` on come from a clock that was ahead, and don't count.
    /// Looks at the secret's newest ``StorageLimits/countedDeliveriesMax`` rows under each hash.
    func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) async throws(StorageError) -> [String: SentCount]
}

/// Receipts of events, so that an event sent twice is processed once.
package protocol ReceiptStorage: Sendable {
    /// Claims an event, so that only one caller handles it.
    ///
    /// Of any number of concurrent claims to one (secret, `eventID`) exactly one is `claimed`. A receipt counts for 24
    /// h from its claim (`StorageLimits.receiptLifetime`) and is ignored after that. A claim whose lease expired
    /// without an answer may be claimed again with the same content. A lease that ends later than allowed
    /// (`StorageLimits.receiptLeaseMax`) comes from a clock that was ahead: it is shortened to this claim's own.
    func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult

    /// Stores the answer of a claimed event; later claims get `answered`.
    ///
    /// False if the claim was lost: its lease expired and another caller claimed the event, or it was released or
    /// pruned.
    func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool

    /// Releases a claimed event without an answer, so that it can be claimed immediately. Does nothing if the claim was
    /// lost or completed.
    func release(_ event: EventClaim) async throws(StorageError)
}

/// The queued pushes.
package protocol QueueStorage: Sendable {
    /// Stores pushes to be sent later, and returns the result for each, in order.
    ///
    /// All of it is one transaction. `limitPerSecret` counts the waiting pushes of a secret, those of this call
    /// included. With a lease, the caller holds the pushes as if it had claimed them. This is for pushes that are being
    /// sent right now, whose rows are needed only if the process dies. An ID that is already stored is left as it is
    /// and counts as queued, whatever the limit.
    ///
    /// If it throws `unconfirmed`, the caller may call again with `isRepeated`: a push that has an end in the delivery
    /// log by then isn't stored again and counts as queued.
    func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult]

    /// Takes pushes that are due at `now`, at most `limit`, each with its device as it is registered now, and whether
    /// its event has been acknowledged under the push's hash.
    ///
    /// A second caller gets a push only after its lease has expired by that caller's clock. Secrets take turns
    /// (`DueScan`): one with 10,000 due pushes doesn't keep another's one waiting. Pushes past their `expiresAt` and
    /// those whose device is gone or unreadable are returned too, so that their result is recorded. The call may return
    /// fewer pushes than are due, or none, if other callers take them at the same moment. A caller that claims often
    /// should use a narrow `scope` most of the time, which doesn't scan past backlogs.
    func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush]

    /// Ends the caller's holds on pushes in one transaction, and returns for each, in order, whether it was held.
    ///
    /// On a database that shards by secret, each part of the hashes has a transaction of its own. If one fails, this
    /// throws, and the ends of the parts before it are written; the next call returns false for them.
    ///
    /// False, with nothing changed and nothing logged, if that owner no longer holds the push: its lease ran
    /// out and another caller took it, its secret was revoked, or the secret's rows moved under the pepper.
    ///
    /// - Parameter logging: Whether to write log rows; false is for a log that can't be written.
    func settle(_ settlements: [Settlement], logging: Bool) async throws(StorageError) -> [Bool]

    /// When the next push is due or the next lease expires; nil if the queue is empty.
    func nextPushDue() async throws(StorageError) -> EpochMilliseconds?

    /// Finds pushes whose due time or, with `leased`, whose lease's end is later than `horizon`: the latest first, at
    /// most `limit`.
    ///
    /// Only a clock that was ahead can have set a time beyond the longest wait.
    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush]

    /// Sets when pushes are due or their leases end, except for those changed since they were found; returns how
    /// many it set.
    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int

    /// The number of queued pushes, including leased ones; counting stops at `limit`.
    func countPushes(limit: Int) async throws(StorageError) -> Int

    /// The number of queued pushes and the size of their payloads; stops at `limit` pushes.
    ///
    /// Reads every row: callers rest between two calls.
    func measurePushes(limit: Int) async throws(StorageError) -> QueueSize
}

/// The secrets that the relays refuse.
package protocol BlockStorage: Sendable {
    /// Blocks a secret by one of its hashes, unless `limit` are blocked already.
    ///
    /// This only stores the block; relays enforce it. `rehash` moves it with the secret's other rows.
    func block(_ secret: BlockedSecret, limit: Int) async throws(StorageError) -> BlockResult

    /// Ends the block of a hash; false when it wasn't blocked.
    func unblock(_ hash: SecretHash) async throws(StorageError) -> Bool

    /// The blocked secrets by their hashes, at most `limit`.
    func blockedSecrets(limit: Int) async throws(StorageError) -> [BlockedSecret]
}

/// What was sent to a secret's devices, for them to list.
///
/// Items stay under the hash that they were stored with, like log rows.
package protocol HistoryStorage: Sendable {
    /// Adds items, all or none, and counts the unread items of some keys.
    ///
    /// An engine that shards by secret adds all or none of those in each part of the hashes (`SecretHash.bucket`).
    /// An item is left out if its secret has no device, or has one with the same `eventID`; of two callers at the same moment both may
    /// add theirs, which `ReceiptStorage.claim` excludes. A secret keeps its newest
    /// ``StorageLimits/historyItemsMax`` items. The call may be repeated.
    ///
    /// - Parameter items: Each with the key of its secret, whose primary hash it has.
    func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition

    /// A secret's items, newest first (by `id`, falling), at most `limit`, and the number of its unread items.
    ///
    /// - Parameter before: the last item of the page before; nil for the first page. It need not exist.
    func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) async throws(StorageError) -> HistoryPage

    /// Marks items of a secret as read at `now`: those with some IDs, or all with nil.
    ///
    /// Items that are read already keep their time, and IDs that the secret doesn't have are ignored.
    func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> HistoryReading
}

/// When agents last used secrets, for devices to show.
///
/// A row stays under the hash that it was stored with, like log rows.
package protocol AgentStorage: Sendable {
    /// Stores the last uses of secrets that have a device, all or none.
    ///
    /// An engine that shards by secret stores all or none of those in each part of the hashes (`SecretHash.bucket`).
    /// An earlier time than the stored one changes nothing, unless it is earlier by more than clocks can differ
    /// (``StorageLimits/clockSkewMax``), and a use without a client's name keeps the stored name.
    /// Uses of secrets without devices are left out. The call may be repeated.
    func note(_ uses: [(use: AgentUse, key: SecretKey)]) async throws(StorageError)

    /// The last use of a secret, under any of its hashes, nil if none is stored; and, in the same read, the newest
    /// `deliveries` rows of its delivery log.
    func agentUse(
        of key: SecretKey, deliveries: Int
    ) async throws(StorageError) -> (use: AgentUse?, deliveries: [Delivery])
}

/// What operators inspect and change: a secret's rows in all tables, and totals.
package protocol TenantStorage: Sendable {
    /// The number of rows of a secret, under all its hashes, that `revoke` would remove.
    func holdings(of key: SecretKey) async throws(StorageError) -> Holdings

    /// Removes a secret's rows in all tables except the delivery log and the blocked secrets, at most `limit` rows of each
    /// table under each hash, all in one transaction, and says how many.
    ///
    /// Small steps let other writers in: call again until nothing is left. The delivery log stays.
    func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings

    /// Counts the ends of pushes in the delivery log from a time on and before another: of one hash, or of all.
    ///
    /// About `limit` rows are looked at (only what ended in one millisecond is never cut), along an index by time;
    /// the tally says up to when it counted, and the next call goes on from there.
    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally

    /// Counts the rows in one of `Census.shares` parts of the database, which are about equal in size.
    func census(ofShare share: UInt8) async throws(StorageError) -> Census

    /// The hashes that begin with some digits and have a row in one of the scope's tables, in order, at most `limit`.
    func hashes(
        beginningWith prefix: SecretHashPrefix, in scope: SecretHashScope, limit: Int
    ) async throws(StorageError) -> [SecretHash]

    /// Secrets with devices or waiting pushes whose hashes lie between two texts, in order.
    ///
    /// About `limit` are read, along the index of hashes; the page says where the next begins.
    func tenants(
        after start: String, before end: String, limit: Int
    ) async throws(StorageError) -> TenantPage

    /// The pushes that wait, leased ones included, by due time, at most `limit`: of one hash, or of all.
    func waitingPushes(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) async throws(StorageError) -> [WaitingPush]
}

/// The state of the database itself.
package protocol DatabaseStatus: Sendable {
    /// Runs trivial queries on the connection that the next request would use, and reads the server's clock.
    ///
    /// - Parameter now: This machine's time.
    /// - Returns: Both clocks; nil for a file.
    func ping(now: @escaping @Sendable () -> EpochMilliseconds) async throws(StorageError) -> ClockReading?

    /// Inserts, updates and deletes a row in each table, in one transaction that is committed: nothing of it remains.
    ///
    /// Throws what storing a registration, a queued push or its log row would throw now: no space, a read-only
    /// database, a missing privilege. It costs as much as any write, so the caller limits how often it runs.
    func tryWriting(id: UUIDv7, at now: EpochMilliseconds) async throws(StorageError)

    /// The version of the database's schema: `SchemaStep.current` unless another program changed it since it was
    /// opened.
    func schemaVersion() async throws(StorageError) -> Int

    /// How busy the database is; read from memory, without a query.
    var load: StorageLoad { get }
}

extension DatabaseStatus {
    /// Runs trivial queries on the connection that the next request would use.
    package func ping() async throws(StorageError) {
        _ = try await ping { 0 }
    }
}

extension DeliveryLogStorage {
    /// Appends to the delivery log, for the first time.
    package func append(_ deliveries: [Delivery]) async throws(StorageError) {
        try await append(deliveries, isRepeated: false)
    }

    /// The newest delivery to each of a secret's devices, newest first; none for a device that had none among the
    /// secret's newest `StorageLimits.lastDeliveriesWindow`.
    ///
    /// Uses the log's newest rows, because an index by device would make every push more expensive.
    package func lastDeliveries(
        to devices: [Device], under key: SecretKey
    ) async throws(StorageError) -> [Delivery] {
        guard !devices.isEmpty else { return [] }
        return try await deliveries(of: key, before: nil, limit: StorageLimits.lastDeliveriesWindow)
            .newest(to: devices)
    }
}

extension AgentStorage {
    /// When an agent last used a secret, and the newest delivery to each of its devices, as `lastDeliveries` has them.
    ///
    /// One read; none without devices.
    package func lastUses(
        of devices: [Device], under key: SecretKey
    ) async throws(StorageError) -> (agent: AgentUse?, deliveries: [Delivery]) {
        guard !devices.isEmpty else { return (nil, []) }
        let found = try await agentUse(of: key, deliveries: StorageLimits.lastDeliveriesWindow)
        return (found.use, found.deliveries.newest(to: devices))
    }
}

extension [Delivery] {
    /// The first delivery to each of some devices.
    fileprivate func newest(to devices: [Device]) -> [Delivery] {
        var missing = Set(devices.map(\.id))
        return filter { delivery in delivery.deviceID.map { missing.remove($0) != nil } ?? false }
    }
}

extension QueueStorage {
    /// Ends the caller's holds on pushes and writes their log rows.
    package func settle(_ settlements: [Settlement]) async throws(StorageError) -> [Bool] {
        try await settle(settlements, logging: true)
    }

    /// Stores pushes to be sent later, for the first time.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int
    ) async throws(StorageError) -> [EnqueueResult] {
        try await enqueue(pushes, lease: lease, limitPerSecret: limitPerSecret, isRepeated: false)
    }
}

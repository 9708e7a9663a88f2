// The roles of a storage. Code depends only on the role that it needs. ``Storage`` documents what all roles have in
// common.

/// The devices registered under secrets.
package protocol RegistrationStorage: Sendable {
    /// Inserts a device, or updates it if the secret already has its token.
    ///
    /// An update sets the bundle ID and environment. It sets `updatedAt` to the call's time or, if that isn't later
    /// than the old value, to just after the old value, so that removing the previous registration can't remove this
    /// one. `id`, `createdAt` and details that the call leaves nil are kept. The secret's devices are counted in the
    /// same transaction as the insert, so that concurrent calls can't exceed the limit, which applies only to new
    /// tokens. Rows under a legacy hash move to the primary hash.
    ///
    /// With an `installationID`, the device is the secret's device for that installation: the call's token replaces the
    /// device's token, and its queued pushes go to the new token. If another device has the token, whether for another
    /// installation or none, that device becomes this installation's device; if the installation already has a device,
    /// the device with the token is removed and its queued pushes move. Without an `installationID`, the device is the
    /// one with the token, and its installation is kept.
    func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult

    /// Removes a device from a secret and ends its queued pushes; false if it wasn't registered, which isn't an error.
    ///
    /// Each of these pushes gets a log row (`Delivery.deviceRemoved`) at `now`, in the same transaction. If the log
    /// can't be written, the pushes end without log rows: a full log must not keep a device registered. A push that a
    /// worker has leased stays until the worker ends it, or until it is claimed without a device after its lease
    /// expires. The secret's history, replies, schedules, access tokens and agents' last use are removed together with
    /// its last device.
    func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// The secret's devices, one row per token, oldest first (by `createdAt`, then `id`).
    func devices(of key: SecretKey) async throws(StorageError) -> [Device]

    /// Moves a secret's devices, tokens, queued pushes, schedules and block from its legacy hashes to the primary hash;
    /// false if there were none.
    ///
    /// If a token has rows under several hashes, one row stays and gets the pushes of the others. A worker that has
    /// leased one of the pushes or schedules loses the lease (`settle` returns false). Log rows and receipts stay where
    /// they are until they expire.
    func rehash(_ key: SecretKey) async throws(StorageError) -> Bool

    /// Stores which environment accepted a device's token.
    ///
    /// Changes nothing if the row no longer exists or has been registered again since `device` was read (`updatedAt` is
    /// newer): a newer registration takes precedence. `updatedAt` is kept. Returns whether this call changed the row.
    func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool

    /// Stores a device's preferences under the same conditions as ``setEnvironment(_:of:)``; true if it stored them.
    func setPreferences(_ preferences: String, of device: Device) async throws(StorageError) -> Bool

    /// Removes a device that APNs no longer knows, unless its `updatedAt` is later than `time`.
    ///
    /// APNs reports the time since which a token has been invalid; a later registration is kept. Returns whether the
    /// device was removed; if so, its queued pushes end as in `unregister`.
    func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// The preferences of all secrets' devices; one step of a walk over all devices, in the same order as
    /// `pruneDevices`.
    ///
    /// Reads `limit` devices after `cursor`; `looked` is how many were read, and `texts` contains the preferences of
    /// the devices that have any. Call again with the result's `next` until it is nil.
    func preferences(
        after cursor: DeviceCursor?, limit: Int
    ) async throws(StorageError) -> PreferencesPage

    /// The number of devices of all secrets; counting stops at `limit`.
    func countDevices(limit: Int) async throws(StorageError) -> Int

    /// Removes devices that last registered before `time`; one step of a walk over all devices.
    ///
    /// Reads `limit` devices after `cursor`, whatever their age. Each stale device is removed as in `remove`, in its
    /// own transaction. Unreadable rows stay. Call again with the result's `next` until it is nil.
    func pruneDevices(
        before time: EpochMilliseconds, after cursor: DeviceCursor?, limit: Int, at now: EpochMilliseconds
    ) async throws(StorageError) -> DevicePruning

    /// Removes the lock rows of secrets without devices; one step of a walk over all secrets.
    ///
    /// Reads at most `limit` rows after the hash `start`, and returns how many it removed and the hash at which to
    /// continue, or nil at the end. A secret that gets a device in the meantime isn't affected.
    func pruneLocks(after start: String, limit: Int) async throws(StorageError) -> (
        removed: Int, next: String?
    )
}

/// The delivery log.
package protocol DeliveryLogStorage: Sendable {
    /// Appends to the delivery log: all rows or none, except that a database that shards by secret may have stored some
    /// rows when the call throws. On such a database each call keeps rows that are already stored, as if `isRepeated`
    /// were set.
    ///
    /// If it throws `unconfirmed`, the caller may call again with `isRepeated`: rows whose time and ID are already
    /// stored are left unchanged.
    func append(_ deliveries: [Delivery], isRepeated: Bool) async throws(StorageError)

    /// The secret's delivery log, newest first (by `createdAt`, then `id`, both descending), at most `limit` rows.
    ///
    /// - Parameter before: the `cursor` of the previous page's last row; nil for the first page.
    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery]

    /// For each of a secret's devices, how many pushes APNs accepted since `start`, and how many of those since
    /// `recent`; devices without any are left out.
    ///
    /// Rows from `end` on were written by a relay whose clock was ahead, and aren't counted. Reads the secret's newest
    /// ``StorageLimits/countedDeliveriesMax`` rows under each hash, and counts a row's pushes after the first only in
    /// the newest ``StorageLimits/countedSharedDeliveriesMax`` of them.
    func countSent(
        of key: SecretKey, since start: EpochMilliseconds, recentlySince recent: EpochMilliseconds,
        before end: EpochMilliseconds
    ) async throws(StorageError) -> [String: SentCount]
}

/// Receipts for events, so that an event sent twice is processed only once.
package protocol ReceiptStorage: Sendable {
    /// Claims an event, so that only one caller handles it.
    ///
    /// Of any number of concurrent claims on the same (secret, `eventID`), exactly one is `claimed`. A receipt is valid
    /// for 24 h from its claim (`StorageLimits.receiptLifetime`). An event whose lease expired without an answer may be
    /// claimed again with the same content. A lease that ends later than allowed (`StorageLimits.receiptLeaseMax`) was
    /// set by a relay whose clock was ahead; it is shortened to this claim's lease.
    func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult

    /// Claims several events, with one statement if they are new, and returns the result for each, in order.
    ///
    /// Of two events with the same (secret, `eventID`), only one is `claimed`.
    func claim(
        _ events: [EventClaim]
    ) async throws(StorageError) -> [Result<EventClaimResult, StorageError>]

    /// Stores the answer to a claimed event; later claims get `answered`.
    ///
    /// False if the claim was lost: its lease expired and another caller claimed the event, or it was released or
    /// pruned.
    func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool

    /// Releases a claimed event without an answer, so that it can be claimed again immediately. Does nothing if the
    /// claim was lost or completed.
    func release(_ event: EventClaim) async throws(StorageError)
}

/// The queued pushes.
package protocol QueueStorage: Sendable {
    /// Stores pushes to be sent later, and returns the result for each, in order.
    ///
    /// Runs in one transaction. `limitPerSecret` applies to all queued pushes of a secret, including those of this
    /// call. With a `lease`, the caller has leased the pushes as if it had claimed them: this is for pushes in flight,
    /// whose rows are needed only if the process dies. A push whose ID is already stored is left unchanged and counts
    /// as queued, regardless of the limit.
    ///
    /// If it throws `unconfirmed`, the caller may call again with `isRepeated`: a push whose end is already in the
    /// delivery log isn't stored again and counts as queued.
    func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int, isRepeated: Bool
    ) async throws(StorageError) -> [EnqueueResult]

    /// Leases pushes that are due at `now`, at most `limit`; returns each with its device as registered now, and
    /// whether its event has been acknowledged under the push's hash.
    ///
    /// A second caller gets a push only after its lease has expired according to that caller's clock. Secrets take
    /// turns (`DueScan`): a secret with 10,000 due pushes doesn't delay another secret's single push. Pushes past their
    /// `expiresAt` and those whose device is gone or unreadable are also returned, so that their result is recorded.
    /// The call may return fewer pushes than are due, or none, if other callers take them at the same time. A caller
    /// that claims often should mostly use a narrow `scope`, which doesn't scan past backlogs.
    func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush]

    /// Ends the caller's leases on pushes in one transaction, and returns for each, in order, whether the lease was
    /// still valid.
    ///
    /// On a database that shards by secret, each part of the hashes has its own transaction. If one fails, the call
    /// throws, but the ends of pushes in the preceding parts are written; the next call returns false for those pushes.
    ///
    /// Returns false, and changes and logs nothing, for a push whose lease the owner has lost: it expired and another
    /// caller took the push, the secret was revoked, or the secret's rows moved to another hash.
    ///
    /// - Parameter logging: Whether to write log rows; false if the log can't be written.
    func settle(_ settlements: [Settlement], logging: Bool) async throws(StorageError) -> [Bool]

    /// When the next push is due or the next lease expires; nil if the queue is empty.
    func nextPushDue() async throws(StorageError) -> EpochMilliseconds?

    /// Finds pushes whose due time (if `leased`, the lease's end) is later than `horizon`, latest first, at most
    /// `limit`.
    ///
    /// Only a relay whose clock was ahead can have set a time beyond the longest wait.
    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush]

    /// Sets the time at which pushes are due or their leases end, except for pushes that changed since they were found;
    /// returns how many it changed.
    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int

    /// The number of queued pushes, including leased ones; counting stops at `limit`.
    func countPushes(limit: Int) async throws(StorageError) -> Int

    /// The number of queued pushes and the total size of their payloads; stops at `limit` pushes.
    ///
    /// Reads every row, so callers should pause between calls.
    func measurePushes(limit: Int) async throws(StorageError) -> QueueSize
}

/// The secrets that the relays refuse.
package protocol BlockStorage: Sendable {
    /// Blocks a secret by one of its hashes, unless `limit` secrets are already blocked.
    ///
    /// This only stores the block; the relays enforce it. `rehash` moves it together with the secret's other rows.
    func block(_ secret: BlockedSecret, limit: Int) async throws(StorageError) -> BlockResult

    /// Unblocks a hash; false if it wasn't blocked.
    func unblock(_ hash: SecretHash) async throws(StorageError) -> Bool

    /// The blocked secrets, ordered by hash, at most `limit`.
    func blockedSecrets(limit: Int) async throws(StorageError) -> [BlockedSecret]
}

/// The keys shared by all relays that use a database.
package protocol KeyStorage: Sendable {
    /// The key with this name; if there is none yet, stores `text`, if given, as the key.
    ///
    /// All callers get the same text, no matter which was first, and it never changes.
    func relayKey(
        _ name: String, orStoring text: String?, at now: EpochMilliseconds
    ) async throws(StorageError) -> String?
}

/// The history of what was sent to a secret's devices, for the devices to list.
///
/// Like log rows, items keep the hash under which they were stored.
package protocol HistoryStorage: Sendable {
    /// Adds items, all or nothing, and counts the unread items for `keys`.
    ///
    /// On an engine that shards by secret, "all or nothing" applies separately to each part of the hashes
    /// (`SecretHash.bucket`). An item is left out if its secret has no device, or already has an item with the same
    /// `eventID`. Two concurrent callers could both add such an item, but `ReceiptStorage.claim` prevents this. A
    /// secret keeps its newest ``StorageLimits/historyItemsMax`` items. The call may be repeated.
    ///
    /// - Parameter items: Each item with its secret's key; the item's hash is the key's primary hash.
    func add(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition

    /// A secret's items, newest first (by `id`, descending), at most `limit`, and the number of its unread items.
    ///
    /// - Parameter before: the ID of the previous page's last item, which need not exist; nil for the first page.
    func history(
        of key: SecretKey, before id: UUIDv7?, limit: Int
    ) async throws(StorageError) -> HistoryPage

    /// Marks a secret's items as read at `now`: the items with these IDs, or all items if `ids` is nil.
    ///
    /// Items that were already read keep their `readAt`; IDs that don't belong to the secret are ignored.
    func markRead(
        _ ids: [UUIDv7]?, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> HistoryReading
}

/// When agents last used secrets, for devices to show.
///
/// Like a log row, a row keeps the hash under which it was stored.
package protocol AgentStorage: Sendable {
    /// Stores the last uses of secrets that have a device, all or nothing.
    ///
    /// On an engine that shards by secret, "all or nothing" applies separately to each part of the hashes
    /// (`SecretHash.bucket`). A time earlier than the stored one changes nothing, unless the difference exceeds the
    /// maximum clock skew (``StorageLimits/clockSkewMax``). A use without a client name keeps the stored name. Uses of
    /// secrets without devices are left out. The call may be repeated.
    func note(_ uses: [(use: AgentUse, key: SecretKey)]) async throws(StorageError)

    /// The last use of a secret under any of its hashes, or nil if none is stored, and, from the same read, the newest
    /// `deliveries` rows of its delivery log.
    func agentUse(
        of key: SecretKey, deliveries: Int
    ) async throws(StorageError) -> (use: AgentUse?, deliveries: [Delivery])
}

/// Tokens that grant their holders part of the access that a secret grants.
package protocol AccessTokenStorage: Sendable {
    /// Stores a token for a secret that has devices, unless the secret already has `limit` tokens.
    ///
    /// The token belongs to `key`, regardless of its `secretHash`. It is removed when the secret's last device is
    /// unregistered, but stays if a push service reports that device as gone.
    func create(
        _ token: AccessToken, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> AccessTokenCreation

    /// The token with this digest, including the current hash of its secret's rows; nil if there is none.
    ///
    /// The token may have expired.
    func accessToken(_ digest: Digest256) async throws(StorageError) -> AccessToken?

    /// A secret's tokens, oldest first, at most `limit`.
    func accessTokens(of key: SecretKey, limit: Int) async throws(StorageError) -> [AccessToken]

    /// Revokes one of a secret's tokens; false if the secret has no token with this ID.
    func revokeAccessToken(_ id: UUIDv7, of key: SecretKey) async throws(StorageError) -> Bool

    /// Stores when a token was last used.
    func noteUse(of token: AccessToken, at now: EpochMilliseconds) async throws(StorageError)
}

/// Inspection and changes by operators: a secret's rows in all tables, and totals.
package protocol TenantStorage: Sendable {
    /// How many of a secret's rows, under all of its hashes, `revoke` would remove.
    func holdings(of key: SecretKey) async throws(StorageError) -> Holdings

    /// Removes a secret's rows from all tables except the delivery log and the blocked secrets, at most `limit` rows
    /// per table and hash, in one transaction, and returns how many it removed.
    ///
    /// Small steps let other writers proceed in between: call again until nothing is left.
    func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings

    /// Counts the ends of pushes in the delivery log between two times (the second exclusive), for one hash or for all.
    ///
    /// Reads about `limit` rows along an index by time, without separating rows from the same millisecond; the tally's
    /// `end` is the time up to which this call counted and at which the next call continues.
    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally

    /// Counts the rows in one of the database's shares (`Census.shares`), which are about equal in size.
    func census(ofShare share: UInt8) async throws(StorageError) -> Census

    /// The hashes that begin with `prefix` and have a row in one of the scope's tables, in order, at most `limit`.
    func hashes(
        beginningWith prefix: SecretHashPrefix, in scope: SecretHashScope, limit: Int
    ) async throws(StorageError) -> [SecretHash]

    /// Secrets with devices or queued pushes whose hashes lie between `start` and `end`, ordered by hash.
    ///
    /// Reads about `limit` secrets along the index of hashes; the page's `next` is where the next page begins.
    func tenants(
        after start: String, before end: String, limit: Int
    ) async throws(StorageError) -> TenantPage

    /// The queued pushes, including leased ones, ordered by due time, at most `limit`, for one hash or for all.
    func waitingPushes(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) async throws(StorageError) -> [WaitingPush]
}

/// The state of the database itself.
package protocol DatabaseStatus: Sendable {
    /// Runs trivial queries on the connection that the next request would use, and reads the server's clock.
    ///
    /// - Parameter now: This machine's time.
    /// - Returns: The readings of both clocks; nil for a file.
    func ping(now: @escaping @Sendable () -> EpochMilliseconds) async throws(StorageError) -> ClockReading?

    /// Inserts, updates and deletes a row in each table in one transaction, which is committed but leaves no rows.
    ///
    /// Throws the error that storing a registration, a queued push or its log row would throw now, for example because
    /// of a full disk, a read-only database or a missing privilege. It costs as much as any write, so callers limit how
    /// often it runs.
    func tryWriting(id: UUIDv7, at now: EpochMilliseconds) async throws(StorageError)

    /// The version of the database's schema: `SchemaStep.current` unless another program has changed it since the
    /// database was opened.
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

extension QueueStorage {
    /// Ends the caller's leases on pushes and writes their log rows.
    package func settle(_ settlements: [Settlement]) async throws(StorageError) -> [Bool] {
        try await settle(settlements, logging: true)
    }

    /// Stores pushes to be sent later; for a first attempt, not a repeated one.
    package func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int
    ) async throws(StorageError) -> [EnqueueResult] {
        try await enqueue(pushes, lease: lease, limitPerSecret: limitPerSecret, isRepeated: false)
    }
}

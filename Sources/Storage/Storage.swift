/// Where registrations, the delivery log, event receipts and pushes that wait are kept.
///
/// One contract for every driver; its meaning is tested in one place, `StorageContract`, which every driver passes.
///
/// **Keys** (`SecretKey`, tokens, event ids) compare byte for byte: case, trailing spaces and Unicode forms make
/// different keys. Rows under a key's legacy hashes belong to the secret as those under its primary hash do; where one
/// token has several, the row under the primary hash counts, then that under the first legacy one. No call reaches another secret's rows, whatever they have in common.
///
/// **Texts** are kept exactly; one with a NUL or past its bound in `StorageLimits` is refused as `invalidValue` and
/// nothing is changed. Empty texts are texts. What another program left in an adopted row is read as well as it can be,
/// row by row: an unknown environment counts as production.
///
/// **Atomicity**: a call that throws has changed nothing, save that after `unavailable` or `timeout` it may not be known.
/// When a changing call has returned, its change survives the death of the process and of the machine.
/// A call that begins after another has returned sees what that one changed.
///
/// **Time** comes from the caller, in milliseconds. Calls may be made from any task, as many at once as the
/// caller likes; the caller bounds how many. Cancelling the task doesn't undo or hurry a call.
package protocol Storage: Sendable {
    /// Inserts a device or, when the secret has its token already, updates it.
    ///
    /// On update the bundle and environment follow this call and `updatedAt` becomes the call's time, and always later than
    /// it was, so that a removal for the registration before can't take this one; `id` and `createdAt` stay, and so does each of the details that the call leaves nil. The limit counts the secret's devices in the same transaction as the insert, so
    /// that concurrent calls never exceed it; it refuses new tokens only. Rows under a legacy hash move to the primary.
    func register(
        _ registration: Registration, under key: SecretKey, deviceLimit: Int
    ) async throws(StorageError) -> RegistrationResult

    /// Removes a device from a secret, and ends the pushes that wait for it; false when it wasn't there, which is no error.
    ///
    /// Each of those has its end in the delivery log (`Delivery.deviceRemoved`), made at `now`, in the same transaction. A
    /// push that somebody holds stays until they end it, or is given out without a device when the lease has run out.
    func unregister(
        token: String, under key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// The secret's devices, each token once, oldest first (by `createdAt`, then `id`); empty when it has none.
    func devices(of key: SecretKey) async throws(StorageError) -> [Device]

    /// Moves a secret's devices and waiting pushes from its legacy hashes to the primary; false when there were none.
    ///
    /// A worker that holds one of the pushes finds it gone (`settle`). The log and receipts stay: they end by themselves.
    func rehash(_ key: SecretKey) async throws(StorageError) -> Bool

    /// Stores which environment accepted a device's token.
    ///
    /// Only if the row is still there and no registration came since `device` was read (`updatedAt` is not newer): a
    /// registration knows better. `updatedAt` stays. True when the row has the environment now because of this call.
    func setEnvironment(
        _ environment: DeviceEnvironment, of device: Device
    ) async throws(StorageError) -> Bool

    /// Removes a device that APNs no longer knows, unless its `updatedAt` is later than `time`.
    ///
    /// APNs tells since when a token is invalid; a registration after that is fresh and stays. True when it was removed,
    /// and then the pushes that wait for it end as in `unregister`.
    func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds, at now: EpochMilliseconds
    ) async throws(StorageError) -> Bool

    /// Appends to the delivery log: all rows or none.
    func append(_ deliveries: [Delivery]) async throws(StorageError)

    /// The secret's delivery log, newest first (by `createdAt`, then `id`, both falling), at most `limit` rows.
    ///
    /// - Parameter before: the `cursor` of the last row of the page before; nil for the first page.
    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) async throws(StorageError) -> [Delivery]

    /// Removes log rows made before `time`, oldest first, at most `limit` of them, and says how many.
    ///
    /// Small steps keep the writer free for others: call again while it returns `limit`.
    func pruneDeliveries(before time: EpochMilliseconds, limit: Int) async throws(StorageError) -> Int

    /// Asks to be the one caller that handles an event.
    ///
    /// Of any number of concurrent claims to one (secret, `eventID`) exactly one is `claimed`. A receipt counts for 24 h
    /// from its claim (`StorageLimits.receiptLifetime`), and then as if it weren't there. A claim whose lease
    /// ended without an answer may be claimed again with the same content. A lease that ends later than any may
    /// (`StorageLimits.receiptLeaseMax`) comes from a clock that was ahead: it is shortened to this claim's own.
    func claim(_ event: EventClaim) async throws(StorageError) -> EventClaimResult

    /// Stores the answer of a claimed event; from now on claims to it are `answered`.
    ///
    /// False when the claim was lost: its lease ran out and another caller took it, or it was released or pruned.
    func complete(_ event: EventClaim, answer: [UInt8]) async throws(StorageError) -> Bool

    /// Gives a claimed event back unanswered, so that it may be claimed at once. Nothing happens if the claim was
    /// lost or completed.
    func release(_ event: EventClaim) async throws(StorageError)

    /// Removes receipts whose 24 h are over at `now`, at most `limit` of them, and says how many.
    func pruneReceipts(at now: EpochMilliseconds, limit: Int) async throws(StorageError) -> Int

    /// Stores pushes to be sent later, and says of each, in their order, what became of it.
    ///
    /// All of it is one transaction. `limitPerSecret` counts the waiting pushes of a secret, those of this call included.
    /// With a lease the pushes are the caller's own for that time, as if it had claimed them: for those that are being
    /// sent at this moment, whose rows are needed only if the process dies. An id that is stored already is left
    /// as it is and counts as queued.
    func enqueue(
        _ pushes: [PendingPush], lease: PushLease?, limitPerSecret: Int
    ) async throws(StorageError) -> [EnqueueResult]

    /// Takes pushes that are due at `now`, at most `limit`, each with its device as it is registered now.
    ///
    /// No push is given to two callers before its lease has run out by the clock of the second. Secrets take turns
    /// (`DueScan`): one with 10,000 due pushes doesn't keep another's one waiting. Pushes past their `expiresAt` and
    /// those whose device is gone (or can't be read) are given out too, so that their end is written down. Fewer than are due may come, also
    /// none, when other callers take them at the same moment. A caller that claims often may leave the backlogs of others
    /// unwalked most times: `scope`.
    func claimPushes(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, scope: ClaimScope
    ) async throws(StorageError) -> [ClaimedPush]

    /// Ends the callers' holds on pushes, all in one transaction, and says of each, in their order, whether it was held.
    ///
    /// False, with nothing changed and nothing logged, when the push isn't held by that owner any more: its lease ran
    /// out and another caller took it, its secret was revoked, or the secret's rows moved under the pepper.
    func settle(_ settlements: [Settlement]) async throws(StorageError) -> [Bool]

    /// When the next push is due or the next lease runs out; nil when no push waits.
    func nextPushDue() async throws(StorageError) -> EpochMilliseconds?

    /// Finds pushes whose due time or, with `leased`, whose lease's end is later than `horizon`: the latest first, at
    /// most `limit`.
    ///
    /// Beyond the longest wait only a clock that was ahead has put one.
    func pushes(
        dueAfter horizon: EpochMilliseconds, leased: Bool, limit: Int
    ) async throws(StorageError) -> [DuePush]

    /// Sets when pushes are due, or when their leases end, but for those that have changed since they were found; says how
    /// many it set.
    func setDue(_ pushes: [DuePush], to time: EpochMilliseconds) async throws(StorageError) -> Int

    /// How many pushes wait, leased ones included; no more than `limit` are counted.
    func countPushes(limit: Int) async throws(StorageError) -> Int

    /// How much a secret has, under all its hashes: what `revoke` removes.
    func holdings(of key: SecretKey) async throws(StorageError) -> Holdings

    /// Removes a secret's devices, the pushes that wait for them and its receipts, at most `limit` rows of each table
    /// under each hash, all in one transaction, and says how many.
    ///
    /// Small steps keep the writer free for others: call again until nothing is left. The delivery log stays.
    func revoke(_ key: SecretKey, limit: Int) async throws(StorageError) -> Holdings

    /// Counts the ends of pushes in the delivery log from a time on and before another: of one hash, or of all.
    ///
    /// About `limit` rows are looked at (only what ended in one millisecond is never cut), along an index by time;
    /// the tally says up to when it counted, and the next call goes on from there.
    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> DeliveryTally

    /// Counts what is there in one of `Census.shares` parts of the database, which are about equal.
    func census(ofShare share: UInt8) async throws(StorageError) -> Census

    /// Asks the database something trivial, where the next request would ask it.
    func ping() async throws(StorageError)

    /// The version of the database's schema: `SchemaStep.current` unless another program changed it since it was opened.
    func schemaVersion() async throws(StorageError) -> Int

    /// How busy it is, from memory: nothing is asked.
    var load: StorageLoad { get }

    /// Finishes the calls that have begun, closes every connection and ends their threads.
    ///
    /// Calls that come later throw `closed`. Closing twice is allowed; both return when all is closed.
    func close() async
}

extension Storage {
    /// The newest delivery to each of a secret's devices, newest first; none for a device that had none among the
    /// secret's newest `StorageLimits.lastDeliveriesWindow`.
    ///
    /// From the log's newest rows, because an index by device would make every push dearer.
    package func lastDeliveries(
        to devices: [Device], under key: SecretKey
    ) async throws(StorageError) -> [Delivery] {
        var missing = Set(devices.map(\.id))
        guard !missing.isEmpty else { return [] }
        return try await deliveries(of: key, before: nil, limit: StorageLimits.lastDeliveriesWindow)
            .filter { delivery in delivery.deviceID.map { missing.remove($0) != nil } ?? false }
    }
}

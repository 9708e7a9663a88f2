/// Stores registrations, the delivery log, event receipts, queued pushes, histories and schedules.
///
/// All drivers have the same contract: the tests in `StorageContract` define it, and every driver passes them.
///
/// **Keys** (`SecretKey`, tokens, event IDs) are compared byte for byte: keys that differ in case, trailing spaces or
/// Unicode form are different. Rows under a key's legacy hashes belong to the secret just like rows under its primary
/// hash. If a token has several rows, the row under the primary hash takes precedence, then the row under the first
/// legacy hash. No call reaches another secret's rows.
///
/// **Text** is stored unchanged. Text that contains a NUL or exceeds its limit in `StorageLimits` throws
/// `invalidValue`, and nothing is changed. Empty text is allowed. Invalid values in adopted rows are interpreted as far
/// as possible, row by row: an unknown environment counts as production.
///
/// **Atomicity**: a call that throws has changed nothing, unless it throws `unconfirmed`: then it may have. Once a
/// call that changes data has returned, its change survives a crash of the process or the machine. A call
/// that begins after another has returned sees its changes.
///
/// **Time** comes from the caller, in milliseconds. Calls may be made from any task and run concurrently; the caller
/// limits how many. Cancelling the task neither undoes nor speeds up a call.
///
/// A tenant registers a device, which is then looked up for an event from that tenant:
///
/// ```swift
/// let storage: any Storage = try await SQLiteStorage.open(SQLiteLocation(path: path))
/// let key = SecretHasher().key(of: Secret("Kx3s0Q9-secret-of-yours"))
/// var generator = SystemRandomNumberGenerator()
/// let registration = Registration(
///     newID: UUIDv7(at: now, using: &generator), token: "00fc13ad", bundleID: "com.example.app",
///     environment: .production, at: now)
/// let result = try await storage.register(registration, under: key, deviceLimit: 100)
/// let devices = try await storage.devices(of: key)
/// await storage.close()
/// ```
package protocol Storage: RegistrationStorage, DeliveryLogStorage, ReceiptStorage, QueueStorage, BlockStorage,
    HistoryStorage, AgentStorage, ScheduleStorage, ReplyStorage, OutcomeStorage, PushTokenStorage,
    AccessTokenStorage, PruningStorage, TenantStorage, KeyStorage, DatabaseStatus
{
    /// Finishes calls in progress, closes all connections and ends their threads.
    ///
    /// Later calls throw `closed`. Closing twice is allowed; both calls return when everything is closed.
    func close() async
}

/// The bounds and waits of the SQLite driver.
package struct SQLiteOptions: Sendable {
    /// What a process may do with the file.
    package enum Access: Sendable {
        /// Be its one writer; steps that the schema lacks are applied. An unfinished copy is refused, as
        /// `unfinishedCopy`.
        case write
        /// Be its one writer; a schema that lacks steps is refused as `schemaTooOld`.
        case writeWithoutMigrating
        /// Be its one writer to fill it as the target of a copy: steps that the schema lacks are applied, and leases
        /// and claims stay as they are.
        case copyTarget
        /// Read beside a running relay; changing calls throw `readOnly`.
        case readOnly
    }

    /// What this process may do.
    package var access = Access.write
    /// Threads that look things up, each with a connection of its own.
    package var readers = 2
    /// How long a statement waits for a lock that another connection holds, in milliseconds.
    package var busyTimeoutMilliseconds: Int32 = 5_000
    /// How long opening waits for another process to stop being the writer, in milliseconds: long enough for a
    /// relay that is being replaced to finish.
    package var writerLockTimeoutMilliseconds: Int64 = 5_000
    /// Calls that may wait for one thread; one more fails as `unavailable`.
    package var waitingCallsMax = 65_536
    /// Changes that share one transaction.
    package var changesPerTransactionMax = 512
    /// Look-ups that share one read transaction and are answered together.
    package var lookupsPerBatchMax = 32
    /// Pages of the write-ahead log (4,096 bytes each) after which it is copied into the database.
    package var checkpointPages: Int32 = 1_000
    /// Bytes to which the write-ahead log's file is cut after it grew past them.
    package var journalBytesMax = 64 * 1_024 * 1_024
    /// Page cache of one connection in KiB.
    package var cacheKiB = 8_192
    /// Bytes of the file that readers map into memory instead of copying pages out of it; 0 copies them all.
    ///
    /// The pages are the kernel's, shared by the readers and given up when memory is short.
    package var mappedBytesMax = 1_024 * 1_024 * 1_024
    /// Devices that the writing process remembers, so that a busy secret is not looked up for each event.
    ///
    /// Each takes about 500 bytes; 0 remembers none.
    package var cachedDevicesMax = 20_000
    /// How long it believes them without looking again, in milliseconds: until then it doesn't see what another program
    /// did to the file.
    package var cachedDevicesLifetimeMilliseconds: Int64 = 10_000
    /// Pages that the database may have; nil for what the disk holds.
    package var databasePagesMax: Int?

    /// The defaults.
    package init() {}
}

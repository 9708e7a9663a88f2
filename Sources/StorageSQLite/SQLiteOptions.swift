/// The limits and timeouts of the SQLite driver.
package struct SQLiteOptions: Sendable {
    /// What a process may do with the file.
    package enum Access: Sendable {
        /// Be the file's only writer and apply missing schema steps; an unfinished copy is refused with
        /// `unfinishedCopy`.
        case write
        /// Be the file's only writer; a schema with missing steps is refused with `schemaTooOld`.
        case writeWithoutMigrating
        /// Read the file, even while a relay is running; changing calls throw `readOnly`.
        case readOnly
    }

    /// What this process may do with the file.
    package var access = Access.write
    /// The number of threads for look-ups, each with its own connection.
    package var readers = 2
    /// How long a statement waits for another connection's lock, in milliseconds.
    package var busyTimeoutMilliseconds: Int32 = 5_000
    /// How long opening waits for another process to stop being the writer, in milliseconds: long enough for a
    /// relay that is being replaced to finish.
    package var writerLockTimeoutMilliseconds: Int64 = 5_000
    /// The maximum number of calls waiting for one thread; more calls fail with `unavailable`.
    package var waitingCallsMax = 65_536
    /// The maximum number of changes that share one transaction.
    package var changesPerTransactionMax = 512
    /// The maximum number of look-ups that share one read transaction and are answered together.
    package var lookupsPerBatchMax = 32
    /// The number of pages (4,096 bytes each) after which the write-ahead log is copied into the database.
    package var checkpointPages: Int32 = 1_000
    /// The size, in bytes, to which the write-ahead log's file is truncated after it has grown larger.
    package var journalBytesMax = 64 * 1_024 * 1_024
    /// The size of each connection's page cache, in KiB.
    package var cacheKiB = 8_192
    /// How many bytes of the file readers map into memory instead of copying its pages; 0 copies all pages.
    ///
    /// The mapped pages belong to the kernel, which shares them between readers and frees them when memory is short.
    package var mappedBytesMax = 1_024 * 1_024 * 1_024
    /// How many devices the writing process caches, so that a busy secret isn't looked up for each event.
    ///
    /// Each takes about 500 bytes; 0 disables the cache.
    package var cachedDevicesMax = 20_000
    /// How long a cached device is valid, in milliseconds; until then, another program's changes aren't seen.
    package var cachedDevicesLifetimeMilliseconds: Int64 = 10_000
    /// The maximum number of pages in the database; nil for no limit except the disk's size.
    package var databasePagesMax: Int?

    /// The defaults.
    package init() {}
}

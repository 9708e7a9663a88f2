internal import CSQLite
package import Storage

/// One SQLite handle and its only owner: opened by `init`, closed by `deinit`, used on one thread.
@safe
package final class SQLiteConnection {
    /// The handle, for this connection's statements, which must not be used after the connection is closed.
    let handle: OpaquePointer
    private let walPages: UnsafeMutablePointer<Int32>
    /// The lock that makes this process the file's writer while the connection exists.
    var lock: WriterLock?
    /// Whether reading replaces invalid UTF-8 with U+FFFD; for `relay copy`, whose target accepts only valid UTF-8.
    var repairsTexts = false
    private var statements: [StatementText: SQLiteStatement] = [:]
    /// Not used: statements wait only for locks, which have their own timeout.
    package var deadline = ContinuousClock.now

    enum Mode {
        case readWrite
        case readOnly
    }

    /// Opens an existing file.
    init(path: String, mode: Mode, busyTimeoutMilliseconds: Int32) throws(StorageError) {
        _ = Self.prepareLibrary
        let access =
            switch mode {
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        var opened: OpaquePointer?
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let status = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe SQLiteError.last(on: opened, doing: "opening \(path)")
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = opened
        unsafe walPages = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        unsafe walPages.initialize(to: 0)
        unsafe sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
        unsafe sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                unsafe context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, walPages)
    }

    deinit {
        statements = [:]
        unsafe sqlite3_close_v2(handle)
        unsafe walPages.deallocate()
    }

    /// Whether SQLite opened the file read-only although writing was requested.
    var isReadOnly: Bool {
        unsafe sqlite3_db_readonly(handle, "main") != 0
    }

    /// Whether a transaction is open; some errors end it automatically.
    package var isInTransaction: Bool {
        unsafe sqlite3_get_autocommit(handle) == 0
    }

    /// The number of pages in the write-ahead log as of this connection's last commit.
    var pagesInLog: Int32 {
        unsafe walPages.pointee
    }

    /// Prepares a statement that will be used many times.
    ///
    /// - Parameter textBytes: The expected total size of the text parameters; by default, the size of one hash per
    ///   parameter. Text that exceeds it is bound more slowly.
    func prepare(_ sql: String, textBytes: Int? = nil) throws(StorageError) -> SQLiteStatement {
        try SQLiteStatement(sql, on: self, textBytes: textBytes)
    }

    /// Runs a statement without parameters that is used only once.
    func execute(_ sql: String) throws(StorageError) {
        try prepare(sql).execute()
    }

    /// Runs a statement once and returns the first column of its first row; nil if there is no row.
    func integer(_ sql: String) throws(StorageError) -> Int64? {
        var value: Int64?
        try prepare(sql).query({ _ in }) { row throws(StorageError) in value = try row.integer(0) }
        return value
    }

    /// Runs a statement once and returns the first column of each row.
    func texts(_ sql: String) throws(StorageError) -> [String] {
        var values: [String] = []
        try prepare(sql).query({ _ in }) { row throws(StorageError) in values.append(try row.text(0)) }
        return values
    }

    /// Runs statements shared by all engines, in the open transaction or each in its own.
    func withSession<Output>(
        _ body: (SQLSession) throws(SQLFailure) -> Output
    ) throws(StorageError) -> Output {
        do throws(SQLFailure) {
            return try body(SQLSession(inTransactionOf: self))
        } catch {
            throw error.error
        }
    }

    /// Copies into the database the log pages that readers no longer need; never waits for readers.
    func checkpoint() throws(StorageError) {
        let status = unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard status == SQLITE_OK else { throw unsafe SQLiteError.last(on: handle, doing: "checkpointing") }
        unsafe walPages.pointee = 0
    }

    // Fails only if SQLite is already in use, and then SQLite is only slightly slower.
    private static let prepareLibrary: Void = {
        _ = relay_sqlite3_disable_memory_statistics()
    }()
}

extension SQLiteConnection: SQLConnection {
    /// SQLite's SQL dialect.
    package static let dialect = SQLDialect(
        hasOneWriter: true, begin: "BEGIN IMMEDIATE",
        countTables: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", greatest: "max")

    /// Always true: the connection to a file can't be lost.
    package var isUsable: Bool { true }

    package func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        do throws(StorageError) {
            return try prepared(sql).execute { binder in for value in parameters { binder.value(value) } }
        } catch {
            throw SQLFailure(.other, error)
        }
    }

    package func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        do throws(StorageError) {
            try prepared(sql).query { binder in
                for value in parameters { binder.value(value) }
            } row: { found throws(StorageError) in
                let columns = try found.values(repairing: repairsTexts)
                do throws(SQLFailure) { try row(SQLRow(columns)) } catch { throw error.error }
            }
        } catch {
            throw SQLFailure(.other, error)
        }
    }

    package func run(_ sql: String) throws(SQLFailure) {
        do throws(StorageError) { try execute(sql) } catch { throw SQLFailure(.other, error) }
    }

    private func prepared(_ sql: String) throws(StorageError) -> SQLiteStatement {
        let text = StatementText(sql: sql)
        if let statement = statements[text] { return statement }
        let statement = try prepare(sql)
        statements[text] = statement
        return statement
    }
}

/// A statement's text as a dictionary key, hashed by its length, because most statements differ in length.
private struct StatementText: Hashable {
    let sql: String

    func hash(into hasher: inout Hasher) {
        hasher.combine(sql.utf8.count)
    }
}

internal import CSQLite
internal import Storage

/// One prepared statement and the only owner of its handle, on its connection's thread.
///
/// It must not be used after its connection is closed. Every use binds all parameters, and resets the statement before
/// it returns: an unfinished statement would keep its read transaction open, and the write-ahead log could not be
/// reused.
@safe
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    private let columnCount: Int32
    /// Memory to which bound text is copied, so that SQLite need not copy each value itself.
    private let texts: UnsafeMutableRawBufferPointer

    private static let textBytesMax = 16_384

    /// Prepares the statement with room for `textBytes` bytes of text per use; SQLite copies text that doesn't fit.
    init(_ sql: String, on connection: SQLiteConnection, textBytes: Int?) throws(StorageError) {
        var prepared: OpaquePointer?
        let status = unsafe sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard status == SQLITE_OK, let prepared = unsafe prepared else {
            throw unsafe SQLiteError.last(on: connection.handle, doing: "preparing")
        }
        unsafe handle = prepared
        unsafe database = connection.handle
        columnCount = unsafe sqlite3_column_count(prepared)
        let parameters = unsafe Int(sqlite3_bind_parameter_count(prepared))
        let count = textBytes ?? min(parameters * Digest256.hexCount, Self.textBytesMax)
        unsafe texts = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe texts.deallocate()
    }

    /// Runs a statement that returns no rows, and returns how many rows it changed.
    @discardableResult
    func execute(_ bind: (inout SQLiteBinder) -> Void = { _ in }) throws(StorageError) -> Int {
        try query(bind) { _ throws(StorageError) in }
        return unsafe Int(sqlite3_changes(database))
    }

    /// Runs a statement and calls `row` with each of its rows.
    func query(
        _ bind: (inout SQLiteBinder) -> Void, row: (borrowing SQLiteRow) throws(StorageError) -> Void
    ) throws(StorageError) {
        defer { unsafe sqlite3_reset(handle) }
        var binder = unsafe SQLiteBinder(handle, texts)
        bind(&binder)
        guard binder.status == SQLITE_OK else { throw failure("binding") }
        while true {
            switch unsafe sqlite3_step(handle) {
            case SQLITE_ROW: try unsafe row(SQLiteRow(handle, columnCount))
            case SQLITE_DONE: return
            default: throw failure("running")
            }
        }
    }

    private func failure(_ action: String) -> StorageError {
        unsafe SQLiteError.last(on: database, doing: action)
    }
}

/// Binds a statement's parameters in order; the first failure is kept and reported when the statement runs.
@safe
struct SQLiteBinder {
    private let handle: OpaquePointer
    /// The statement's memory, which keeps bound text until the statement's next use.
    private let texts: UnsafeMutableRawBufferPointer
    private var textsUsed = 0
    /// The digest bound last, and its text; a statement's rows often have the same hash.
    private var lastDigest: (value: Digest256, text: UnsafeMutableRawPointer)?
    private var index: Int32 = 0
    private(set) var status = SQLITE_OK

    fileprivate init(_ handle: OpaquePointer, _ texts: UnsafeMutableRawBufferPointer) {
        unsafe self.handle = handle
        unsafe self.texts = texts
    }

    mutating func text(_ value: String) {
        let next = advance()
        let result = unsafe value.utf8.withContiguousStorageIfAvailable { unsafe bind($0, next) }
        guard let result else { preconditionFailure("Swift's own strings are UTF-8 in one piece") }
        keep(result)
    }

    private mutating func bind(_ utf8: UnsafeBufferPointer<UInt8>, _ index: Int32) -> Int32 {
        // An empty Swift string may have no address, which SQLite would treat as NULL.
        guard let base = utf8.baseAddress else { return unsafe relay_sqlite3_bind_text(handle, index, "", 0) }
        if let kept = unsafe take(utf8.count) {
            unsafe kept.copyMemory(from: base, byteCount: utf8.count)
            return unsafe bindKept(index, kept, utf8.count)
        }
        return unsafe base.withMemoryRebound(to: CChar.self, capacity: utf8.count) { characters in
            unsafe relay_sqlite3_bind_text(handle, index, characters, Int32(utf8.count))
        }
    }

    mutating func text(_ value: String?) {
        guard let value else { return keep(unsafe sqlite3_bind_null(handle, advance())) }
        text(value)
    }

    mutating func hash(_ value: SecretHash) {
        digest(value.digest)
    }

    mutating func digest(_ value: Digest256) {
        let next = advance()
        if let last = unsafe lastDigest, unsafe last.value == value {
            return keep(unsafe bindKept(next, last.text, Digest256.hexCount))
        }
        if let kept = unsafe take(Digest256.hexCount) {
            unsafe lastDigest = unsafe (value, kept)
            unsafe value.writeHex(
                into: UnsafeMutableBufferPointer(
                    start: kept.assumingMemoryBound(to: CChar.self), count: Digest256.hexCount))
            return keep(unsafe bindKept(next, kept, Digest256.hexCount))
        }
        keep(
            unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Digest256.hexCount) { hex in
                unsafe value.writeHex(into: hex)
                return unsafe relay_sqlite3_bind_text(handle, next, hex.baseAddress, Int32(hex.count))
            })
    }

    /// All hashes of a key, for a statement with `IN (…)`.
    mutating func anyHash(of key: SecretKey) {
        for value in key.hashesPadded { hash(value) }
    }

    mutating func integer(_ value: Int64) {
        keep(unsafe sqlite3_bind_int64(handle, advance(), value))
    }

    mutating func integer(_ value: Int) {
        integer(Int64(value))
    }

    mutating func blob(_ value: [UInt8]) {
        let next = advance()
        // A blob without an address would be NULL.
        keep(
            value.isEmpty
                ? unsafe sqlite3_bind_zeroblob(handle, next, 0)
                : unsafe relay_sqlite3_bind_blob(handle, next, value, Int32(value.count)))
    }

    mutating func value(_ value: SQLValue) {
        switch value {
        case .null: keep(unsafe sqlite3_bind_null(handle, advance()))
        case .integer(let number): integer(number)
        case .text(let text): self.text(text)
        case .blob(let bytes): blob(bytes)
        }
    }

    /// Space for text in the statement's memory; nil if none is left.
    private mutating func take(_ count: Int) -> UnsafeMutableRawPointer? {
        guard let base = unsafe texts.baseAddress, unsafe count <= texts.count - textsUsed else {
            return nil
        }
        defer { textsUsed += count }
        return unsafe base + textsUsed
    }

    /// Binds without a destructor (`SQLITE_STATIC`): the statement owns the memory.
    private func bindKept(_ index: Int32, _ text: UnsafeMutableRawPointer, _ count: Int) -> Int32 {
        unsafe sqlite3_bind_text(
            handle, index, text.assumingMemoryBound(to: CChar.self), Int32(count), nil)
    }

    private mutating func advance() -> Int32 {
        index += 1
        return index
    }

    private mutating func keep(_ result: Int32) {
        if status == SQLITE_OK { status = result }
    }
}

/// A statement's current row; valid only while it is being handled.
///
/// A column with an unexpected type or invalid UTF-8 throws `corrupt`, because this program didn't write it.
@safe
struct SQLiteRow: ~Copyable {
    private let handle: OpaquePointer
    private let count: Int32

    fileprivate init(_ handle: OpaquePointer, _ count: Int32) {
        unsafe self.handle = handle
        self.count = count
    }

    /// The columns' values by their stored types; invalid UTF-8, written by another program, is returned as bytes.
    ///
    /// - Parameter repairing: Whether to return `repairedText` for such text instead.
    func values(repairing: Bool) throws(StorageError) -> [SQLValue] {
        var values: [SQLValue] = []
        values.reserveCapacity(Int(count))
        for column in 0..<count {
            switch unsafe sqlite3_column_type(handle, column) {
            case SQLITE_NULL: values.append(.null)
            case SQLITE_INTEGER: values.append(unsafe .integer(sqlite3_column_int64(handle, column)))
            case SQLITE_TEXT where repairing: values.append(.text(repairedText(column)))
            case SQLITE_TEXT: values.append(validText(column).map { .text($0) } ?? .blob(bytes(column)))
            case SQLITE_BLOB: values.append(.blob(bytes(column)))
            default: throw wrong(column)
            }
        }
        return values
    }

    func text(_ column: Int32) throws(StorageError) -> String {
        guard unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT, let text = validText(column)
        else { throw wrong(column) }
        return text
    }

    /// The column's text; nil if it isn't valid UTF-8 or contains a NUL.
    private func validText(_ column: Int32) -> String? {
        guard let bytes = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        // Much faster than validating a buffer. The result is shorter than the column only if the column contains a
        // NUL.
        let text = unsafe bytes.withMemoryRebound(to: CChar.self, capacity: count + 1) {
            unsafe String(validatingCString: $0)
        }
        return text?.utf8.count == count ? text : nil
    }

    /// The column as text, whatever its type, with U+FFFD for invalid UTF-8.
    ///
    /// For rows that another program may have written: one invalid row must not affect others.
    func repairedText(_ column: Int32) -> String {
        guard let bytes = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func optionalText(_ column: Int32) throws(StorageError) -> String? {
        isNull(column) ? nil : try text(column)
    }

    func integer(_ column: Int32) throws(StorageError) -> Int64 {
        guard unsafe sqlite3_column_type(handle, column) == SQLITE_INTEGER else { throw wrong(column) }
        return unsafe sqlite3_column_int64(handle, column)
    }

    func secretHash(_ column: Int32) throws(StorageError) -> SecretHash {
        guard let hash = SecretHash(hex: try text(column)) else { throw wrong(column) }
        return hash
    }

    private func bytes(_ column: Int32) -> [UInt8] {
        let start = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The error for a value of the right type that has no meaning for this program.
    func wrong(_ column: Int32) -> StorageError {
        let name =
            unsafe sqlite3_column_name(handle, column).map { unsafe String(cString: $0) } ?? "\(column)"
        return .corrupt(logDetail: "the column \(name) contains data that can't be read")
    }
}

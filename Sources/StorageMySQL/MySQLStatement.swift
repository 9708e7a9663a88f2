internal import CMariaDB
internal import Storage

/// One prepared statement and the only owner of its handle, on its connection's thread.
///
/// The connection's handle must be closed first, so that the library only frees memory and sends nothing.
@safe
final class MySQLStatement {
    let handle: UnsafeMutablePointer<MYSQL_STMT>
    private let parameterCount: Int
    private var columns: MySQLColumns?

    init(_ sql: String, on connection: UnsafeMutablePointer<MYSQL>) throws(Fault) {
        guard let made = unsafe mysql_stmt_init(connection) else {
            throw Fault(code: UInt32(CR_OUT_OF_MEMORY), message: "no memory for a statement")
        }
        unsafe handle = made
        guard unsafe mysql_stmt_prepare(made, sql, UInt(sql.utf8.count)) == 0 else {
            let fault = unsafe Fault(made)
            unsafe mysql_stmt_close(made)
            throw fault
        }
        parameterCount = unsafe Int(mysql_stmt_param_count(made))
        if unsafe mysql_stmt_field_count(made) > 0 { unsafe columns = MySQLColumns(made) }
    }

    deinit {
        unsafe mysql_stmt_close(handle)
    }

    /// The library's error for a call that has just failed.
    struct Fault: Error {
        let code: UInt32
        let message: String

        init(code: UInt32, message: String) {
            self.code = code
            self.message = message
        }

        init(_ handle: UnsafeMutablePointer<MYSQL_STMT>) {
            unsafe code = mysql_stmt_errno(handle)
            unsafe message = String(cString: mysql_stmt_error(handle))
        }
    }

    /// Runs the statement and fetches its whole result, if it has one, from the server.
    func execute(_ parameters: [SQLValue]) throws(Fault) {
        guard parameters.count == parameterCount else {
            throw Fault(code: UInt32(CR_PARAMS_NOT_BOUND), message: "\(parameters.count) parameters given")
        }
        var values = MySQLParameters(parameters)
        let status = unsafe values.withBinds { binds in
            if unsafe parameterCount > 0 && mysql_stmt_bind_param(handle, binds) != 0 { return Int32(1) }
            return unsafe mysql_stmt_execute(handle)
        }
        guard status == 0 else { throw unsafe Fault(handle) }
        guard columns != nil else { return }
        guard unsafe mysql_stmt_store_result(handle) == 0 else { throw unsafe Fault(handle) }
    }

    /// The number of rows that the last execution inserted, deleted or matched for an update.
    var matchedRows: Int {
        unsafe Int(clamping: mysql_stmt_affected_rows(handle))
    }

    /// The next row of the result; nil after the last.
    func nextRow() throws(Fault) -> SQLRow? {
        guard let columns else { return nil }
        unsafe columns.bind(handle)
        switch unsafe mysql_stmt_fetch(handle) {
        case 0, MYSQL_DATA_TRUNCATED: return unsafe SQLRow(columns.row(handle))
        case MYSQL_NO_DATA: return nil
        default: throw unsafe Fault(handle)
        }
    }

    /// Discards the rest of the result.
    func reset() {
        if columns != nil { unsafe mysql_stmt_free_result(handle) }
    }
}

/// A statement's parameters, stored consecutively in one block of memory.
@safe
private struct MySQLParameters {
    private var bytes: [UInt8] = []
    private var places: [(type: enum_field_types, offset: Int, count: Int)] = []

    init(_ values: [SQLValue]) {
        places.reserveCapacity(values.count)
        for value in values {
            let offset = bytes.count
            switch value {
            case .null: places.append((MYSQL_TYPE_NULL, offset, 0))
            case .integer(let number):
                unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
                places.append((MYSQL_TYPE_LONGLONG, offset, 8))
            case .text(let text):
                bytes.append(contentsOf: text.utf8)
                places.append((MYSQL_TYPE_STRING, offset, bytes.count - offset))
            case .blob(let blob):
                bytes.append(contentsOf: blob)
                places.append((MYSQL_TYPE_BLOB, offset, blob.count))
            }
            // libmariadb reads integers in place, so they must be aligned.
            while !bytes.count.isMultiple(of: 8) { bytes.append(0) }
        }
        // Even an empty value needs an address.
        bytes.append(0)
    }

    /// Calls `body` with libmariadb's descriptions of the parameters; the addresses are valid until it returns.
    mutating func withBinds(_ body: (UnsafeMutablePointer<MYSQL_BIND>?) -> Int32) -> Int32 {
        let places = places
        return unsafe bytes.withUnsafeMutableBytes { memory in
            var binds = unsafe places.map { place in
                var bind = unsafe MYSQL_BIND()
                unsafe bind.buffer_type = place.type
                unsafe bind.buffer = memory.baseAddress?.advanced(by: place.offset)
                unsafe bind.buffer_length = UInt(place.count)
                return unsafe bind
            }
            return unsafe binds.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
        }
    }
}

/// The buffers for a statement's rows, one per column.
@safe
private final class MySQLColumns {
    private enum Form {
        case integer, text, blob
    }

    private let forms: [Form]
    private let binds: UnsafeMutableBufferPointer<MYSQL_BIND>
    private let lengths: UnsafeMutableBufferPointer<UInt>
    private let nulls: UnsafeMutableBufferPointer<my_bool>
    private var capacities: [Int]
    private var isBound = false

    /// The initial size of a text column's buffer in bytes.
    private static let textBytes = 512
    /// The number of the character set that marks binary data.
    private static let binaryCharset: UInt32 = 63

    init(_ statement: UnsafeMutablePointer<MYSQL_STMT>) {
        var forms: [Form] = []
        if let metadata = unsafe mysql_stmt_result_metadata(statement) {
            while let field = unsafe mysql_fetch_field(metadata) {
                forms.append(unsafe Self.form(field.pointee))
            }
            unsafe mysql_free_result(metadata)
        }
        self.forms = forms
        unsafe binds = .allocate(capacity: forms.count)
        unsafe binds.initialize(repeating: MYSQL_BIND())
        unsafe lengths = .allocate(capacity: forms.count)
        unsafe lengths.initialize(repeating: 0)
        unsafe nulls = .allocate(capacity: forms.count)
        unsafe nulls.initialize(repeating: 0)
        capacities = Array(repeating: 0, count: forms.count)
        for column in forms.indices {
            unsafe binds[column].length = lengths.baseAddress?.advanced(by: column)
            unsafe binds[column].is_null = nulls.baseAddress?.advanced(by: column)
            makeRoom(in: column, for: forms[column] == .integer ? 8 : Self.textBytes)
        }
    }

    deinit {
        for column in forms.indices { unsafe binds[column].buffer?.deallocate() }
        unsafe binds.deallocate()
        unsafe lengths.deallocate()
        unsafe nulls.deallocate()
    }

    /// Passes the buffers to the library, unless it already has them.
    func bind(_ statement: UnsafeMutablePointer<MYSQL_STMT>) {
        guard !isBound else { return }
        isBound = true
        unsafe mysql_stmt_bind_result(statement, binds.baseAddress)
    }

    /// The row that has just been fetched; invalid UTF-8, written by other programs, becomes U+FFFD.
    func row(_ statement: UnsafeMutablePointer<MYSQL_STMT>) -> [SQLValue] {
        forms.indices.map { column in
            guard unsafe nulls[column] == 0 else { return .null }
            let count = unsafe Int(lengths[column])
            if forms[column] != .integer, count > capacities[column] {
                makeRoom(in: column, for: count)
                unsafe mysql_stmt_fetch_column(statement, &binds[column], UInt32(column), 0)
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: binds[column].buffer, count: count)
            switch forms[column] {
            case .integer: return unsafe .integer(bytes.load(as: Int64.self))
            case .text: return unsafe .text(String(decoding: bytes, as: UTF8.self))
            case .blob: return unsafe .blob(Array(bytes))
            }
        }
    }

    private func makeRoom(in column: Int, for count: Int) {
        unsafe binds[column].buffer?.deallocate()
        unsafe binds[column].buffer = .allocate(byteCount: count, alignment: 8)
        unsafe binds[column].buffer_length = UInt(count)
        unsafe binds[column].buffer_type =
            switch forms[column] {
            case .integer: MYSQL_TYPE_LONGLONG
            case .text: MYSQL_TYPE_STRING
            case .blob: MYSQL_TYPE_BLOB
            }
        capacities[column] = count
        isBound = false
    }

    private static func form(_ field: MYSQL_FIELD) -> Form {
        switch unsafe field.type {
        case MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG, MYSQL_TYPE_LONGLONG,
            MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_DECIMAL:
            .integer
        // Of the binary types, only BLOB holds data other than text; VARBINARY holds keys.
        case MYSQL_TYPE_TINY_BLOB, MYSQL_TYPE_BLOB, MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_LONG_BLOB:
            unsafe field.charsetnr == binaryCharset ? .blob : .text
        default: .text
        }
    }
}

internal import CPostgres
internal import Glibc
internal import Storage

/// A statement's parameters in libpq's form: text and integers as text, bytes as binary.
struct PostgresParameters {
    private var bytes: [UInt8] = []
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    init(_ values: [SQLValue]) throws(SQLFailure) {
        offsets.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        formats.reserveCapacity(values.count)
        for value in values {
            switch value {
            case .null: add(isBinary: false) { _ in false }
            case .integer(let number):
                add(isBinary: false) { bytes in
                    bytes.append(contentsOf: String(number).utf8)
                    return true
                }
            case .text(let text):
                // Postgres can't store a NUL, and libpq would truncate the text there.
                guard !Self.hasNUL(text) else { throw SQLFailure(.other, .invalidValue(field: "text")) }
                add(isBinary: false) { bytes in
                    bytes.append(contentsOf: text.utf8)
                    return true
                }
            case .blob(let blob):
                add(isBinary: true) { bytes in
                    bytes.append(contentsOf: blob)
                    return true
                }
            }
        }
    }

    /// Adds the bytes that `write` appends, or NULL if it returns false.
    private mutating func add(isBinary: Bool, _ write: (inout [UInt8]) -> Bool) {
        let start = bytes.count
        let isValue = write(&bytes)
        offsets.append(isValue ? start : nil)
        lengths.append(Int32(bytes.count - start))
        formats.append(isBinary ? 1 : 0)
        if isValue { bytes.append(0) }
    }

    private static func hasNUL(_ text: String) -> Bool {
        unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.baseAddress.map { unsafe memchr($0, 0, bytes.count) != nil } ?? false
        } ?? text.utf8.contains(0)
    }

    /// Calls `body` with libpq's arrays: count, values, lengths and formats.
    func withPointers<Result>(
        _ body: (
            Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { buffer in
                let base = buffer.baseAddress
                var values = unsafe [UnsafePointer<CChar>?]()
                unsafe values.reserveCapacity(offsets.count)
                for offset in offsets {
                    if let base = unsafe base, let offset {
                        unsafe values.append(base + offset)
                    } else {
                        unsafe values.append(nil)
                    }
                }
                return unsafe body(Int32(offsets.count), values, lengths, formats)
            }
        }
    }
}

/// A libpq result and its only owner.
@safe
final class PostgresResult {
    let pointer: OpaquePointer?

    init(_ pointer: OpaquePointer?) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe PQclear(pointer)
    }

    var status: ExecStatusType { unsafe PQresultStatus(pointer) }

    var isFailure: Bool {
        switch status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: false
        default: true
        }
    }

    /// The command tag, such as `COMMIT` or `UPDATE 1`.
    var command: String { unsafe String(cString: PQcmdStatus(pointer)) }

    /// The number of rows that a data-changing statement matched.
    var matchedCount: Int { Int(unsafe String(cString: PQcmdTuples(pointer))) ?? 0 }

    var rowCount: Int32 { unsafe PQntuples(pointer) }

    /// One row, with its columns in binary form.
    func row(_ row: Int32) throws(SQLFailure) -> SQLRow {
        var values: [SQLValue] = []
        let count = unsafe PQnfields(pointer)
        values.reserveCapacity(Int(count))
        for column in 0..<count { values.append(try value(row, column)) }
        return SQLRow(values)
    }

    private func value(_ row: Int32, _ column: Int32) throws(SQLFailure) -> SQLValue {
        guard unsafe PQgetisnull(pointer, row, column) == 0 else { return .null }
        let type = unsafe PQftype(pointer, column)
        let bytes = unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(pointer, row, column), count: Int(PQgetlength(pointer, row, column)))
        switch type {
        case TypeOID.int2, TypeOID.int4, TypeOID.int8, TypeOID.bool:
            let bits = unsafe bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            // Sign-extended from the column's size.
            let shift = 64 - 8 * bytes.count
            return .integer(type == TypeOID.bool ? Int64(bits) : Int64(bitPattern: bits << shift) >> shift)
        case TypeOID.bytea:
            return .blob(unsafe Array(bytes))
        case TypeOID.text, TypeOID.varchar, TypeOID.bpchar, TypeOID.name:
            guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
                throw SQLFailure(.other, .corrupt(logDetail: "a text is not UTF-8"))
            }
            return .text(text)
        default:
            throw SQLFailure(.other, .internalFault(logDetail: "a column has type \(type)"))
        }
    }

    /// OIDs of built-in types, which never change (pg_type.dat).
    private enum TypeOID {
        static let bool: Oid = 16
        static let bytea: Oid = 17
        static let name: Oid = 19
        static let int8: Oid = 20
        static let int2: Oid = 21
        static let int4: Oid = 23
        static let text: Oid = 25
        static let bpchar: Oid = 1042
        static let varchar: Oid = 1043
    }
}

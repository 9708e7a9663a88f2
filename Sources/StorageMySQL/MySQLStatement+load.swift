internal import CMariaDB
internal import Storage

/// MariaDB's bulk protocol (MariaDB Connector/C's manual, "Bulk Insert (Column-wise Binding)").
extension MySQLStatement {
    /// Runs the statement once with all rows; returns false without sending anything if the server lacks the protocol.
    ///
    /// To the server, this is one statement, which inserts all rows or none.
    func load(_ rows: RowBlock) throws(Fault) -> Bool {
        try setRowCount(rows.count)
        // This statement may run later with the parameters of a single row.
        defer { try? setRowCount(0) }
        let status = unsafe rows.bytes.withUnsafeBytes { bytes in
            let arrays = unsafe BulkColumns(rows, bytes)
            return withExtendedLifetime(arrays) {
                if unsafe mysql_stmt_bind_param(handle, arrays.binds.baseAddress) != 0 { return Int32(1) }
                return unsafe mysql_stmt_execute(handle)
            }
        }
        guard status != 0 else { return true }
        let fault = unsafe Fault(handle)
        guard fault.code == UInt32(CR_FUNCTION_NOT_SUPPORTED) else { throw fault }
        return false
    }

    private func setRowCount(_ count: Int) throws(Fault) {
        var count = UInt32(count)
        guard unsafe mysql_stmt_attr_set(handle, STMT_ATTR_ARRAY_SIZE, &count) == 0 else {
            throw unsafe Fault(handle)
        }
    }
}

/// The arrays from which libmariadb reads a block's rows: for each column, the addresses, lengths and NULLs of its
/// values.
@safe
private final class BulkColumns {
    let binds: UnsafeMutableBufferPointer<MYSQL_BIND>
    private let addresses: UnsafeMutableBufferPointer<UnsafeRawPointer?>
    private let lengths: UnsafeMutableBufferPointer<UInt>
    private let indicators: UnsafeMutableBufferPointer<CChar>

    /// Creates arrays whose addresses point into `bytes`.
    init(_ rows: RowBlock, _ bytes: UnsafeRawBufferPointer) {
        let count = rows.count
        let cells = count * rows.columns.count
        unsafe binds = .allocate(capacity: rows.columns.count)
        unsafe binds.initialize(repeating: MYSQL_BIND())
        unsafe addresses = .allocate(capacity: cells)
        unsafe lengths = .allocate(capacity: cells)
        unsafe indicators = .allocate(capacity: cells)
        for column in rows.columns.indices {
            let first = column * count
            for row in 0..<count {
                let range = rows.range(row, column)
                unsafe addresses.initializeElement(
                    at: first + row, to: bytes.baseAddress?.advanced(by: range.lowerBound))
                unsafe lengths.initializeElement(at: first + row, to: UInt(range.count))
                let indicator = rows.isNull(row, column) ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE
                unsafe indicators.initializeElement(at: first + row, to: CChar(indicator.rawValue))
            }
            unsafe binds[column].buffer_type = MYSQL_TYPE_STRING
            unsafe binds[column].buffer = UnsafeMutableRawPointer(addresses.baseAddress?.advanced(by: first))
            unsafe binds[column].length = lengths.baseAddress?.advanced(by: first)
            unsafe binds[column].u.indicator = indicators.baseAddress?.advanced(by: first)
        }
    }

    deinit {
        unsafe binds.deallocate()
        unsafe addresses.deallocate()
        unsafe lengths.deallocate()
        unsafe indicators.deallocate()
    }
}

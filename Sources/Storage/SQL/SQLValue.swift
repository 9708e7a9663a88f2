/// A value exchanged with a database: one parameter, or one column of a row.
package enum SQLValue: Hashable, Sendable {
    /// SQL's NULL.
    case null
    /// An integer of any type, or a boolean as 0 or 1.
    case integer(Int64)
    /// UTF-8 text without NULs.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

extension SQLValue {
    /// A hash as its column's text.
    package static func hash(_ hash: SecretHash) -> SQLValue { .text(hash.hex) }

    /// A value for `LIMIT`, never negative.
    static func limit(_ limit: Int) -> SQLValue { .integer(Int64(max(limit, 0))) }

    /// Text, or NULL.
    package static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}

/// One row of a result, whose columns are read by their position in the `SELECT`.
///
/// Reading an invalid value throws `corrupt`, because this program didn't write it.
package struct SQLRow: Sendable {
    let columns: [SQLValue]

    /// Creates a row from its columns.
    package init(_ columns: [SQLValue]) {
        self.columns = columns
    }

    /// Reads an integer that is not NULL.
    package func integer(_ column: Int) throws(SQLFailure) -> Int64 {
        guard case .integer(let value) = columns[column] else { throw wrong(column) }
        return value
    }

    /// Reads text that is not NULL.
    package func text(_ column: Int) throws(SQLFailure) -> String {
        guard case .text(let value) = columns[column] else { throw wrong(column) }
        return value
    }

    /// Reads text or NULL.
    package func optionalText(_ column: Int) throws(SQLFailure) -> String? {
        isNull(column) ? nil : try text(column)
    }

    /// The column as text, whatever its type, with U+FFFD for invalid UTF-8.
    ///
    /// For rows that another program may have written: one invalid row must not affect others.
    func repairedText(_ column: Int) throws(SQLFailure) -> String {
        if case .blob(let bytes) = columns[column] { return String(decoding: bytes, as: UTF8.self) }
        return try text(column)
    }

    /// Reads bytes that are not NULL.
    package func blob(_ column: Int) throws(SQLFailure) -> [UInt8] {
        guard case .blob(let value) = columns[column] else { throw wrong(column) }
        return value
    }

    /// Reads a hash that is not NULL.
    package func hash(_ column: Int) throws(SQLFailure) -> SecretHash {
        guard let hash = SecretHash(hex: try text(column)) else { throw wrong(column) }
        return hash
    }

    /// Whether a column is NULL.
    package func isNull(_ column: Int) -> Bool {
        columns[column] == .null
    }

    /// The error for a column with a value that this program never writes; it doesn't contain the value.
    package func wrong(_ column: Int) -> SQLFailure {
        SQLFailure(.other, .corrupt(logDetail: "column \(column) of a result is not what it should be"))
    }
}

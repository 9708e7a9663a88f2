internal import CPostgres
internal import Glibc
package import Storage

/// Loading rows with `COPY` (PostgreSQL's manual, "Functions Associated with the COPY Command").
extension PostgresConnection {
    /// The number of bytes passed to libpq at a time.
    private static let pieceBytes = 32 * 1024

    /// Uses the text format, which fits columns of any type, such as those of tables adopted from OpenCode.
    package func load(_ rows: RowBlock) throws(SQLFailure) -> Bool {
        // Postgres can't store a NUL, and would refuse all rows because of it.
        guard !rows.bytes.contains(0) else { throw SQLFailure(.other, .invalidValue(field: "text")) }
        let action = "COPY \(rows.table)"
        let sql = "COPY \(rows.table) (\(rows.columns.joined(separator: ", "))) FROM STDIN"
        try check(unsafe PQsendQuery(handle, sql), action)
        try begin(action)
        var piece: [UInt8] = []
        piece.reserveCapacity(Self.pieceBytes + 4 * 1024)
        for row in 0..<rows.count {
            Self.write(rows, row, to: &piece)
            guard piece.count >= Self.pieceBytes else { continue }
            try put(piece, action)
            piece.removeAll(keepingCapacity: true)
        }
        try put(piece, action)
        while true {
            let ended = unsafe PQputCopyEnd(handle, nil)
            if ended == 1 { break }
            guard ended == 0 else { throw self.ended(action) }
            try wait(for: POLLOUT, action)
        }
        _ = try finish(action)
        return true
    }

    /// Waits until the server is ready for rows.
    private func begin(_ action: String) throws(SQLFailure) {
        try flush(action)
        guard let result = try nextResult(action) else { throw ended(action) }
        guard result.status != PGRES_COPY_IN else { return }
        // The connection is busy until its last result is read.
        while try nextResult(action) != nil {}
        throw failure(of: result, action)
    }

    /// Passes rows to libpq, which buffers what the server hasn't read yet.
    private func put(_ piece: [UInt8], _ action: String) throws(SQLFailure) {
        guard !piece.isEmpty else { return }
        while true {
            let done = unsafe piece.withUnsafeBytes { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                    unsafe PQputCopyData(handle, characters.baseAddress, Int32(characters.count))
                }
            }
            if done == 1 { return }
            guard done == 0 else { throw ended(action) }
            try wait(for: POLLOUT, action)
        }
    }

    /// Writes a row as a line of the text format.
    private static func write(_ rows: RowBlock, _ row: Int, to piece: inout [UInt8]) {
        for column in rows.columns.indices {
            if column > 0 { piece.append(UInt8(ascii: "\t")) }
            if rows.isNull(row, column) {
                piece += [UInt8(ascii: "\\"), UInt8(ascii: "N")]
                continue
            }
            let value = rows.bytes[rows.range(row, column)]
            if value.contains(where: isSpecial) {
                for byte in value { append(byte, to: &piece) }
            } else {
                piece += value
            }
        }
        piece.append(UInt8(ascii: "\n"))
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
        default: false
        }
    }

    private static func append(_ byte: UInt8, to piece: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\\"): piece += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
        case UInt8(ascii: "\t"): piece += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
        case UInt8(ascii: "\n"): piece += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
        case UInt8(ascii: "\r"): piece += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
        default: piece.append(byte)
        }
    }
}

/// The number of rows, and a checksum that doesn't depend on the rows' order, because engines sort text differently.
package struct TransferChecksum: Hashable, Sendable, CustomStringConvertible {
    /// The number of rows that were added.
    package private(set) var rows = 0
    private var sum = Words256()

    /// The checksum of no rows.
    package init() {}

    /// Adds a row's SHA-256 to the sum, modulo 2^64 in each of four words.
    mutating func add(_ row: [SQLValue]) {
        rows += 1
        sum &+= Digest256(of: Self.encode(row)).words
    }

    /// Sixteen hexadecimal characters derived from the sum, for a person to compare.
    package var description: String {
        let word = sum[0] ^ sum[1] ^ sum[2] ^ sum[3]
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Encodes a row as bytes; different rows have different encodings.
    package static func encode(_ row: [SQLValue]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in row {
            switch value {
            case .null: bytes.append(0)
            case .integer(let number):
                bytes.append(1)
                append(UInt64(bitPattern: number), to: &bytes)
            case .text(let text):
                bytes.append(2)
                append(UInt64(text.utf8.count), to: &bytes)
                bytes += text.utf8
            case .blob(let blob):
                bytes.append(3)
                append(UInt64(blob.count), to: &bytes)
                bytes += blob
            }
        }
        return bytes
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

/// The numbers of the buckets whose rows have to be looked up.
typealias Suspects = Set<Int>

/// A table's contents: a checksum of all rows, and sums over buckets of rows that narrow down which rows differ.
struct TransferContent: Sendable {
    /// All rows.
    private(set) var checksum = TransferChecksum()
    /// Sums of parts of the rows' digests, by the hash of their keys.
    private var sums = [UInt64](repeating: 0, count: Self.bucketCount)

    /// Enough that with a thousand differing rows, 98% of the others needn't be looked up; takes half a megabyte.
    private static let bucketCount = 1 << 16

    /// Adds a row.
    mutating func add(_ row: [SQLValue], of table: TransferTable) {
        let words = checksum.add(row)
        sums[Self.bucket(of: row, table)] &+= words[0]
    }

    /// Removes a row that was added.
    mutating func remove(_ row: [SQLValue], of table: TransferTable) {
        let words = checksum.remove(row)
        sums[Self.bucket(of: row, table)] &-= words[0]
    }

    /// The buckets in which another table's rows differ.
    func buckets(differingFrom other: TransferContent) -> Suspects {
        Set(sums.indices.filter { sums[$0] != other.sums[$0] })
    }

    /// A row's bucket, by a hash (FNV-1a) of its key.
    static func bucket(of row: [SQLValue], _ table: TransferTable) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in table.keyBytes(of: row) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int((hash ^ hash >> 32) % UInt64(bucketCount))
    }
}

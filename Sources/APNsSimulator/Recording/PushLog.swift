/// A ring buffer of the most recent pushes.
package struct PushLog: Sendable {
    /// The default number of pushes kept.
    package static let keptDefault = 10_000
    /// The largest number of pushes kept.
    package static let keptMax = 10_000_000

    /// The number of pushes kept.
    package let kept: Int
    private var records: [PushRecord] = []
    /// The index for the next record once the array is full.
    private var next = 0
    /// The number of the latest record.
    package private(set) var last: UInt64 = 0
    /// The number of pushes overwritten.
    package private(set) var dropped: UInt64 = 0

    /// An empty log that keeps the latest `kept` pushes.
    package init(kept: Int = keptDefault) { self.kept = kept }

    /// Appends a record and assigns it the next number.
    package mutating func append(_ record: PushRecord) {
        last += 1
        guard records.count == kept else {
            records.append(record)
            records[records.count - 1].sequence = last
            return
        }
        dropped += 1
        guard kept > 0 else { return }
        records[next] = record
        records[next].sequence = last
        next = next + 1 == kept ? 0 : next + 1
    }

    /// One page of the log.
    package struct Page: Sendable {
        package let records: [PushRecord]
        /// The number of pushes after the cursor that were already overwritten.
        package let missed: UInt64
        /// The cursor for the next page.
        package let next: UInt64
        /// Whether more pushes follow this page.
        package let hasMore: Bool
    }

    /// The records numbered above `cursor`, oldest first.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of records.
    ///   - isWanted: Selects the records to return.
    package func page(after cursor: UInt64, limit: Int, where isWanted: (PushRecord) -> Bool) -> Page {
        let first = last - UInt64(records.count) + 1
        let wanted = min(cursor, last) + 1
        var sequence = max(wanted, first)
        let missed = sequence - wanted
        var found: [PushRecord] = []
        while sequence <= last, found.count < limit {
            let record = records[index(of: sequence, first: first)]
            if isWanted(record) { found.append(record) }
            sequence += 1
        }
        return Page(records: found, missed: missed, next: sequence - 1, hasMore: sequence <= last)
    }

    /// Removes all records; numbering continues.
    package mutating func removeAll() {
        records = []
        next = 0
        dropped = 0
    }

    private func index(of sequence: UInt64, first: UInt64) -> Int {
        let offset = Int(sequence - first) + (records.count == kept ? next : 0)
        return offset < records.count ? offset : offset - records.count
    }
}

/// The last pushes, in order; older ones give way.
package struct PushLog: Sendable {
    /// How many are kept unless the caller says otherwise.
    package static let keptDefault = 10_000
    /// How many can be kept.
    package static let keptMax = 10_000_000

    /// How many pushes are kept.
    package let kept: Int
    private var records: [PushRecord] = []
    /// Where the next record goes once the array is full.
    private var next = 0
    /// The number of the last record.
    package private(set) var last: UInt64 = 0
    /// How many pushes have given way to newer ones.
    package private(set) var dropped: UInt64 = 0

    /// An empty log that keeps the last `kept` pushes.
    package init(kept: Int = keptDefault) { self.kept = kept }

    /// Adds a record, which gets the next number.
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

    /// A part of the log.
    package struct Page: Sendable {
        package let records: [PushRecord]
        /// Pushes after the cursor that had already given way.
        package let missed: UInt64
        /// The cursor for the next page.
        package let next: UInt64
        /// Whether there are more pushes behind this page now.
        package let hasMore: Bool
    }

    /// The records with numbers above `cursor`, the oldest first.
    ///
    /// - Parameters:
    ///   - limit: How many are returned at most.
    ///   - isWanted: Others are passed over.
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

    /// Forgets the records; numbers go on.
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

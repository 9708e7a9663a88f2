/// Why a copy ended early.
package enum TransferFailure: Error, Hashable, Sendable {
    /// The source could not be read.
    case source(StorageError)
    /// The target could not be written or read.
    case target(StorageError)
    /// The target already contains other rows.
    case occupied(table: String, rows: Int)
    /// The target contains an unfinished copy of another source.
    case otherSource
    /// The target isn't a copy of the source: rows changed in one of them during the copy.
    case differs([TransferDifference])
}

/// A table whose rows differ after the copy.
package struct TransferDifference: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// The checksum of the source's rows.
    package let source: TransferChecksum
    /// The checksum of the target's rows.
    package let target: TransferChecksum

    /// Creates a difference from its parts.
    package init(table: String, source: TransferChecksum, target: TransferChecksum) {
        self.table = table
        self.source = source
        self.target = target
    }
}

/// A copy's progress.
package struct TransferProgress: Hashable, Sendable {
    /// The current activity.
    package enum Stage: String, Hashable, Sendable {
        /// Rows are being copied from the source to the target.
        case copying
        /// The source and the target are being read and compared.
        case comparing
    }

    /// The current activity.
    package let stage: Stage
    /// The table being processed.
    package let table: String
    /// Rows processed so far, including those of an interrupted run.
    package let done: Int
    /// The number of rows to process, as counted when processing began.
    package let total: Int

    /// Creates a progress report from its parts.
    package init(stage: Stage, table: String, done: Int, total: Int) {
        self.stage = stage
        self.table = table
        self.done = done
        self.total = total
    }
}

/// A table found to have the same rows on both sides.
package struct TransferSummary: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// The number of rows and their checksum.
    package let checksum: TransferChecksum

    /// Creates a summary from its parts.
    package init(table: String, checksum: TransferChecksum) {
        self.table = table
        self.checksum = checksum
    }
}

/// Why a copy ended early.
package enum TransferFailure: Error, Hashable, Sendable {
    /// The source could not be read.
    case source(StorageError)
    /// The target could not be written or read.
    case target(StorageError)
    /// The target has its own rows.
    case occupied(table: String, rows: Int)
    /// The target holds an unfinished copy of another source.
    case otherSource
    /// The target isn't a copy of the source: rows were changed meanwhile in one of them.
    case differs([TransferDifference])
}

/// A table whose rows differ after the copy.
package struct TransferDifference: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// The source's rows.
    package let source: TransferChecksum
    /// The target's rows.
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
        /// Rows go from the source to the target.
        case copying
        /// Both are read and compared.
        case comparing
    }

    /// The current activity.
    package let stage: Stage
    /// The table that is being processed.
    package let table: String
    /// Rows processed so far, including those of an interrupted run.
    package let done: Int
    /// The table's number of rows when processing began.
    package let total: Int

    /// Creates a progress report from its parts.
    package init(stage: Stage, table: String, done: Int, total: Int) {
        self.stage = stage
        self.table = table
        self.done = done
        self.total = total
    }
}

/// A table that both sides were found to have the same rows of.
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

/// Why a copy ended early.
package enum TransferFailure: Error, Hashable, Sendable {
    /// The source could not be read.
    case source(StorageError)
    /// The target could not be written or read.
    case target(StorageError)
    /// The target has its own rows, and merging isn't allowed.
    case occupied(table: String, rows: Int)
    /// The target holds an unfinished copy of another source.
    case otherSource
    /// The target isn't a copy of the source: rows were changed during the copy, or by others in the target.
    case differs([TransferDifference], isMerge: Bool)
}

/// How one table of the target differs from the source's.
package struct TransferDifference: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// Rows that only the source has.
    package var missing = 0
    /// Rows that both have, with different values.
    package var altered = 0
    /// Rows that only the target has; in a merge, only rows that the merge added.
    package var extra = 0

    /// No difference yet.
    package init(table: String) {
        self.table = table
    }

    /// Creates a difference from its parts.
    package init(table: String, missing: Int, altered: Int, extra: Int) {
        self.table = table
        self.missing = missing
        self.altered = altered
        self.extra = extra
    }

    /// How many rows differ.
    package var rows: Int { missing + altered + extra }

    /// Whether there is no difference.
    package var isNone: Bool { rows == 0 }

    static func + (left: TransferDifference, right: TransferDifference) -> TransferDifference {
        TransferDifference(
            table: left.table, missing: left.missing + right.missing, altered: left.altered + right.altered,
            extra: left.extra + right.extra)
    }
}

/// A copy's progress.
package struct TransferProgress: Hashable, Sendable {
    /// The current activity.
    package enum Stage: Hashable, Sendable {
        /// Rows go from the source to the target.
        case copying
        /// Both are read and compared.
        case comparing
        /// Each row is looked up on the other side, and differences are removed from the target.
        case updating
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

/// A table's summary after both sides were found equal.
package struct TransferSummary: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// The number of rows and their checksum.
    package let checksum: TransferChecksum
    /// The differences that this run removed; they were found in an earlier copy or arose during this one.
    package let removed: TransferDifference

    /// Creates a summary from its parts.
    package init(table: String, checksum: TransferChecksum, removed: TransferDifference) {
        self.table = table
        self.checksum = checksum
        self.removed = removed
    }
}

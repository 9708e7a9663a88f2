/// Copies a relay's tables from one database to another; implements `relay copy`.
///
/// The source is only read, and may change in the meantime. The target records the copy's progress, so that an
/// interrupted copy continues where it stopped and a finished one can be updated. At the end both sides are read again
/// and compared; differences are removed, or reported and removed by the next run.
package struct Transfer: Sendable {
    private let source: any TransferDatabase
    private let target: any TransferDatabase
    private let sourceName: String
    private let mayMerge: Bool
    private let report: @Sendable (TransferProgress) -> Void

    /// How often one run removes differences that arise during the comparison, as long as it finds fewer each time.
    private static let passesMax = 5

    /// A copy that has not begun.
    ///
    /// - Parameters:
    ///   - sourceName: A name for the source that is the same for every copy from it; only its digest is stored.
    ///   - merging: Whether the target may have its own rows, which are replaced where keys are equal.
    ///   - report: Called after each page.
    package init(
        from source: any TransferDatabase, named sourceName: String, to target: any TransferDatabase,
        merging: Bool, report: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.source = source
        self.target = target
        self.sourceName = Digest256(of: Array(sourceName.utf8)).hex
        mayMerge = merging
        self.report = report
    }

    /// Copies the remaining rows, compares both sides, removes differences and reports the result.
    package func run() async throws(TransferFailure) -> [TransferSummary] {
        let version = try await version()
        let tables = TransferTable.all.filter { $0.since.rawValue <= max(version, 1) }
        var marks = try await marks()
        let sides = sides(version, isMerge: marks.contains(where: \.isMerge))
        for index in marks.indices where marks[index].stage == .copying {
            guard let table = tables.first(where: { $0.name == marks[index].table }) else { continue }
            marks[index] = try await copy(table, from: marks[index], sides)
        }
        var summaries: [TransferSummary] = []
        var differences: [TransferDifference] = []
        for table in tables {
            guard let index = marks.firstIndex(where: { $0.table == table.name }) else { continue }
            let (content, summary, difference) = try await settle(table, marks[index], sides)
            marks[index].content = content
            marks[index].stage = summary == nil ? .different : .same
            if let summary { summaries.append(summary) }
            if let difference { differences.append(difference) }
        }
        // A table that an older source lacks is empty on both sides.
        for index in marks.indices where marks[index].stage == .copying { marks[index].stage = .same }
        let settled = marks
        try await sides.writing { target throws(StorageError) in try await target.update(settled) }
        guard differences.isEmpty else { throw .differs(differences, isMerge: sides.isMerge) }
        return summaries
    }

    private func version() async throws(TransferFailure) -> Int {
        do throws(StorageError) { return try await source.version() } catch { throw .source(error) }
    }

    private func sides(_ version: Int, isMerge: Bool) -> TransferComparison {
        TransferComparison(
            source: source, target: target, version: version, isMerge: isMerge, report: report)
    }
}

// MARK: - Progress

extension Transfer {
    /// The copy's state: new, interrupted or finished.
    private func marks() async throws(TransferFailure) -> [TransferMark] {
        let sides = sides(SchemaStep.current, isMerge: false)
        let found = try await sides.writing { target throws(StorageError) in try await target.marks() }
        if let found, found.count == TransferTable.all.count {
            if found.allSatisfy({ $0.source == sourceName }) {
                let isMerge = try await becomesMerge(found, sides)
                return isMerge ? try await begin(isMerge: true, sides) : found
            }
            // The target of a finished copy is an ordinary database.
            guard found.allSatisfy({ $0.stage == .same }) else { throw .otherSource }
        }
        var isOccupied = false
        for table in TransferTable.all {
            let rows = try await sides.writing { target throws(StorageError) in
                try await target.count(of: table)
            }
            guard rows == 0 || mayMerge else { throw .occupied(table: table.name, rows: rows) }
            if rows > 0 { isOccupied = true }
        }
        return try await begin(isMerge: isOccupied, sides)
    }

    /// Whether a copy into an empty target continues as a merge, because merging is allowed and the target now has rows
    /// that the copy didn't write.
    private func becomesMerge(
        _ marks: [TransferMark], _ sides: TransferComparison
    ) async throws(TransferFailure) -> Bool {
        let isCopying = marks.contains { $0.stage == .copying || $0.stage == .copied }
        guard mayMerge, !isCopying, !marks.contains(where: \.isMerge) else { return false }
        for mark in marks {
            guard mark.stage == .same else { return true }
            guard let table = TransferTable.all.first(where: { $0.name == mark.table }) else { continue }
            guard try await sides.content(of: table) == mark.content ?? TransferChecksum() else {
                return true
            }
        }
        return false
    }

    private func begin(
        isMerge: Bool, _ sides: TransferComparison
    ) async throws(TransferFailure) -> [TransferMark] {
        let marks = TransferTable.all.map {
            TransferMark(table: $0.name, source: sourceName, isMerge: isMerge)
        }
        try await sides.writing { target throws(StorageError) in try await target.begin(marks) }
        return marks
    }
}

// MARK: - One table

extension Transfer {
    /// Copies a table's rows from its mark to the end.
    private func copy(
        _ table: TransferTable, from mark: TransferMark, _ sides: TransferComparison
    ) async throws(TransferFailure) -> TransferMark {
        var mark = mark
        // The expected content of the target afterwards, if this run copies the whole table.
        var content: TransferChecksum? = mark.reached == nil ? TransferChecksum() : nil
        let total = try await sides.reading { source throws(StorageError) in
            try await source.count(of: table)
        }
        while mark.stage == .copying {
            let reached = mark.reached
            let page = try await sides.reading { source throws(StorageError) in
                try await source.page(of: table, after: reached, version: sides.version)
            }
            for row in page { content?.add(row) }
            mark.copied += page.count
            if let last = page.last { mark.reached = table.key(of: last) }
            if page.count < table.rowsPerPage {
                mark.stage = .copied
                mark.content = content
            }
            let next = mark
            try await sides.writing { target throws(StorageError) in
                try await target.store(page, in: table, next)
            }
            report(TransferProgress(stage: .copying, table: table.name, done: mark.copied, total: total))
        }
        return mark
    }

    /// Compares a table on both sides, and removes differences that only changes to the source can explain.
    ///
    /// Other differences are counted and removed by the next run, so that no rows disappear without notice.
    private func settle(
        _ table: TransferTable, _ mark: TransferMark, _ sides: TransferComparison
    ) async throws(TransferFailure) -> (TransferChecksum, TransferSummary?, TransferDifference?) {
        var finding = try await sides.compare(table)
        var removed = TransferDifference(table: table.name)
        let isUntouched =
            mark.isMerge || mark.stage == .updating || mark.content == finding.target.checksum
        if !finding.isSame, isUntouched {
            var updating = mark
            updating.stage = .updating
            let begun = updating
            try await sides.writing { target throws(StorageError) in try await target.update([begun]) }
            var last = Int.max
            for _ in 0..<Self.passesMax where !finding.isSame {
                let pass = try await sides.examine(table, after: finding, updating: true)
                finding = pass.finding
                removed = removed + pass.difference
                // If the source changes faster than this, it must be stopped first.
                guard pass.difference.rows < last else { break }
                last = pass.difference.rows
            }
        }
        guard finding.isSame else {
            let difference = try await sides.examine(table, after: finding, updating: false).difference
            return (finding.target.checksum, nil, difference)
        }
        let checksum = finding.source.checksum
        return (checksum, TransferSummary(table: table.name, checksum: checksum, removed: removed), nil)
    }
}

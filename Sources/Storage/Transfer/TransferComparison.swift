/// Compares the two sides of a copy.
struct TransferComparison: Sendable {
    let source: any TransferDatabase
    let target: any TransferDatabase
    /// The source's schema.
    let version: Int
    let isMerge: Bool
    let report: @Sendable (TransferProgress) -> Void

    /// The contents of a table on both sides.
    struct Finding: Sendable {
        /// The source's content.
        var source = TransferContent()
        /// The target's content; in a merge, only of rows whose keys the source has.
        var target = TransferContent()
        /// Whether a merge added rows to the target that the source no longer has.
        var hasExtra = false

        var isSame: Bool { !hasExtra && source.checksum == target.checksum }
    }

    /// Reads a table on both sides and compares the contents.
    func compare(_ table: TransferTable) async throws(TransferFailure) -> Finding {
        // A merged target has other rows as well, so comparing checksums is useless.
        if isMerge { return try await examine(table, after: Finding(), updating: false).finding }
        var finding = Finding()
        var progress = try await Progress(self, .comparing, table)
        try await forEachSourcePage(of: table) { page throws(TransferFailure) in
            for row in page { finding.source.add(row, of: table) }
            progress.advance(page.count)
        }
        try await forEachTargetPage(of: table) { page throws(TransferFailure) in
            for row in page { finding.target.add(row, of: table) }
            progress.advance(page.count)
        }
        return finding
    }

    /// Reads the target's table alone.
    func content(of table: TransferTable) async throws(TransferFailure) -> TransferChecksum {
        var content = TransferChecksum()
        try await forEachTargetPage(of: table) { page throws(TransferFailure) in
            for row in page { content.add(row) }
        }
        return content
    }

    /// Looks up rows on the other side, counts those that differ and, if `updating`, makes the target equal to the
    /// source.
    ///
    /// Both sides are read again. Only rows in buckets that differed before are looked up; in a merge, all rows are.
    ///
    /// - Parameter last: The result of the previous comparison.
    /// - Returns: The differences, and the content of both sides afterwards, as read.
    func examine(
        _ table: TransferTable, after last: Finding, updating: Bool
    ) async throws(TransferFailure) -> (difference: TransferDifference, finding: Finding) {
        var progress = try await Progress(self, updating ? .updating : .comparing, table)
        var difference = TransferDifference(table: table.name)
        var finding = Finding()
        let suspects: Suspects? = isMerge ? nil : last.source.buckets(differingFrom: last.target)
        // Deletions come first: a row that moved to another key keeps its ID, which may have to be unique.
        if isMerge {
            difference.extra = try await examineAdded(table, updating: updating)
            finding.hasExtra = difference.extra > 0 && !updating
        } else {
            try await forEachTargetPage(of: table) { page throws(TransferFailure) in
                let extra = try await extraRows(in: page, of: table, suspects, updating: updating)
                difference.extra += extra.count
                for row in page { finding.target.add(row, of: table) }
                if updating { for row in extra { finding.target.remove(row, of: table) } }
                progress.advance(page.count)
            }
        }
        try await forEachSourcePage(of: table) { page throws(TransferFailure) in
            for row in page { finding.source.add(row, of: table) }
            let rows = page.filter { suspects?.contains(TransferContent.bucket(of: $0, table)) ?? true }
            let found = try await inTarget(rows, of: table)
            if isMerge { for row in found.values { finding.target.add(row, of: table) } }
            let missing = rows.filter { found[table.keyBytes(of: $0)] == nil }
            let altered = rows.filter { row in
                found[table.keyBytes(of: row)].map { TransferCoding.encode($0) != TransferCoding.encode(row) }
                    ?? false
            }
            difference.missing += missing.count
            difference.altered += altered.count
            if updating, !missing.isEmpty || !altered.isEmpty {
                for row in altered.compactMap({ found[table.keyBytes(of: $0)] }) {
                    finding.target.remove(row, of: table)
                }
                for row in try await store(missing, replacing: altered, in: table) {
                    finding.target.add(row, of: table)
                }
            }
            progress.advance(page.count)
        }
        return (difference, finding)
    }
}

// MARK: - Parts

extension TransferComparison {
    /// Counts the target's rows that the source doesn't have; if `updating`, deletes them.
    private func extraRows(
        in page: [[SQLValue]], of table: TransferTable, _ suspects: Suspects?, updating: Bool
    ) async throws(TransferFailure) -> [[SQLValue]] {
        let rows = page.filter { suspects?.contains(TransferContent.bucket(of: $0, table)) ?? true }
        let gone = try await keysNotInSource(rows.map { table.key(of: $0) }, of: table)
        if updating { try await delete(gone, from: table) }
        let keys = Set(gone.map(TransferCoding.encode))
        return rows.filter { keys.contains(table.keyBytes(of: $0)) }
    }

    /// Counts the rows that a merge added and the source no longer has; if `updating`, deletes them.
    private func examineAdded(
        _ table: TransferTable, updating: Bool
    ) async throws(TransferFailure) -> Int {
        var extra = 0
        var digest = ""
        while true {
            let last = digest
            let page = try await writing { target throws(StorageError) in
                try await target.addedKeys(of: table, after: last, limit: table.rowsPerPage)
            }
            let gone = try await keysNotInSource(page.map(\.key), of: table)
            if updating { try await delete(gone, from: table) }
            extra += gone.count
            guard page.count == table.rowsPerPage, let end = page.last else { return extra }
            digest = end.digest
        }
    }

    private func keysNotInSource(
        _ keys: [[SQLValue]], of table: TransferTable
    ) async throws(TransferFailure) -> [[SQLValue]] {
        guard !keys.isEmpty else { return [] }
        let found = try await reading { source throws(StorageError) in
            try await source.rows(of: table, keys: keys, version: version)
        }
        let there = Set(found.map { table.keyBytes(of: $0) })
        return keys.filter { !there.contains(TransferCoding.encode($0)) }
    }

    private func delete(
        _ keys: [[SQLValue]], from table: TransferTable
    ) async throws(TransferFailure) {
        guard !keys.isEmpty else { return }
        try await writing { target throws(StorageError) in
            try await target.replace(keys, with: [], in: table, isMerge: isMerge)
        }
    }

    /// The target's rows with the keys of some rows, by their keys.
    private func inTarget(
        _ rows: [[SQLValue]], of table: TransferTable
    ) async throws(TransferFailure) -> [[UInt8]: [SQLValue]] {
        guard !rows.isEmpty else { return [:] }
        let keys = rows.map { table.key(of: $0) }
        let found = try await writing { target throws(StorageError) in
            try await target.rows(of: table, keys: keys, version: SchemaStep.current)
        }
        let wanted = Set(keys.map(TransferCoding.encode))
        var byKey: [[UInt8]: [SQLValue]] = [:]
        for row in found where wanted.contains(table.keyBytes(of: row)) {
            byKey[table.keyBytes(of: row)] = row
        }
        return byKey
    }

    /// Stores rows in the target, and reads them back.
    private func store(
        _ missing: [[SQLValue]], replacing altered: [[SQLValue]], in table: TransferTable
    ) async throws(TransferFailure) -> [[SQLValue]] {
        let keys = altered.map { table.key(of: $0) }
        try await writing { target throws(StorageError) in
            try await target.replace(keys, with: missing + altered, in: table, isMerge: isMerge)
        }
        return Array(try await inTarget(missing + altered, of: table).values)
    }
}

// MARK: - Pages

extension TransferComparison {
    /// Progress of one table's comparison, which counts the rows of both sides.
    private struct Progress {
        private let report: @Sendable (TransferProgress) -> Void
        private let stage: TransferProgress.Stage
        private let table: String
        private let total: Int
        private var done = 0

        init(
            _ comparison: TransferComparison, _ stage: TransferProgress.Stage, _ table: TransferTable
        ) async throws(TransferFailure) {
            let inSource = try await comparison.reading { source throws(StorageError) in
                try await source.count(of: table)
            }
            // A merge looks up the source's rows and doesn't read the target's own.
            let inTarget =
                comparison.isMerge
                ? 0
                : try await comparison.writing { target throws(StorageError) in
                    try await target.count(of: table)
                }
            report = comparison.report
            self.stage = stage
            self.table = table.name
            total = inSource + inTarget
            advance(0)
        }

        mutating func advance(_ rows: Int) {
            done += rows
            report(TransferProgress(stage: stage, table: table, done: done, total: total))
        }
    }

    private func forEachSourcePage(
        of table: TransferTable, _ body: ([[SQLValue]]) async throws(TransferFailure) -> Void
    ) async throws(TransferFailure) {
        var reached: [SQLValue]?
        while true {
            let after = reached
            let page = try await reading { source throws(StorageError) in
                try await source.page(of: table, after: after, version: version)
            }
            try await body(page)
            guard page.count == table.rowsPerPage, let last = page.last else { return }
            reached = table.key(of: last)
        }
    }

    private func forEachTargetPage(
        of table: TransferTable, _ body: ([[SQLValue]]) async throws(TransferFailure) -> Void
    ) async throws(TransferFailure) {
        var reached: [SQLValue]?
        while true {
            let after = reached
            let page = try await writing { target throws(StorageError) in
                try await target.page(of: table, after: after, version: SchemaStep.current)
            }
            try await body(page)
            guard page.count == table.rowsPerPage, let last = page.last else { return }
            reached = table.key(of: last)
        }
    }

    func reading<Output: Sendable>(
        _ body: (any TransferDatabase) async throws(StorageError) -> Output
    ) async throws(TransferFailure) -> Output {
        do throws(StorageError) { return try await body(source) } catch { throw .source(error) }
    }

    func writing<Output: Sendable>(
        _ body: (any TransferDatabase) async throws(StorageError) -> Output
    ) async throws(TransferFailure) -> Output {
        do throws(StorageError) { return try await body(target) } catch { throw .target(error) }
    }
}

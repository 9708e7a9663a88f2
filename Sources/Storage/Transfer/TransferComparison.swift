/// The two sides of a copy, read to find what differs.
struct TransferComparison: Sendable {
    let source: any TransferDatabase
    let target: any TransferDatabase
    /// The source's schema.
    let version: Int
    let isMerge: Bool
    let report: @Sendable (TransferProgress) -> Void

    /// What a table was found to hold.
    struct Finding: Sendable {
        var source: TransferChecksum
        /// What the target holds; in a merge, of the rows whose keys the source has.
        var target: TransferChecksum
        /// Whether the target has rows that it should not, where the checksums don't tell.
        var hasExtra = false

        var isSame: Bool { !hasExtra && source == target }
    }

    /// Reads a table on both sides and compares what is in it.
    func compare(_ table: TransferTable) async throws(TransferFailure) -> Finding {
        // Beside a merged target's own rows a checksum says nothing.
        if isMerge { return try await examine(table, updating: false).finding }
        var finding = Finding(source: TransferChecksum(), target: TransferChecksum())
        var progress = try await Progress(self, .comparing, table)
        try await forEachSourcePage(of: table) { page throws(TransferFailure) in
            for row in page { finding.source.add(row) }
            progress.advance(page.count)
        }
        try await forEachTargetPage(of: table) { page throws(TransferFailure) in
            for row in page { finding.target.add(row) }
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

    /// Looks every row up on the other side, counts what differs and, when `updating`, makes the target what the source is.
    func examine(
        _ table: TransferTable, updating: Bool
    ) async throws(TransferFailure) -> (difference: TransferDifference, finding: Finding) {
        var progress = try await Progress(self, updating ? .updating : .comparing, table)
        var difference = TransferDifference(table: table.name)
        // First, since a row that moved to another key takes its id along, which may have to be unique.
        try await forEachExpectedKeys(of: table) { keys throws(TransferFailure) in
            difference.extra += try await examine(keys, of: table, updating: updating)
            progress.advance(keys.count)
        }
        var finding = Finding(source: TransferChecksum(), target: TransferChecksum())
        finding.hasExtra = difference.extra > 0
        try await forEachSourcePage(of: table) { page throws(TransferFailure) in
            let found = try await lookUp(page, of: table)
            let differing = Self.compare(page, found, table, &finding)
            difference.missing += differing.missing.count
            difference.altered += differing.altered.count
            if updating { try await store(differing, in: table) }
            progress.advance(page.count)
        }
        return (difference, finding)
    }

    /// Compares a page of the source's rows with what the target has under their keys.
    private static func compare(
        _ page: [[SQLValue]], _ found: [[SQLValue]], _ table: TransferTable, _ finding: inout Finding
    ) -> (missing: [[SQLValue]], altered: [[SQLValue]]) {
        var there: [[UInt8]: [SQLValue]] = [:]
        for row in found { there[table.keyBytes(of: row)] = row }
        var missing: [[SQLValue]] = []
        var altered: [[SQLValue]] = []
        for row in page {
            finding.source.add(row)
            guard let other = there[table.keyBytes(of: row)] else {
                missing.append(row)
                continue
            }
            finding.target.add(other)
            if TransferCoding.encode(other) != TransferCoding.encode(row) { altered.append(row) }
        }
        return (missing, altered)
    }

    private func lookUp(
        _ page: [[SQLValue]], of table: TransferTable
    ) async throws(TransferFailure) -> [[SQLValue]] {
        let keys = page.map { table.key(of: $0) }
        return try await writing { target throws(StorageError) in
            try await target.rows(of: table, keys: keys, version: SchemaStep.current)
        }
    }

    private func store(
        _ rows: (missing: [[SQLValue]], altered: [[SQLValue]]), in table: TransferTable
    ) async throws(TransferFailure) {
        guard !rows.missing.isEmpty || !rows.altered.isEmpty else { return }
        let keys = rows.altered.map { table.key(of: $0) }
        try await writing { target throws(StorageError) in
            try await target.replace(
                keys, with: rows.missing + rows.altered, in: table, isMerge: isMerge)
        }
    }

    /// Counts the keys that the source doesn't have and, when `updating`, removes their rows from the target.
    private func examine(
        _ keys: [[SQLValue]], of table: TransferTable, updating: Bool
    ) async throws(TransferFailure) -> Int {
        let found = try await reading { source throws(StorageError) in
            try await source.rows(of: table, keys: keys, version: version)
        }
        let there = Set(found.map { table.keyBytes(of: $0) })
        let gone = keys.filter { !there.contains(TransferCoding.encode($0)) }
        if updating, !gone.isEmpty {
            try await writing { target throws(StorageError) in
                try await target.replace(gone, with: [], in: table, isMerge: isMerge)
            }
        }
        return gone.count
    }
}

// MARK: - Pages

extension TransferComparison {
    /// What is shown of one table's comparison; the rows of both sides count.
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
            let inTarget = try await comparison.writing { target throws(StorageError) in
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

    /// The keys in the target that must be in the source too: all, or in a merge those that the merge added.
    private func forEachExpectedKeys(
        of table: TransferTable, _ body: ([[SQLValue]]) async throws(TransferFailure) -> Void
    ) async throws(TransferFailure) {
        guard isMerge else {
            return try await forEachTargetPage(of: table) { page throws(TransferFailure) in
                try await body(page.map { table.key(of: $0) })
            }
        }
        var digest = ""
        while true {
            let last = digest
            let page = try await writing { target throws(StorageError) in
                try await target.addedKeys(of: table, after: last, limit: table.rowsPerPage)
            }
            try await body(page.map(\.key))
            guard page.count == table.rowsPerPage, let end = page.last else { return }
            digest = end.digest
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

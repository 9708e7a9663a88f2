/// Copies a relay's tables from one database to another: what `relay copy` does.
///
/// The source is only read. The target keeps how far the copy has come, so that one which was interrupted goes on where
/// it was; at the end both sides are read again and compared.
package struct Transfer: Sendable {
    private let source: any TransferDatabase
    private let target: any TransferDatabase
    private let sourceName: String
    private let mayMerge: Bool
    private let report: @Sendable (TransferProgress) -> Void

    /// A copy that has not begun.
    ///
    /// - Parameters:
    ///   - sourceName: What stands for the source, the same whenever it is copied from; only its digest is kept.
    ///   - merging: Whether the target may have rows of its own, which are replaced where the keys are the same.
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

    /// Copies what is not copied yet, compares all of it and says what there is.
    package func run() async throws(TransferFailure) -> [TransferSummary] {
        let version = try await reading { source throws(StorageError) in try await source.version() }
        let tables = TransferTable.all.filter { $0.since.rawValue <= max(version, 1) }
        let marks = try await marks()
        for table in tables {
            guard let mark = marks.first(where: { $0.table == table.name }), !mark.isDone else { continue }
            try await copy(table, from: mark, version)
        }
        var summaries: [TransferSummary] = []
        for table in tables {
            summaries.append(try await compare(table, version, isMerge: marks.contains(where: \.isMerge)))
        }
        try await writing { target throws(StorageError) in try await target.end() }
        return summaries
    }

    /// Where the copy stands: at its beginning, or where an interrupted one was left.
    private func marks() async throws(TransferFailure) -> [TransferMark] {
        let found = try await writing { target throws(StorageError) in try await target.marks() }
        if let found, found.count == TransferTable.all.count {
            guard found.allSatisfy({ $0.source == sourceName }) else { throw .otherSource }
            return found
        }
        var isOccupied = false
        for table in TransferTable.all {
            let rows = try await writing { target throws(StorageError) in try await target.count(of: table) }
            guard rows == 0 || mayMerge else { throw .occupied(table: table.name, rows: rows) }
            if rows > 0 { isOccupied = true }
        }
        return try await begin(isMerge: isOccupied)
    }

    private func begin(isMerge: Bool) async throws(TransferFailure) -> [TransferMark] {
        let marks = TransferTable.all.map {
            TransferMark(table: $0.name, source: sourceName, isMerge: isMerge)
        }
        try await writing { target throws(StorageError) in try await target.begin(marks) }
        return marks
    }

    private func copy(
        _ table: TransferTable, from mark: TransferMark, _ version: Int
    ) async throws(TransferFailure) {
        var mark = mark
        let total = try await reading { source throws(StorageError) in try await source.count(of: table) }
        while !mark.isDone {
            let reached = mark.reached
            let page = try await reading { source throws(StorageError) in
                try await source.page(of: table, after: reached, version: version)
            }
            mark.isDone = page.count < table.rowsPerPage
            mark.copied += page.count
            if let last = page.last { mark.reached = table.key(of: last) }
            let next = mark
            try await writing { target throws(StorageError) in try await target.store(page, in: table, next) }
            report(TransferProgress(stage: .copying, table: table.name, done: mark.copied, total: total))
        }
    }

    /// Reads both sides again; where they differ the next run begins anew.
    private func compare(
        _ table: TransferTable, _ version: Int, isMerge: Bool
    ) async throws(TransferFailure) -> TransferSummary {
        let total = try await reading { source throws(StorageError) in try await source.count(of: table) }
        var there = TransferChecksum()
        var here = TransferChecksum()
        var reached: [SQLValue]?
        while true {
            let after = reached
            let page = try await reading { source throws(StorageError) in
                try await source.page(of: table, after: after, version: version)
            }
            for row in page { there.add(row) }
            if isMerge {
                let keys = page.map { table.key(of: $0) }
                let rows = try await writing { target throws(StorageError) in
                    try await target.rows(of: table, keys: keys)
                }
                for row in rows { here.add(row) }
            }
            report(TransferProgress(stage: .comparing, table: table.name, done: there.rows, total: total))
            guard page.count == table.rowsPerPage, let last = page.last else { break }
            reached = table.key(of: last)
        }
        // Without rows of its own the target has what was copied and nothing else.
        if !isMerge { here = try await checksum(of: table) }
        guard here == there else {
            _ = try await begin(isMerge: isMerge)
            throw .differs(table: table.name, source: there, target: here)
        }
        return TransferSummary(table: table.name, checksum: there)
    }

    private func checksum(of table: TransferTable) async throws(TransferFailure) -> TransferChecksum {
        var checksum = TransferChecksum()
        var reached: [SQLValue]?
        while true {
            let after = reached
            let page = try await writing { target throws(StorageError) in
                try await target.page(of: table, after: after, version: SchemaStep.current)
            }
            for row in page { checksum.add(row) }
            guard page.count == table.rowsPerPage, let last = page.last else { return checksum }
            reached = table.key(of: last)
        }
    }

    private func reading<Output: Sendable>(
        _ body: (any TransferDatabase) async throws(StorageError) -> Output
    ) async throws(TransferFailure) -> Output {
        do throws(StorageError) { return try await body(source) } catch { throw .source(error) }
    }

    private func writing<Output: Sendable>(
        _ body: (any TransferDatabase) async throws(StorageError) -> Output
    ) async throws(TransferFailure) -> Output {
        do throws(StorageError) { return try await body(target) } catch { throw .target(error) }
    }
}

/// Why a copy ended before its end.
package enum TransferFailure: Error, Hashable, Sendable {
    /// The source could not be read.
    case source(StorageError)
    /// The target could not be written or read.
    case target(StorageError)
    /// The target has rows of its own and may not be merged with.
    case occupied(table: String, rows: Int)
    /// The target has half a copy of another source.
    case otherSource
    /// What arrived is not what the source has: it was changed meanwhile, or a row was.
    case differs(table: String, source: TransferChecksum, target: TransferChecksum)
}

/// How far a copy has come.
package struct TransferProgress: Hashable, Sendable {
    /// What is being done.
    package enum Stage: Hashable, Sendable {
        /// Rows go from the source to the target.
        case copying
        /// Both are read and compared.
        case comparing
    }

    /// What is being done.
    package let stage: Stage
    /// The table it is done with.
    package let table: String
    /// Rows that are done, those of an interrupted run included.
    package let done: Int
    /// Rows that the source had when the table was begun.
    package let total: Int

    /// A progress of its parts.
    package init(stage: Stage, table: String, done: Int, total: Int) {
        self.stage = stage
        self.table = table
        self.done = done
        self.total = total
    }
}

/// What arrived of one table, after both sides were found to be the same.
package struct TransferSummary: Hashable, Sendable {
    /// The table's name.
    package let table: String
    /// Its rows and what is in them.
    package let checksum: TransferChecksum
}

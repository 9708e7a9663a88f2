/// Copies a relay's tables from one database to another; implements `relay copy`.
///
/// No relay may use either database during the copy. Tables are copied one after another, in key order, so that an
/// interrupted copy can continue after the rows that the target already has. At the end, both databases are read and
/// compared. Tables that differ, because a relay was running, are emptied and copied again by the next run.
package struct Transfer {
    private let source: TransferSide
    private let target: TransferSide
    private let sourceName: String
    private let report: (TransferProgress) -> Void

    /// Creates a copy that hasn't begun.
    ///
    /// - Parameters:
    ///   - sourceName: A name for the source, the same for every copy from it; only the name's digest is stored.
    ///   - target: The target, which has the relay's tables.
    ///   - report: Called after each page.
    package init(
        from source: TransferSide, named sourceName: String, to target: TransferSide,
        report: @escaping (TransferProgress) -> Void
    ) {
        self.source = source
        self.target = target
        self.sourceName = Digest256(of: Array(sourceName.utf8)).hex
        self.report = report
    }

    /// Copies the remaining rows and compares both sides, blocking the thread.
    package func run() throws(TransferFailure) -> [TransferSummary] {
        try begin()
        for table in SchemaTable.copied { try copy(table) }
        var summaries: [TransferSummary] = []
        var differences: [TransferDifference] = []
        for table in SchemaTable.copied {
            let (inSource, inTarget) = try compare(table)
            if inSource == inTarget {
                summaries.append(TransferSummary(table: table.name, checksum: inSource))
            } else {
                differences.append(
                    TransferDifference(table: table.name, source: inSource, target: inTarget))
            }
        }
        guard differences.isEmpty else {
            let names = differences.map(\.table)
            try writing { target throws(SQLFailure) in try target.mark(differing: names) }
            throw .differs(differences)
        }
        try writing { target throws(SQLFailure) in try target.endCopy() }
        return summaries
    }

    /// Continues the copy recorded in the target, or begins one in an empty target.
    private func begin() throws(TransferFailure) {
        let marks = try writing { target throws(SQLFailure) in try target.marks() }
        guard marks.isEmpty else {
            guard marks.allSatisfy({ $0.source == sourceName }) else { throw .otherSource }
            let differing = marks.filter(\.isDifferent).map(\.table)
            try writing { target throws(SQLFailure) in try target.empty(differing) }
            return
        }
        for table in SchemaTable.copied {
            let rows = try writing { target throws(SQLFailure) in try target.count(table) }
            guard rows == 0 else { throw .occupied(table: table.name, rows: rows) }
        }
        try writing { target throws(SQLFailure) in try target.beginCopy(of: sourceName) }
    }

    private func copy(_ table: SchemaTable) throws(TransferFailure) {
        let total = try reading { source throws(SQLFailure) in try source.count(table) }
        var done = try writing { target throws(SQLFailure) in try target.count(table) }
        guard done < total else { return }
        let first = done
        var reached =
            first == 0
            ? nil : try reading { source throws(SQLFailure) in try source.key(ofRow: first - 1, in: table) }
        while true {
            let after = reached
            let page = try reading { source throws(SQLFailure) in try source.page(of: table, after: after) }
            if !page.isEmpty {
                try writing { target throws(SQLFailure) in try target.store(page, in: table) }
            }
            done += page.count
            report(TransferProgress(stage: .copying, table: table.name, done: done, total: total))
            guard page.count == table.rowsPerPage, let last = page.last else { return }
            reached = table.key(of: last)
        }
    }

    private func compare(
        _ table: SchemaTable
    ) throws(TransferFailure) -> (source: TransferChecksum, target: TransferChecksum) {
        let inSource = try reading { source throws(SQLFailure) in try source.count(table) }
        let inTarget = try writing { target throws(SQLFailure) in try target.count(table) }
        func advance(_ done: Int) {
            report(
                TransferProgress(
                    stage: .comparing, table: table.name, done: done, total: inSource + inTarget))
        }
        let left = try reading { source throws(SQLFailure) in try source.checksum(of: table) { advance($0) } }
        let right = try writing { target throws(SQLFailure) in
            try target.checksum(of: table) { advance(left.rows + $0) }
        }
        return (left, right)
    }

    private func reading<Output>(
        _ body: (TransferSide) throws(SQLFailure) -> Output
    ) throws(TransferFailure) -> Output {
        do throws(SQLFailure) { return try body(source) } catch { throw .source(error.error) }
    }

    private func writing<Output>(
        _ body: (TransferSide) throws(SQLFailure) -> Output
    ) throws(TransferFailure) -> Output {
        do throws(SQLFailure) { return try body(target) } catch { throw .target(error.error) }
    }
}

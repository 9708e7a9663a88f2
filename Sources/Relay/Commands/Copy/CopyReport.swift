import Storage

/// The final messages of `relay copy`.
enum CopyReport {
    /// What was copied, one table per line.
    static func summary(
        _ summaries: [TransferSummary], _ places: CopyCommand.Places, _ time: Duration
    ) -> String {
        var text = ""
        for summary in summaries {
            text +=
                "\(summary.table): \(rows(summary.checksum.rows)), checksum \(summary.checksum) on both sides"
            let removed = summary.removed
            if !removed.isNone {
                text +=
                    " (updated: \(removed.missing) added, \(removed.altered) replaced, \(removed.extra) deleted)"
            }
            text += "\n"
        }
        let seconds = Int(time / .seconds(1))
        text += "\(places.target) has all of \(places.source) (\(seconds) s)\n"
        return text + "Until a relay uses \(places.target), run the same command again to update it.\n"
    }

    /// Why a copy ended, and what to do next.
    static func message(_ failure: TransferFailure, _ places: CopyCommand.Places) -> String {
        switch failure {
        case .source(let error): "\(places.source): \(error.logDetail)"
        case .target(let error): "\(places.target): \(error.logDetail)"
        case .occupied(let table, let count):
            """
            \(places.target) already has \(rows(count)) in \(table).
            Copy into an empty database, or keep these rows with --merge: a row whose key is in both databases is \
            replaced.
            """
        case .otherSource:
            """
            \(places.target) holds an unfinished copy of another database.
            Finish that copy with its own --from, or delete \(places.target) and start again.
            """
        case .differs(let differences, let isMerge): differs(differences, isMerge, places)
        }
    }

    private static func differs(
        _ differences: [TransferDifference], _ isMerge: Bool, _ places: CopyCommand.Places
    ) -> String {
        var text = "\(places.target) is not a copy of \(places.source) yet:\n"
        for difference in differences {
            var parts: [String] = []
            if difference.missing > 0 { parts.append("\(rows(difference.missing)) missing") }
            if difference.altered > 0 { parts.append("\(rows(difference.altered)) different") }
            if difference.extra > 0 { parts.append("\(rows(difference.extra)) only in \(places.target)") }
            if parts.isEmpty { parts.append("changed during the comparison") }
            text += "  \(difference.table): \(parts.joined(separator: ", "))\n"
        }
        text += """
            Rows change while a relay uses either database: stop it. Then run the same command again. It copies what is \
            missing or different
            """
        guard differences.contains(where: { $0.extra > 0 }) else { return text + "." }
        text += " and deletes the rows that only \(places.target) has."
        return isMerge ? text : text + " To keep those rows, add --merge."
    }

    private static func rows(_ count: Int) -> String {
        "\(CopyProgress.grouped(count)) \(count == 1 ? "row" : "rows")"
    }

    /// The exit status after a failure.
    static func status(_ failure: TransferFailure) -> ExitStatus {
        switch failure {
        case .source, .target: .unavailable
        case .occupied, .otherSource, .differs: .data
        }
    }
}

import Programs
import Storage

/// The final messages of `relay copy`.
enum CopyReport {
    /// The copied tables, one per line.
    static func summary(
        _ summaries: [TransferSummary], _ places: CopyCommand.Places, _ time: Duration
    ) -> String {
        let lines = summaries.map { summary in
            "\(summary.table): \(rows(summary.checksum)), checksum \(summary.checksum) on both sides\n"
        }
        return lines.joined()
            + "\(places.target) has all of \(places.source) (\(Int(time / .seconds(1))) s)\n"
    }

    /// Why a copy ended, and what to do next.
    static func message(_ failure: TransferFailure, _ places: CopyCommand.Places) -> String {
        switch failure {
        case .source(let error): "\(places.source): \(advice(error))"
        case .target(let error): "\(places.target): \(advice(error))"
        case .occupied(let table, let count):
            "\(places.target) already has \(rows(count)) in \(table). Copy into an empty database."
        case .otherSource:
            """
            \(places.target) contains an unfinished copy of another database.
            Finish that copy with its own --from, or delete \(places.target) and start again.
            """
        case .differs(let differences): differs(differences, places)
        }
    }

    private static func advice(_ error: StorageError) -> String {
        let advice: String
        switch error {
        case .inUse: advice = "Stop it; no relay may use either database until the copy ends."
        case .unavailable, .timeout, .unconfirmed, .crowded, .full:
            advice = "Run the same command again to start or continue the copy."
        default: return error.logDetail
        }
        return error.logDetail + "\n" + advice
    }

    private static func differs(
        _ differences: [TransferDifference], _ places: CopyCommand.Places
    ) -> String {
        var text = "\(places.target) is not a copy of \(places.source) yet:\n"
        for difference in differences {
            text += """
                  \(difference.table): \(rows(difference.source)) with checksum \(difference.source), the target has \
                \(rows(difference.target)) with checksum \(difference.target)

                """
        }
        return text + """
            A relay still used one of the databases: stop it. Then run the same command again. It empties these tables \
            in \(places.target) and copies them again.
            """
    }

    private static func rows(_ checksum: TransferChecksum) -> String { rows(checksum.rows) }

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

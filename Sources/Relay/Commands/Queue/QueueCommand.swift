import Network
import Programs
import Storage

/// `relay queue`: lists the queued pushes of one secret or of all.
enum QueueCommand {
    /// Reads a page of the queue and prints it.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        let after = options.text(.after)
        let cursor = after.flatMap { WaitingCursor($0) }
        guard after == nil || cursor != nil else {
            StandardError.message(
                "--after is not a cursor printed by relay queue. " + RelayCommand.table.hint("queue"))
            return .usage
        }
        let limit = options.number(.limit) ?? Bounds.rowsShownDefault
        do throws(ExitStatus) {
            var hash: SecretHash?
            if let digits = options.text(.secretHash) {
                hash = try SecretHashSearch.require(digits, in: .everyTable, configuration)
            }
            return Inspection.run(configuration) { [hash] storage throws(StorageError) in
                let report = try await storage.queueReport(of: hash, after: cursor, limit: limit)
                StandardOutput.write(options.has(.json) ? report.json : report.text(style))
                return .success
            }
        } catch {
            return error
        }
    }
}

extension Storage {
    /// A page of the queue with its summary.
    fileprivate func queueReport(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) async throws(StorageError) -> QueueReport {
        // Reads one push more than is shown, to find out whether there is another page.
        let pushes = try await waitingPushes(of: hash, after: cursor, limit: limit + 1)
        var report = QueueReport(
            pushes: Array(pushes.prefix(limit)), isComplete: pushes.count <= limit, now: WallClock.system.now)
        report.limit = limit
        if let hash {
            report.secretHash = hash
            report.waiting = try await holdings(of: SecretKey(primary: hash)).pushes
        } else {
            report.waiting = try await countPushes(limit: Bounds.waitingCountedMax)
            report.waitingMayBeMore = report.waiting >= Bounds.waitingCountedMax
        }
        report.firstDue = try await waitingPushes(of: hash, after: nil, limit: 1).first?.dueAt
        return report
    }
}

extension RelayCommand {
    static let queue = RelayCommand(
        "queue", "List the pushes waiting for a retry.",
        about: """
            Lists the pushes waiting for a retry, next due first: secret, age, attempts, due time and expiry.
            It works alongside a running relay. The database doesn't store the cause of a retry; the relay's log
            and metrics show it.
            """,
        options: [.secretHash, .limit, .after, .json],
        settings: .inspection
    ) { call throws(ConfigurationError) in
        QueueCommand.run(try call.inspection(), call.options, call.style)
    }
}

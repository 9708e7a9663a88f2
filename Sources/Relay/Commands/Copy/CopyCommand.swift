import Network
import Programs
import Storage

/// `relay copy`: copies everything from one database to another, while no relay uses them.
enum CopyCommand {
    /// Copies and compares the rows; the next run continues an interrupted one.
    static func run(_ configuration: CopyConfiguration) -> ExitStatus {
        let places = Places(configuration)
        let servers = [(configuration.source, places.source), (configuration.target, places.target)]
            .filter { OpenStorage.file(of: $0.0) == nil }.map(\.1)
        if !servers.isEmpty {
            StandardError.message(
                "no relay may use \(servers.joined(separator: " or ")) until the copy ends: stop them first")
        }
        let status = CommandTask.run { copy(configuration, places) }
        if status == .interrupted {
            // A page is stored completely or not at all, so there is nothing to wait for.
            StandardError.message("interrupted. Run the same command again to continue.")
        }
        return status
    }

    private static func copy(_ configuration: CopyConfiguration, _ places: Places) -> ExitStatus {
        let progress = Lock(CopyProgress(isTerminal: StandardError.isTerminal))
        let began = ContinuousClock.now
        do throws(TransferFailure) {
            // Don't touch the target if there is nothing to copy from.
            let source = try open(configuration.source, OpenStorage.transferSource) { .source($0) }
            let target = try open(configuration.target, OpenStorage.transferTarget) { .target($0) }
            let transfer = Transfer(from: source, named: places.source, to: target) { step in
                let text = progress.withLock { $0.text(for: step, at: .now) }
                if let text { StandardError.write(Array(text.utf8)) }
            }
            let summaries = try transfer.run()
            StandardOutput.write(CopyReport.summary(summaries, places, ContinuousClock.now - began))
            return .success
        } catch {
            if progress.withLock({ $0.hasOpenLine }) { StandardError.write(Array("\n".utf8)) }
            StandardError.message(CopyReport.message(error, places))
            return CopyReport.status(error)
        }
    }

    private static func open(
        _ database: DatabaseURL, _ open: (DatabaseURL) throws(StorageError) -> TransferSide,
        _ failure: (StorageError) -> TransferFailure
    ) throws(TransferFailure) -> TransferSide {
        do throws(StorageError) { return try open(database) } catch { throw failure(error) }
    }
}

extension CopyCommand {
    /// The source and target for messages, without user or password.
    struct Places: Sendable {
        let source: String
        let target: String
    }
}

extension CopyCommand.Places {
    init(_ configuration: CopyConfiguration) {
        source = OpenStorage.description(of: configuration.source)
        target = OpenStorage.description(of: configuration.target)
    }
}

extension RelayCommand {
    static let copy = RelayCommand(
        "copy", "Copy all data from one database to another; the engines may differ.",
        about: """
            Copies all data to an empty database, then reads and compares both. Stop the relays of both
            databases first. The source is only read. Run the same command again after an interruption or a
            reported difference. A target that has rows of its own is refused.

            Exit statuses: 0 both are equal, 65 the target has other data or differs from the source,
            69 a database is unavailable, 130 interrupted.
            """,
        usages: ["--from URL --to URL"],
        settings: [Settings.copyFrom.row, Settings.copyTo.row]
    ) { call throws(ConfigurationError) in
        let configuration = try CopyConfiguration(call.sources)
        try DatabaseOwner.become([configuration.source, configuration.target], for: call.command.name)
        return CopyCommand.run(configuration)
    }
}

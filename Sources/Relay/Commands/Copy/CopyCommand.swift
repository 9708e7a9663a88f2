import Network
import Storage

/// `relay copy`: moves everything from one database to another.
enum CopyCommand {
    /// Copies and compares; a run that was interrupted goes on with the next one.
    static func run(_ configuration: CopyConfiguration) -> ExitStatus {
        Signals.prepare()
        let end = Lock<ExitStatus?>(nil)
        Task {
            let status = await copy(configuration)
            end.withLock { $0 = status }
            Signals.wakeMainThread()
        }
        while true {
            switch Signals.wait(atMost: nil) {
            case .request(.stop):
                // A page is stored whole or not at all, so there is nothing to wait for.
                StandardError.message("interrupted; the same command goes on where it was")
                return .interrupted
            case .woken: if let status = end.withLock({ $0 }) { return status }
            case .request(.reload), .timeout: continue
            }
        }
    }

    private static func copy(_ configuration: CopyConfiguration) async -> ExitStatus {
        let places = (
            source: OpenStorage.description(of: configuration.source),
            target: OpenStorage.description(of: configuration.target)
        )
        let source: any TransferDatabase
        let target: any TransferDatabase
        do throws(StorageError) {
            source = try OpenStorage.transferSource(configuration.source)
            // Makes its tables, where they are missing.
            await (try await OpenStorage.open(configuration.target, endsLeases: false)).0.close()
            target = try OpenStorage.transferTarget(configuration.target)
        } catch {
            StandardError.message("\(places.target): \(error.logDetail)")
            return .unavailable
        }
        let progress = Lock(CopyProgress(isTerminal: StandardError.isTerminal))
        let transfer = Transfer(
            from: source, named: places.source, to: target, merging: configuration.mayMerge
        ) { step in
            let text = progress.withLock { $0.text(for: step, at: .now) }
            if let text { StandardError.write(Array(text.utf8)) }
        }
        let began = ContinuousClock.now
        let status: ExitStatus
        do throws(TransferFailure) {
            let summaries = try await transfer.run()
            StandardOutput.write(summary(summaries, places, ContinuousClock.now - began))
            status = .success
        } catch {
            if StandardError.isTerminal { StandardError.write(Array("\n".utf8)) }
            StandardError.message(message(error, places))
            status = Self.status(error)
        }
        await source.close()
        await target.close()
        return status
    }

    /// What arrived, a table a line.
    static func summary(
        _ summaries: [TransferSummary], _ places: (source: String, target: String), _ time: Duration
    ) -> String {
        var text = ""
        for summary in summaries {
            text += "\(summary.table): \(CopyProgress.grouped(summary.checksum.rows)) rows, "
            text += "checksum \(summary.checksum) on both sides\n"
        }
        let seconds = Int(time / .seconds(1))
        return text + "\(places.target) has all of \(places.source) (\(seconds) s)\n"
    }

    /// Why a copy ended, in a sentence for the person who began it.
    static func message(_ failure: TransferFailure, _ places: (source: String, target: String)) -> String {
        switch failure {
        case .source(let error): "\(places.source): \(error.logDetail)"
        case .target(let error): "\(places.target): \(error.logDetail)"
        case .occupied(let table, let rows):
            "\(places.target) has \(CopyProgress.grouped(rows)) rows in \(table) already and was not changed; "
                + "with --merge they stay, but for those whose key the source has too"
        case .otherSource:
            "\(places.target) has a part of another database: finish that copy first, or drop its table relay_copy"
        case .differs(let table, let source, let target):
            "\(table) differs: \(CopyProgress.grouped(source.rows)) rows, checksum \(source), in \(places.source); "
                + "\(CopyProgress.grouped(target.rows)) rows, checksum \(target), in \(places.target). "
                + "Something changed them meanwhile; the same command begins anew"
        }
    }

    /// How the program ends after a failure.
    static func status(_ failure: TransferFailure) -> ExitStatus {
        switch failure {
        case .source, .target: .unavailable
        case .occupied, .otherSource, .differs: .data
        }
    }
}

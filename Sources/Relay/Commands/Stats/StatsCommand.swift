import Programs
import Storage

/// `relay stats`: counts events and pushes by day, and shows current totals.
enum StatsCommand {
    /// Counts events and pushes, only those of the given secret if there is one, and prints the result.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        let key = configuration.secret.map(configuration.hasher.key)
        let days = options.number(.days) ?? Bounds.statsDaysDefault
        return Inspection.run(configuration) { storage throws(StorageError) in
            let progress = StatsProgress(isTerminal: StandardError.isTerminal)
            let count = StatsCount(storage: storage, key: key) { progress.show($0) }
            let report: StatsReport
            do throws(StorageError) {
                report = try await count.report(days: days, now: WallClock.system.now)
            } catch {
                progress.clear()
                throw error
            }
            progress.clear()
            StandardOutput.write(options.has(.json) ? report.json : report.text(style))
            return .success
        }
    }
}

/// Counts in steps, so that no statement takes long regardless of the amount of data.
struct StatsCount: Sendable {
    let storage: any Storage
    /// The secret to count; `nil` for all.
    let key: SecretKey?
    /// Called with a day's counts so far.
    var progress: @Sendable (StatsReport.Day) -> Void = { _ in }

    /// Counts whole UTC days; the last one is today.
    func report(days: Int, now: EpochMilliseconds) async throws(StorageError) -> StatsReport {
        let today = now.floorDivided(by: StatsReport.dayMilliseconds)
        var counted: [StatsReport.Day] = []
        for number in (today - Int64(days) + 1)...today { counted.append(try await day(number)) }
        if let key {
            let holdings = try await storage.holdings(of: key)
            let secrets = holdings.devices > 0 ? 1 : 0
            let census = Census(secrets: secrets, devices: holdings.devices, waiting: holdings.pushes)
            return StatsReport(key: key, days: counted, now: census)
        }
        return StatsReport(key: nil, days: counted, now: try await storage.census())
    }

    private func day(_ number: Int64) async throws(StorageError) -> StatsReport.Day {
        var day = StatsReport.Day(number: number)
        let hashes: [SecretHash?] = key?.hashes ?? [nil]
        for hash in hashes {
            var from = day.start
            while from < day.end {
                let tally = try await storage.tally(
                    of: hash, from: from, before: day.end, limit: Bounds.statsRowsPerStep)
                day.add(tally)
                progress(day)
                from = tally.end
            }
        }
        return day
    }
}

/// A progress line on a terminal.
private final class StatsProgress: Sendable {
    private let isTerminal: Bool

    init(isTerminal: Bool) {
        self.isTerminal = isTerminal
    }

    func show(_ day: StatsReport.Day) {
        guard isTerminal, day.pushes > 0 else { return }
        write("counting \(day.name): \(CopyProgress.grouped(day.pushes)) pushes")
    }

    func clear() {
        if isTerminal { write("") }
    }

    private func write(_ text: String) { StandardError.write(Array("\r\u{1B}[K\(text)".utf8)) }
}

extension RelayCommand {
    static let stats = RelayCommand(
        "stats", "Show events and pushes by day, and current totals.",
        about: """
            Counts events and pushes by UTC day and by result, and shows current totals: for the whole
            database, or for the secret in RELAY_SECRET or --secret-file. It reads the delivery log of those
            days a few thousand rows at a time, and works alongside a running relay. With RELAY_LOG at failures
            or off, most sent pushes are missing from it.
            """,
        options: [.days, .json],
        settings: .inspection + .ofSecret
    ) { call throws(ConfigurationError) in
        StatsCommand.run(try call.inspection(), call.options, call.style)
    }
}

extension CommandOption {
    static let days = CommandOption(
        "--days", .number(1...Bounds.statsDaysMax),
        "Count N days, 1 to \(Bounds.statsDaysMax), today included. Default: \(Bounds.statsDaysDefault).")
}

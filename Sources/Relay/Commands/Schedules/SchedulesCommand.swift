import JSON
import Programs
import Storage

/// `relay schedules`: lists the schedules of one secret or of all, or cancels a schedule.
enum SchedulesCommand {
    /// Reads a page and prints it, or cancels a schedule.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        do throws(ExitStatus) {
            if let name = options.text(.cancel) { return try cancel(name, configuration, options) }
            let after = options.text(.after)
            let cursor = after.flatMap { ScheduleCursor($0) }
            let isAboutOne = configuration.secret != nil || options.has(.secretHash)
            guard after == nil || cursor != nil && !isAboutOne else {
                StandardError.message(
                    "--after is not a cursor printed by relay schedules. "
                        + RelayCommand.table.hint("schedules"))
                return .usage
            }
            let key =
                isAboutOne ? try SecretSubject(configuration, options, of: "schedules").key : nil
            let limit = options.number(.limit) ?? Bounds.rowsShownDefault
            return Inspection.run(configuration) { storage throws(StorageError) in
                let report = try await storage.scheduleReport(of: key, after: cursor, limit: limit)
                StandardOutput.write(options.has(.json) ? report.json : report.text(style))
                return .success
            }
        } catch {
            return error
        }
    }

    private static func cancel(
        _ name: String, _ configuration: InspectionConfiguration, _ options: CommandOptions
    ) throws(ExitStatus) -> ExitStatus {
        guard !options.has(.limit), !options.has(.after) else {
            StandardError.message(
                "--cancel can't be combined with --limit or --after. " + RelayCommand.table.hint("schedules"))
            return .usage
        }
        let subject = try SecretSubject(configuration, options, of: "schedules")
        let reference = UUIDv7(name).map(ScheduleReference.id) ?? .name(name)
        return NamedRemoval.schedule(reference).run(
            of: subject, configuration, isJSON: options.has(.json))
    }
}

extension Storage {
    /// A page of the schedules.
    fileprivate func scheduleReport(
        of key: SecretKey?, after cursor: ScheduleCursor?, limit: Int
    ) async throws(StorageError) -> ScheduleReport {
        if let key {
            let all = try await schedules(of: key, kind: .schedule, limit: Bounds.schedulesListedMax)
            return ScheduleReport(schedules: all, key: key)
        }
        var found: [Schedule] = []
        var next = cursor
        repeat {
            // Reads one schedule more than is shown, to find out whether there is another page.
            let page = try await schedules(after: next, limit: limit + 1)
            found += page.schedules.filter { $0.kind == .schedule }
            next = page.next
        } while next != nil && found.count <= limit
        let shown = Array(found.prefix(limit))
        return ScheduleReport(
            schedules: shown, next: found.count > limit ? shown.last.map(ScheduleCursor.init) : nil,
            limit: limit)
    }
}

/// A printable page of schedules.
struct ScheduleReport: Sendable {
    let schedules: [Schedule]
    /// The secret whose schedules are shown; `nil` for all.
    var key: SecretKey?
    /// Where the next page begins; `nil` on the last one.
    var next: ScheduleCursor?
    var limit = Bounds.rowsShownDefault

    /// A table as text.
    func text(_ style: OutputStyle) -> String {
        let head = key.map { "Secret \($0): " } ?? ""
        guard !schedules.isEmpty else { return head + "nothing is scheduled\n" }
        let columns: [TextTable.Column] = [
            .init(heading: "NAME", widthMax: 24), .init(heading: "NEXT"), .init(heading: "EVERY"),
            .init(heading: "LAST"), .init(heading: "OUTCOME"), .init(heading: "SKIPPED", isNumber: true),
            .init(heading: "SCHEDULE"),
        ]
        var table = TextTable((key == nil ? [.init(heading: "SECRET")] : []) + columns)
        for schedule in schedules {
            let isSkipped = schedule.skipped > 0
            let secret: [TextTable.Cell] = key == nil ? [.init(schedule.secretHash.description)] : []
            table.add(
                secret + [
                    .init(schedule.name ?? ""), .init(Timestamp(schedule.nextAt).toTheSecond),
                    .init(schedule.recurrenceSummary),
                    .init(schedule.lastAt.map { Timestamp($0).toTheSecond } ?? ""),
                    .init(schedule.lastOutcome ?? ""),
                    .init(CopyProgress.grouped(schedule.skipped), isSkipped ? .warning : nil),
                    .init(schedule.id.text),
                ])
        }
        let more = next.map { "More: relay schedules --limit \(limit) --after \($0.text)\n" }
        return head + "times in UTC\n" + table.text(style) + (more ?? "")
    }

    /// One JSON object on a line.
    var json: String {
        var object = JSON.Object()
        object["schedules"] = .array(
            schedules.map { schedule in
                var shown = JSON.Object()
                shown["secretHash"] = .string(schedule.secretHash.hex)
                for member in schedule.shown.members { shown[member.name] = member.value }
                return .object(shown)
            })
        object["next"] = next.map { .string($0.text) }
        return String(decoding: JSON.Value.object(object).encoded(), as: UTF8.self) + "\n"
    }
}

extension Schedule {
    /// `2 weeks on mon, fri at 08:00 Europe/Berlin`, or `once`.
    fileprivate var recurrenceSummary: String {
        guard let rule else { return "once" }
        guard let recurrence = Recurrence(stored: rule) else { return "?" }
        let unit = recurrence.unit.rawValue
        var parts = [recurrence.interval == 1 ? unit : "\(recurrence.interval) \(unit)s"]
        let days = recurrence.weekdays.map(\.rawValue) + recurrence.monthDays.map { String($0) }
        if !days.isEmpty { parts.append("on " + days.joined(separator: ", ")) }
        if !recurrence.times.isEmpty {
            parts.append("at " + recurrence.times.map(QuietHours.text).joined(separator: ", "))
        }
        switch recurrence.zone {
        case .named(let name): parts.append(name)
        case .device: parts.append("device")
        case nil: break
        }
        return parts.joined(separator: " ")
    }
}

extension RelayCommand {
    static let schedules = RelayCommand(
        "schedules", "List schedules, or cancel one.",
        about: """
            Lists schedules, without their texts, for all secrets or for the one in RELAY_SECRET, --secret-file
            or --secret-hash. With --cancel it removes the secret's schedule with this ID or name, and asks for
            the secret if none is given. If a running relay uses the SQLite file, the command sends the
            cancellation to its RELAY_ADMIN_LISTEN.
            """,
        usages: [
            "[--secret-hash PREFIX] [--limit N] [--after CURSOR] [--json] [--SETTING VALUE]...",
            "[--secret-hash PREFIX] --cancel SCHEDULE [--json] [--SETTING VALUE]...",
        ],
        options: [.secretHash, .limit, .after, .cancel, .json],
        settings: .inspection + .ofSecret + .change
    ) { call throws(ConfigurationError) in
        SchedulesCommand.run(try call.inspection(), call.options, call.style)
    }
}

extension CommandOption {
    static let cancel = CommandOption(
        "--cancel", .text("SCHEDULE"), "Cancel the schedule with this ID or name instead of listing.")
}

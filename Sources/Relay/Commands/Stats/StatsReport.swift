import JSON
import Programs
import Storage

/// The result of `relay stats`.
struct StatsReport: Sendable, Equatable {
    static let dayMilliseconds: EpochMilliseconds = 86_400_000

    /// One UTC day.
    struct Day: Sendable, Equatable {
        /// Days since 1970-01-01.
        let number: Int64
        private(set) var events = 0
        private(set) var sent = 0
        /// Failed pushes, by reason.
        private(set) var reasons: [String: Int] = [:]

        init(number: Int64) {
            self.number = number
        }

        var start: EpochMilliseconds { number * StatsReport.dayMilliseconds }
        var end: EpochMilliseconds { start + StatsReport.dayMilliseconds }
        /// `2026-11-21`.
        var name: String { String(Timestamp(start).text.prefix(10)) }
        var failed: Int { reasons.values.reduce(0, +) }
        var pushes: Int { sent + failed }

        /// The reasons, most frequent first.
        var reasonsInOrder: [(reason: String, count: Int)] {
            reasons.map { ($0.key.isEmpty ? "no reason" : $0.key, $0.value) }
                .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
        }

        /// Adds counts; the number of distinct reasons is limited.
        mutating func add(_ tally: DeliveryTally) {
            events += tally.events
            sent += tally.sent
            for (reason, count) in tally.failed.sorted(by: { $0.key < $1.key }) {
                let isKnown = reasons[reason] != nil || reasons.count < Bounds.statsReasonsMax
                reasons[isKnown ? reason : StatsReport.otherReasons, default: 0] += count
            }
        }
    }

    /// Stands in for the reasons beyond ``Bounds/statsReasonsMax``.
    static let otherReasons = "others"

    /// The counted secret; `nil` for all.
    let key: SecretKey?
    /// Oldest first.
    let days: [Day]
    let now: Census

    /// A table and a summary line as text.
    func text(_ style: OutputStyle) -> String {
        var table = TextTable([
            .init(heading: "DAY"), .init(heading: "EVENTS", isNumber: true),
            .init(heading: "PUSHES", isNumber: true), .init(heading: "SENT", isNumber: true),
            .init(heading: "FAILED", isNumber: true), .init(heading: "REASONS", widthMax: 120),
        ])
        for day in days {
            let reasons = day.reasonsInOrder
            let shown = reasons.prefix(Bounds.statsReasonsShown).map { reason, count in
                "\(reason) \(CopyProgress.grouped(count))"
            }
            let more = reasons.count > shown.count ? ["…"] : []
            table.add([
                .init(day.name), .init(CopyProgress.grouped(day.events)),
                .init(CopyProgress.grouped(day.pushes)), .init(CopyProgress.grouped(day.sent)),
                .init(CopyProgress.grouped(day.failed), day.failed > 0 ? .warning : nil),
                .init((shown + more).joined(separator: ", ")),
            ])
        }
        let head = key.map { "Secret \($0); days" } ?? "Days"
        return "\(head) in UTC\n" + table.text(style) + present + "\n"
    }

    private var present: String {
        func counted(_ number: Int, _ word: String) -> String {
            "\(CopyProgress.grouped(number)) \(word)\(number == 1 ? "" : "s")"
        }
        let secrets = key == nil ? " of \(counted(now.secrets, "secret"))" : ""
        let waiting =
            now.waiting == 1 ? "1 push waiting" : "\(CopyProgress.grouped(now.waiting)) pushes waiting"
        return "Now: \(counted(now.devices, "device"))\(secrets); \(waiting)"
    }

    /// One JSON object on a line.
    var json: String {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.name("days")
        writer.beginArray()
        for day in days {
            writer.beginObject()
            writer.member("day", day.name)
            writer.member("events", day.events)
            writer.member("pushes", day.pushes)
            writer.member("sent", day.sent)
            writer.member("failed", day.failed)
            writer.name("reasons")
            writer.beginObject()
            for (reason, count) in day.reasonsInOrder {
                writer.name(String(reason))
                writer.int(count)
            }
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
        writer.name("now")
        writer.beginObject()
        if key == nil { writer.member("secrets", now.secrets) }
        writer.member("devices", now.devices)
        writer.member("waiting", now.waiting)
        writer.endObject()
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }
}

import JSON
import Programs
import Storage

/// A printable page of the queue.
struct QueueReport: Sendable {
    let pushes: [WaitingPush]
    /// Whether this is the last page.
    let isComplete: Bool
    let now: EpochMilliseconds
    /// The secret whose pushes are shown; `nil` for all.
    var secretHash: SecretHash?
    var limit = Bounds.rowsShownDefault
    /// The total number of queued pushes.
    var waiting = 0
    /// Whether the count stopped at its limit.
    var waitingMayBeMore = false
    /// When the first push is or was due.
    var firstDue: EpochMilliseconds?

    init(pushes: [WaitingPush], isComplete: Bool, now: EpochMilliseconds) {
        self.pushes = pushes
        self.isComplete = isComplete
        self.now = now
    }

    private var next: String? { isComplete ? nil : pushes.last?.cursor.text }

    /// A table and a summary as text.
    func text(_ style: OutputStyle) -> String {
        guard !pushes.isEmpty else { return summary }
        var table = TextTable([
            .init(heading: "SECRET"), .init(heading: "EVENT"), .init(heading: "AGE", isNumber: true),
            .init(heading: "ATTEMPTS", isNumber: true), .init(heading: "DUE", isNumber: true),
            .init(heading: "GIVEN UP", isNumber: true), .init(heading: "PUSH"),
        ])
        for push in pushes {
            table.add([
                .init(push.secretHash.description), .init(push.eventType),
                .init(Self.span(now - push.createdAt)), .init(CopyProgress.grouped(push.attempts)),
                .init(push.isLeased ? "being sent" : Self.moment(push.dueAt, now)),
                .init(Self.moment(push.expiresAt, now)), .init(push.id),
            ])
        }
        let filter = secretHash.map { " --secret-hash \($0.hex)" } ?? ""
        let more = next.map { "More: relay queue\(filter) --limit \(limit) --after \($0)\n" }
        return table.text(style) + summary + (more ?? "")
    }

    private var summary: String {
        let subject = secretHash.map { " of secret \($0)" } ?? ""
        guard waiting > 0 else { return "No push\(subject) is waiting\n" }
        let count = (waitingMayBeMore ? "At least " : "") + CopyProgress.grouped(waiting)
        let words = waiting == 1 ? "1 push\(subject) is waiting" : "\(count) pushes\(subject) are waiting"
        let due = firstDue.map {
            $0 > now
                ? "the next is due \(Self.moment($0, now))"
                : "the oldest has been due for \(Self.span(now - $0))"
        }
        return words + (due.map { "; " + $0 } ?? "")
            + ". The database doesn't store the cause: see the relay's log and metrics.\n"
    }

    /// `now`, or `in 4m`.
    private static func moment(_ time: EpochMilliseconds, _ now: EpochMilliseconds) -> String {
        time <= now ? "now" : "in \(span(time - now))"
    }

    /// A duration in its largest whole unit.
    static func span(_ milliseconds: EpochMilliseconds) -> String {
        let seconds = max(milliseconds, 0) / 1_000
        for (unit, size) in [("d", Int64(86_400)), ("h", 3_600), ("m", 60)] where seconds >= size {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }

    /// One JSON object on a line.
    var json: String {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("waiting", waiting)
        if waitingMayBeMore { writer.member("waitingMayBeMore", true) }
        if let firstDue { writer.member("firstDue", Timestamp(firstDue).text) }
        writer.name("pushes")
        writer.beginArray()
        for push in pushes {
            writer.beginObject()
            writer.member("id", push.id)
            writer.member("secretHash", push.secretHash.hex)
            writer.member("deviceID", push.deviceID)
            writer.member("eventType", push.eventType)
            writer.member("attempts", push.attempts)
            writer.member("createdAt", Timestamp(push.createdAt).text)
            writer.member("dueAt", Timestamp(push.dueAt).text)
            writer.member("expiresAt", Timestamp(push.expiresAt).text)
            writer.member("beingSent", push.isLeased)
            writer.endObject()
        }
        writer.endArray()
        if let next { writer.member("next", next) }
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }
}

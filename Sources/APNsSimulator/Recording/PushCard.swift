import HTTPServer
import JSON
import Programs
package import PushSealing

/// Formats a push for a human reader: the visible notification, then the app's data.
package enum PushCard {
    /// The longest value shown in full, in characters.
    private static let valueLengthMax = 200

    /// The card's lines, each ending with a line feed.
    ///
    /// - Parameters:
    ///   - utcOffset: The offset of local time from UTC in seconds.
    ///   - keys: The keys that open sealed notifications.
    package static func text(
        _ record: PushRecord, utcOffset: Int, keys: [NotificationKey] = []
    ) -> String {
        var lines = ["┌ " + heading(record, utcOffset)]
        lines += content(record, keys).map { $0.isEmpty ? "│" : "│ " + $0 }
        lines.append("└ " + footing(record))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func heading(_ record: PushRecord, _ utcOffset: Int) -> String {
        let parts =
            switch record.push {
            case .apns(let push): heading(push, token: record.deviceToken)
            case .webPush(let push): heading(push)
            }
        return ([clock(record.receivedAt, utcOffset)] + parts.map(Printable.line)).joined(separator: "  ")
    }

    private static func heading(_ push: APNsPush, token: String?) -> [String] {
        let fields = [push.request.text(.topic), push.request.text(.pushType)].compactMap(\.self)
        return [push.environment.rawValue, token.map { "…" + $0.suffix(8) } ?? "(no device token)"] + fields
    }

    private static func heading(_ push: WebPushRequest) -> [String] {
        let headers = push.request.headers
        let subscription = push.subscription.map { "…" + $0.suffix(8) } ?? "(no subscription)"
        let fields = ["TTL", "Urgency", "Topic"].compactMap { name in
            headers[name].map { "\(name.lowercased()) \($0)" }
        }
        return [Transport.webpush.rawValue, push.vendor?.rawValue, headers["host"], subscription]
            .compactMap(\.self) + fields
    }

    private static func footing(_ record: PushRecord) -> String {
        var text: String
        switch record.outcome {
        case .answered(let status, _) where record.outcome.isAccepted: text = "\(status) accepted"
        case .answered(let status, let reason):
            text = [String(status), reason].compactMap(\.self).joined(separator: " ")
        case .stalled: text = "not answered"
        case .reset(let code): text = "stream reset: \(code)"
        case .closed: text = "connection cut"
        case .abandoned: text = "abandoned before the answer was due"
        }
        if let detail = record.detail { text += ": " + detail }
        if let rule = record.rule { text += " (rule \(Printable.line(rule)))" }
        return text
    }

    private static func content(_ record: PushRecord, _ keys: [NotificationKey]) -> [String] {
        if case .failure(let cause) = record.webPush?.message {
            return ["(\(record.webPush?.bodyBytes ?? 0) bytes, not decryptable: \(cause.rawValue))"]
        }
        guard let bytes = record.payload else { return [] }
        guard let payload = try? JSON.parse(bytes, maxBytes: bytes.count),
            let object = record.data(of: payload)
        else { return ["(\(bytes.count) bytes, not a JSON object)"] }
        var lines = alert(object["aps"]?["alert"] ?? payload["notification"])
        lines += activity(object["aps"])
        lines += facts(object["aps"]?.object, except: ["alert", "event", "content-state"]).map {
            "aps: " + $0
        }
        let sealed = SealedText(object, keys: keys)
        lines += facts(object, except: sealed == nil ? ["aps"] : ["aps", "sealed"])
        lines += (sealed?.lines ?? []).map(Printable.line)
        return lines
    }

    private static func alert(_ alert: JSON.Value?) -> [String] {
        if let text = alert?.string { return paragraphs(text) }
        return ["title", "subtitle", "body"].compactMap { alert?[$0]?.string }.flatMap(paragraphs)
    }

    /// The state that a Live Activity shows.
    private static func activity(_ aps: JSON.Value?) -> [String] {
        guard let event = aps?["event"]?.string else { return [] }
        let state = aps?["content-state"]?.object?.members ?? []
        return ["Live Activity: " + Printable.line(event)]
            + state.map { "  " + Printable.line($0.name) + ": " + shown($0.value) }
    }

    private static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { Printable.line(String($0)) }
    }

    /// The members that aren't hidden, on one line.
    private static func facts(_ object: JSON.Object?, except hidden: Set<String>) -> [String] {
        let members = (object?.members ?? []).filter { !hidden.contains($0.name) }
        guard !members.isEmpty else { return [] }
        return [members.map { Printable.line($0.name) + " " + shown($0.value) }.joined(separator: ", ")]
    }

    private static func shown(_ value: JSON.Value) -> String {
        let text = value.string ?? String(decoding: value.encoded(), as: UTF8.self)
        return Printable.line(text.count > valueLengthMax ? text.prefix(valueLengthMax) + "…" : text)
    }

    private static func clock(_ milliseconds: Int64, _ utcOffset: Int) -> String {
        let day: Int64 = 86_400_000
        let time = ((milliseconds + Int64(utcOffset) * 1_000) % day + day) % day
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let seconds = time / 1_000
        return digits(seconds / 3_600, 2) + ":" + digits(seconds / 60 % 60, 2) + ":" + digits(seconds % 60, 2)
            + "."
            + digits(time % 1_000, 3)
    }
}

import JSON

/// A push as a person would want to see it: like the notification on the phone, with what the app gets besides.
package enum PushCard {
    /// The longest text of a value that is shown whole, in characters.
    private static let valueLengthMax = 200

    /// The card's lines, each with its line feed.
    ///
    /// - Parameter utcOffset: The local time's distance from UTC in seconds.
    package static func text(_ record: PushRecord, utcOffset: Int) -> String {
        var lines = ["┌ " + heading(record, utcOffset)]
        lines += content(record).map { $0.isEmpty ? "│" : "│ " + $0 }
        lines.append("└ " + footing(record))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func heading(_ record: PushRecord, _ utcOffset: Int) -> String {
        let token = record.deviceToken.map { "…" + $0.suffix(8) } ?? "(no device token)"
        var parts = [clock(record.receivedAt, utcOffset), record.environment.rawValue, token]
        if let topic = record.request.text(.topic) { parts.append(clean(topic)) }
        if let type = record.request.text(.pushType) { parts.append(clean(type)) }
        return parts.joined(separator: "  ")
    }

    private static func footing(_ record: PushRecord) -> String {
        var text: String
        switch record.outcome {
        case .answered(200, _): text = "200 accepted"
        case .answered(let status, let reason):
            text = [String(status), reason].compactMap(\.self).joined(separator: " ")
        case .stalled: text = "not answered"
        case .reset(let code): text = "stream reset: \(code)"
        case .closed: text = "connection cut"
        case .abandoned: text = "gone before the answer was due"
        }
        if let detail = record.detail { text += ": " + detail }
        if let rule = record.rule { text += " (rule \(clean(rule)))" }
        return text
    }

    private static func content(_ record: PushRecord) -> [String] {
        guard let payload = try? JSON.parse(record.request.payload, maxBytes: record.request.payload.count),
            let object = payload.object
        else { return ["(\(record.request.payload.count) bytes that are no JSON object)"] }
        var lines = alert(object["aps"]?["alert"])
        lines += facts(object["aps"]?.object, except: ["alert"]).map { "aps: " + $0 }
        lines += facts(object, except: ["aps"])
        return lines
    }

    private static func alert(_ alert: JSON.Value?) -> [String] {
        if let text = alert?.string { return paragraphs(text) }
        return ["title", "subtitle", "body"].compactMap { alert?[$0]?.string }.flatMap(paragraphs)
    }

    private static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { clean(String($0)) }
    }

    /// The members on one line.
    private static func facts(_ object: JSON.Object?, except hidden: Set<String>) -> [String] {
        let members = (object?.members ?? []).filter { !hidden.contains($0.name) }
        guard !members.isEmpty else { return [] }
        return [members.map { clean($0.name) + " " + shown($0.value) }.joined(separator: ", ")]
    }

    private static func shown(_ value: JSON.Value) -> String {
        let text = value.string ?? String(decoding: value.encoded(), as: UTF8.self)
        return clean(text.count > valueLengthMax ? text.prefix(valueLengthMax) + "…" : text)
    }

    /// Without anything that would do something to a terminal.
    private static func clean(_ text: String) -> String {
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isHarmless = scalar.properties.generalCategory != .control && !isDirectional(scalar)
            clean.append(isHarmless ? scalar : "\u{FFFD}")
        }
        return String(clean)
    }

    /// Characters that turn the direction of what follows.
    private static func isDirectional(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
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

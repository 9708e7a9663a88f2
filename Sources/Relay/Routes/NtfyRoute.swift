import Cryptography
import HTTPServer
import JSON
import Programs
import Storage

/// ntfy's publish request (https://docs.ntfy.sh/publish): `POST` or `PUT /<topic>` with text, or `POST /` with JSON.
///
/// The topic becomes the notification's kind and thread.
struct NtfyRoute: DoorRoute {
    let services: LoopServices

    static func message(_ request: Request) throws(APIError) -> DoorMessage {
        let parameters = Parameters(request)
        var message = DoorMessage()
        message.token = token(authorization: request.headers["Authorization"]) ?? parameters.authorization
        var topic = String(request.path.dropFirst())
        var object = JSON.Object()
        var body = String(decoding: request.body, as: UTF8.self)
        if topic.isEmpty {
            object = try Self.object(request.body)
            guard let given = object["topic"]?.string, Doors.isTopic(given) else {
                throw APIError(
                    .missingField, hint: "ntfy's topic must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
            }
            (topic, body) = (given, object["message"]?.text ?? "")
        }
        func value(_ names: String...) -> String? {
            if let text = object[names[0]]?.text { return text.isEmpty ? nil : text }
            if let number = object[names[0]]?.int { return String(number) }
            return parameters[names]
        }
        try refuseUnsupported(value("email", "e-mail", "mail", "e"), value("call"), parameters, request.body)
        // In parameters, line feeds are written as \n.
        if let text = object.members.isEmpty ? parameters[["message", "m"]] : nil {
            body = text.split(separator: #"\n"#, omittingEmptySubsequences: false).joined(separator: "\n")
        }
        while body.last?.isWhitespace == true { body.removeLast() }
        message.body = body.isEmpty ? "triggered" : body
        message.title = value("title", "t", "ti")
        let priority = try priority(value("priority", "prio", "p"))
        message.urgency = priority < 3 ? .quiet : priority > 3 ? .urgent : .normal
        let listed = object["tags"]?.array?.compactMap(\.string)
        let tags = listed ?? (value("tags", "tag", "ta") ?? "").split(separator: ",").map { $0.trimmed }
        message.show(tags: tags)
        message.time = try value("delay", "at", "in", "x-at", "x-in").map { text throws(APIError) in
            try time(text)
        }
        message.data["url"] = value("click").map { .string($0) }
        message.data["icon"] = value("icon").map { .string($0) }
        if let link = value("attach", "a") { message.body += "\n" + link }
        message.kind = EventType.isKind(topic.lowercased().utf8) ? topic.lowercased() : nil
        message.thread = topic
        message.use(actions: object["actions"]?.array, value("actions", "action"))
        message.shown["topic"] = .string(topic)
        message.shown["message"] = .string(message.body)
        message.shown["title"] = value("title", "t", "ti").map { .string($0) }
        message.shown["priority"] = priority == 3 ? nil : .int(priority)
        message.shown["tags"] = tags.isEmpty ? nil : .array(tags.map { .string($0) })
        message.shown["click"] = message.data["url"]
        return message
    }

    static func accepted(_ message: DoorMessage, id: UUIDv7, at now: EpochMilliseconds) -> JSON.Value {
        var answer = JSON.Object()
        answer["id"] = .string(id.text)
        let time: EpochMilliseconds =
            switch message.time {
            case .after(let seconds): now + EpochMilliseconds(seconds) * 1_000
            case .at(let time): time
            case nil: now
            }
        answer["time"] = .int(time / 1_000)
        answer["event"] = "message"
        for member in message.shown.members { answer[member.name] = member.value }
        if !message.notes.isEmpty { answer["notes"] = .array(message.notes.map { .string($0) }) }
        return .object(answer)
    }

    static func refused(_ error: APIError, at _: EpochMilliseconds) -> JSON.Value {
        let status = error.code.status
        return [
            // ntfy's error codes are the status followed by two digits.
            "code": .int(status == 400 ? 40_000 : status * 100 + 1), "http": .int(status),
            "error": .string(error.sentence), "link": "https://docs.ntfy.sh/publish/",
        ]
    }

    private static func refuseUnsupported(
        _ email: String?, _ call: String?, _ parameters: Parameters, _ body: [UInt8]
    ) throws(APIError) {
        if email != nil { throw APIError(.invalidField, hint: "This relay doesn't send email.") }
        if call != nil { throw APIError(.invalidField, hint: "This relay doesn't make phone calls.") }
        guard parameters[["filename", "file", "f"]] == nil, String(validating: body, as: UTF8.self) != nil
        else {
            throw APIError(.invalidField, hint: "This relay doesn't accept files; attach a link instead.")
        }
    }

    /// Parses a priority, 1 to 5; 3 is the default.
    private static func priority(_ text: String?) throws(APIError) -> Int {
        switch text?.lowercased() {
        case nil, "3", "default": return 3
        case "1", "min": return 1
        case "2", "low": return 2
        case "4", "high": return 4
        case "5", "max", "urgent": return 5
        default: throw APIError(.invalidField, hint: "ntfy's priority must be 1 to 5, or its name.")
        }
    }

    /// Parses a Unix time, or a duration such as `30m` or `2 days`.
    private static func time(_ text: String) throws(APIError) -> DoorMessage.Time {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard let number = Int(digits), number < 1 << 40 else {
            throw APIError(.invalidField, hint: "ntfy's delay must be a Unix time or a duration such as 30m.")
        }
        let unit = text.dropFirst(digits.count).trimmed.lowercased()
        switch unit {
        case "": return .at(EpochMilliseconds(number) * 1_000)
        case "s", "sec", "secs", "second", "seconds": return .after(seconds: number)
        case "m", "min", "mins", "minute", "minutes": return .after(seconds: number * 60)
        case "h", "hour", "hours": return .after(seconds: number * 3_600)
        case "d", "day", "days": return .after(seconds: number * 86_400)
        default:
            throw APIError(.invalidField, hint: "ntfy's delay must be a Unix time or a duration such as 30m.")
        }
    }

    /// ntfy's parameters: header fields, with or without `X-`, or otherwise query parameters.
    private struct Parameters {
        private let headers: Headers
        private let query: FormValues

        init(_ request: Request) {
            headers = request.headers
            query = FormValues(request.query)
        }

        subscript(_ names: [String]) -> String? {
            for name in names {
                guard let text = headers["X-" + name] ?? headers[name], !text.isEmpty else { continue }
                // Skips HTTP's own field of that name (RFC 9218), which browsers and some libraries send.
                if name.lowercased() == "priority", text == "i" || text.hasPrefix("u=") { continue }
                return text.decodedWords
            }
            return names.lazy.compactMap { query[$0] ?? query["x-" + $0] }.first
        }

        /// The token in `?auth=`, which contains the value of an `Authorization` header in base64url.
        var authorization: String? {
            guard let bytes = query["auth"].flatMap({ Base64.decode(Array($0.utf8)) }) else { return nil }
            return NtfyRoute.token(authorization: String(decoding: bytes, as: UTF8.self))
        }
    }
}

extension DoorMessage {
    /// The most common tags among those that ntfy's apps show as emojis.
    private static let emojis = [
        "warning": "⚠️", "rotating_light": "🚨", "tada": "🎉", "white_check_mark": "✅", "heavy_check_mark": "✔️",
        "x": "❌", "no_entry": "⛔", "skull": "💀", "computer": "💻", "+1": "👍", "-1": "👎", "loudspeaker": "📢",
        "bell": "🔔", "fire": "🔥", "rocket": "🚀", "information_source": "ℹ️", "green_circle": "🟢",
        "red_circle": "🔴",
    ]

    /// Shows known tags as emojis before the title or the text, and passes the others to the app.
    fileprivate mutating func show(tags: [String]) {
        let shown = tags.compactMap { Self.emojis[$0] }.joined(separator: " ")
        let others = tags.filter { !$0.isEmpty && Self.emojis[$0] == nil }
        if !others.isEmpty { data["tags"] = .array(others.map { .string($0) }) }
        guard !shown.isEmpty else { return }
        if let title { self.title = shown + " " + title } else { body = shown + " " + body }
    }

    /// Uses the link of the first `view` action, unless the message already has a link; other actions have no effect.
    fileprivate mutating func use(actions listed: [JSON.Value]?, _ text: String?) {
        var links: [String?] = []
        if let listed {
            links = listed.map { $0["action"] == "view" ? $0["url"]?.string : nil }
        } else if let text {
            links = text.split(separator: ";").map { action in
                let parts = action.split(separator: ",").map { $0.trimmed }
                return parts.first == "view" && parts.count >= 3 ? parts[2] : nil
            }
        }
        guard !links.isEmpty else { return }
        if data["url"] == nil { data["url"] = links.compactMap(\.self).first.map { .string($0) } }
        if links.contains(nil) { notes.append("Only view actions have an effect: they open a link.") }
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

extension String {
    /// A header's text with its encoded words decoded (RFC 2047); ntfy's clients send them as UTF-8 in base64.
    fileprivate var decodedWords: String {
        let words = split(separator: " ").map { word -> String? in
            guard word.lowercased().hasPrefix("=?utf-8?b?"), word.hasSuffix("?=") else { return nil }
            return Base64.decode(Array(word.dropFirst(10).dropLast(2).utf8)).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        // Spaces between encoded words aren't part of the text.
        return !words.isEmpty && !words.contains(nil) ? words.compactMap(\.self).joined() : self
    }
}

import APNs
import JSON
import WebPush

/// The message for browsers, made from an APNs payload, the form that all contents, styles and queued pushes share.
///
/// It has the members of declarative Web Push, so that Safari shows it even if the page's worker fails, and an app's
/// data under `notification.data` for the worker (docs/reference/api.md, "What the device receives").
struct WebPushPayload {
    private var title: String
    private var body: String
    private let isSilent: Bool
    private var data: JSON.Object
    private let page: String?

    /// Reads a payload for APNs; `nil` if it shows no text, because browsers don't allow invisible pushes.
    init?(_ payload: [UInt8], page: String?) {
        guard var members = try? JSON.parse(payload, maxBytes: Notification.payloadBytesMax).object,
            var aps = members["aps"]?.object
        else { return nil }
        let alert = aps["alert"]?.object
        let texts = ["title", "subtitle", "body"].map { alert?[$0]?.string ?? "" }
        guard let first = texts.first(where: { !$0.isEmpty }) else { return nil }
        // A title is required.
        title = first
        let rest = texts.filter { !$0.isEmpty }.dropFirst()
        body = rest.joined(separator: "\n")
        isSilent = aps["sound"] == nil
        for name in ["alert", "sound", "mutable-content", "content-available"] { aps[name] = nil }
        members["aps"] = aps.members.isEmpty ? nil : .object(aps)
        // The app's data, which payloads for APNs contain up to three times.
        if let facts = members["body"]?.object, members["data"] == nil || members["data"] == members["body"],
            ["eventType", "challengeID"].contains(where: { facts[$0] != nil })
        {
            members["data"] = nil
            members["body"] = nil
            for fact in facts.members { members[fact.name] = fact.value }
        }
        data = members
        self.page = page
    }

    /// The JSON text, at most `limit` bytes if that is possible.
    ///
    /// Texts are shortened, the body first. If that isn't enough, the sealed text is left out, then the app's own data.
    ///
    /// - Parameter isSealed: Whether to send the sealed text.
    func bytes(limit: Int = MessageEncryption.plaintextBytesMax, isSealed: Bool = true) -> [UInt8] {
        var message = self
        if !isSealed { message.data["sealed"] = nil }
        let whole = message.written
        guard whole.count > limit else { return whole }
        var short = message
        // An empty body is omitted.
        (short.title, short.body) = ("", body.isEmpty ? "" : " ")
        let room = limit - short.written.count
        if room < Self.textBytesMin, message.data["sealed"] != nil {
            return message.bytes(limit: limit, isSealed: false)
        }
        if room < Self.textBytesMin, let facts = message.facts {
            message.data = facts
            return message.bytes(limit: limit, isSealed: isSealed)
        }
        let texts = [title, body].shortened(toEscaped: room)
        (short.title, short.body) = (texts[0], texts[1])
        return short.written
    }

    /// The members of the data that the relay itself wrote; `nil` if there are no others.
    private var facts: JSON.Object? {
        var rest = JSON.Object()
        for member in data.members where Self.factNames.contains(member.name) {
            rest[member.name] = member.value
        }
        return rest.members.count < data.members.count ? rest : nil
    }

    private static let factNames: Set<String> = [
        "aps", "eventType", "sessionID", "serverID", "eventID", "kind", "actions", "challengeID",
        "challengeCode",
    ]

    /// The minimum space for the texts, in bytes; if less remains, other parts are left out.
    private static let textBytesMin = 64

    private var written: [UInt8] {
        var writer = JSON.Writer(capacity: 1_024)
        writer.beginObject()
        if page != nil {
            // 8030, after RFC 8030, marks a declarative message.
            writer.member("web_push", 8_030)
            writer.member("mutable", true)
        }
        writer.name("notification")
        writer.beginObject()
        writer.member("title", title)
        if !body.isEmpty { writer.member("body", body) }
        if isSilent { writer.member("silent", true) }
        if let page {
            writer.member("navigate", page)
            // Repeated here for iOS before 26.2.
            writer.member("mutable", true)
        }
        writer.name("data")
        writer.value(.object(data))
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }
}

internal import JSON

/// A visible notification about a session: what the device receives, fitted into APNs' 4,096 bytes.
///
/// What the app needs stands in it three times (docs/API.md, "What the device receives"): flat for readers of the raw
/// payload, in `data` for the written specification, in `body` for Expo's notification library.
package struct AlertPayload: Sendable {
    /// The longest session or server identifier, in bytes.
    package static let identifierBytesMax = 255
    /// The longest name of a sound, in bytes.
    package static let soundBytesMax = 255
    /// How many bytes are left for title and body before a copy is dropped.
    static let textBytesMin = 256

    /// The title; shortened only where the body alone doesn't give way enough.
    package var title: String
    /// The text below the title; shortened first.
    package var body: String
    /// `complete`, `permission` or `error`.
    package var eventType: String
    /// The session it is about; notifications of one session are grouped.
    ///
    /// At most ``identifierBytesMax`` bytes.
    package var sessionID: String
    /// The server that the session is on; left out where `nil`.
    ///
    /// At most ``identifierBytesMax`` bytes.
    package var serverID: String?
    /// Whether it comes without lighting up the screen (`interruption-level` is `passive`).
    package var isPassive: Bool

    /// A payload of its parts.
    package init(
        title: String, body: String, eventType: String, sessionID: String, serverID: String?,
        isPassive: Bool = false
    ) {
        self.isPassive = isPassive
        self.title = title
        self.body = body
        self.eventType = eventType
        self.sessionID = sessionID
        self.serverID = serverID
    }

    /// The JSON text, at most ``Notification/payloadBytesMax`` bytes.
    ///
    /// It is the same for every device of an app, so a fan-out makes it once. Too long a body, then too long a title, is
    /// cut between two characters and ends in `…`. Identifiers stay whole; where they are so full of control
    /// characters that even this doesn't suffice, copies go: `data`, then `thread-id`, then the flat keys.
    ///
    /// - Parameter sound: The sound's name, at most ``soundBytesMax`` bytes of printable text; `nil` for silence.
    package func encoded(sound: String?) -> [UInt8] {
        // Most fit with room to spare, even if every byte took six.
        let texts = title.utf8.count + body.utf8.count
        guard
            frameBytes(.all, sound: sound, bytesEach: Self.bytesMost) + 6 * texts
                > Notification.payloadBytesMax
        else {
            return written(title: title, body: body, copies: .all, sound: sound)
        }
        return fitted(sound: sound)
    }

    private func fitted(sound: String?) -> [UInt8] {
        let titleBytes = JSON.Writer.escapedCount(title)
        let texts = titleBytes + JSON.Writer.escapedCount(body)
        let rooms = Copies.inOrder.map { copies in
            (
                copies,
                Notification.payloadBytesMax
                    - frameBytes(copies, sound: sound, bytesEach: JSON.Writer.escapedCount)
            )
        }
        let enough = rooms.first { $0.1 >= min(texts, Self.textBytesMin) }
        guard let (copies, room) = enough ?? rooms.last else { return [] }
        guard texts > room else { return written(title: title, body: body, copies: copies, sound: sound) }
        let body = body.shortened(toEscaped: room - titleBytes)
        let title = title.shortened(toEscaped: room - JSON.Writer.escapedCount(body))
        return written(title: title, body: body, copies: copies, sound: sound)
    }

    private func written(title: String, body: String, copies: Copies, sound: String?) -> [UInt8] {
        var writer = JSON.Writer(capacity: 768)
        writer.beginObject()
        writer.name("aps")
        writer.beginObject()
        writer.name("alert")
        writer.beginObject()
        writer.member("title", title)
        writer.member("body", body)
        writer.endObject()
        if let sound { writer.member("sound", sound) }
        if isPassive { writer.member("interruption-level", "passive") }
        if copies.contains(.threadID) { writer.member("thread-id", sessionID) }
        writer.endObject()
        if copies.contains(.flat) { writeFacts(&writer) }
        if copies.contains(.data) { writeFacts(&writer, under: "data") }
        writeFacts(&writer, under: "body")
        writer.endObject()
        return writer.finish()
    }

    private func writeFacts(_ writer: inout JSON.Writer, under name: StaticString) {
        writer.name(name)
        writer.beginObject()
        writeFacts(&writer)
        writer.endObject()
    }

    private func writeFacts(_ writer: inout JSON.Writer) {
        if let serverID { writer.member("serverID", serverID) }
        writer.member("eventType", eventType)
        writer.member("sessionID", sessionID)
    }
}

extension AlertPayload {
    /// Where the app's facts stand; those in `body` are always there.
    private struct Copies: OptionSet {
        let rawValue: Int

        static let data = Copies(rawValue: 1)
        static let threadID = Copies(rawValue: 2)
        static let flat = Copies(rawValue: 4)

        static let all: Copies = [.data, .threadID, .flat]
        static let inOrder: [Copies] = [.all, [.threadID, .flat], .flat, []]
    }

    /// The most that a string can take once written.
    private static func bytesMost(_ text: String) -> Int { 6 * text.utf8.count }

    /// The size of everything but title and body, given how many bytes a string takes.
    private func frameBytes(_ copies: Copies, sound: String?, bytesEach: (String) -> Int) -> Int {
        let session = bytesEach(sessionID)
        var facts = #""eventType":"","sessionID":"""#.utf8.count + bytesEach(eventType) + session
        if let serverID { facts += #""serverID":"","#.utf8.count + bytesEach(serverID) }
        var bytes = #"{"aps":{"alert":{"title":"","body":""}},"body":{}}"#.utf8.count + facts
        if let sound { bytes += #","sound":"""#.utf8.count + bytesEach(sound) }
        if isPassive { bytes += #","interruption-level":"passive""#.utf8.count }
        if copies.contains(.threadID) { bytes += #","thread-id":"""#.utf8.count + session }
        if copies.contains(.flat) { bytes += 1 + facts }
        if copies.contains(.data) { bytes += #","data":{}"#.utf8.count + facts }
        return bytes
    }
}

extension String {
    /// The text if its escaped size is at most `count` bytes, else as much of its start as leaves room for `…`.
    ///
    /// It is cut between two characters (extended grapheme clusters). Where not even one fits, `…` alone is left;
    /// a text that takes no more than that stays.
    func shortened(toEscaped count: Int) -> String {
        let ellipsis = "…"
        guard JSON.Writer.escapedCount(self) > max(count, ellipsis.utf8.count) else { return self }
        let fitting = JSON.Writer.prefixCount(self, escapedTo: count - ellipsis.utf8.count)
        let last = utf8.index(startIndex, offsetBy: fitting)
        // Going forward and back again leads to the start of the character that `last` is in.
        let end = index(before: index(after: last))
        return self[..<end] + ellipsis
    }
}

import APNs
import JSON

/// A device's payload for an event, shortened to fit within APNs' limit of 4,096 bytes.
///
/// The app's data appears three times (docs/reference/api.md, "What the device receives"): flat for readers of the raw
/// payload, in `data` as OpenCode specifies it, and in `body` for Expo's notification library.
struct EventPayload: Sendable {
    /// How many bytes of title and body to make room for, if necessary by dropping copies of the data.
    static let textBytesMin = 256
    /// An upper bound for the size of the payload's names and punctuation.
    private static let frameBytesMax = 360

    /// The title; shortened only if shortening the body isn't enough.
    var title: String
    /// The text below the title; shortened first.
    var body: String
    let eventType: EventType
    /// The event's session; notifications from the same session are grouped.
    ///
    /// At most ``Bounds/identifierBytesMax`` bytes.
    let sessionID: String
    /// The session's server; omitted if `nil`.
    ///
    /// At most ``Bounds/identifierBytesMax`` bytes.
    let serverID: String?
    /// The ID that the sender gave the event, with which the app acknowledges it; omitted if `nil`.
    ///
    /// At most ``Bounds/eventIDBytesMax`` bytes.
    var eventID: String?
    /// The parts that most events don't have.
    var extras: EventExtras?

    /// The JSON text, at most ``Notification/payloadBytesMax`` bytes.
    ///
    /// The text is the same for every device of an app, so a fan-out creates it once. If it is too long, the body and
    /// then the title are cut between two characters and end in `…`. Identifiers are never cut. If they contain so many
    /// control characters that this isn't enough, copies are dropped: `data`, then `thread-id`, then the flat members.
    /// A sealed event is always written in full. A badge that doesn't fit is left out.
    func encoded(_ style: PushStyle) -> [UInt8] {
        let payload = shortened(style)
        guard payload.count > Notification.payloadBytesMax, style.unreadBadge != nil else { return payload }
        var style = style
        style.unreadBadge = nil
        return shortened(style)
    }

    private func shortened(_ style: PushStyle) -> [UInt8] {
        if extras?.sealed != nil { return written(.all, style) }
        // Most payloads fit easily, even if escaping turned every byte of their strings into six.
        let facts =
            eventType.rawValue.utf8.count + sessionID.utf8.count + (serverID?.utf8.count ?? 0)
            + (eventID?.utf8.count ?? 0)
        let strings =
            title.utf8.count + body.utf8.count + 3 * facts + sessionID.utf8.count
            + (style.sound?.utf8.count ?? 0) + (extras?.category?.utf8.count ?? 0)
            + (extras?.actions.reduce(0) { $0 + $1.utf8.count + 3 } ?? 0)
        let fits = Self.frameBytesMax + 6 * strings <= Notification.payloadBytesMax
        return fits ? written(.all, style) : fitted(style)
    }

    private func fitted(_ style: PushStyle) -> [UInt8] {
        let texts = JSON.Writer.escapedCount(title) + JSON.Writer.escapedCount(body)
        var empty = self
        (empty.title, empty.body) = ("", "")
        let rooms = Copies.inOrder.map { copies in
            (copies, Notification.payloadBytesMax - empty.written(copies, style).count)
        }
        let enough = rooms.first { $0.1 >= min(texts, Self.textBytesMin) }
        guard let (copies, room) = enough ?? rooms.last else { return [] }
        guard texts > room else { return written(copies, style) }
        var short = self
        let shortened = [title, body].shortened(toEscaped: room)
        (short.title, short.body) = (shortened[0], shortened[1])
        return short.written(copies, style)
    }

    private func written(_ copies: Copies, _ style: PushStyle) -> [UInt8] {
        var aps = APS()
        aps.title = title
        aps.body = body
        if style.isQuiet {
            aps.interruptionLevel = .passive
        } else {
            aps.sound = style.sound.map { APS.Sound(name: $0) }
        }
        aps.badge = style.unreadBadge
        if copies.contains(.threadID) { aps.threadID = sessionID }
        if let extras {
            aps.category = extras.category
            aps.isMutable = extras.isMutable
        }
        var writer = JSON.Writer(capacity: 768)
        writer.beginObject()
        aps.write(to: &writer)
        if let sealed = extras?.sealed {
            // The sealed text contains the actions.
            writer.member("sealed", sealed.text)
        } else if let actions = extras?.actions {
            writer.actions(actions)
        }
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
        writer.member("eventType", eventType.rawValue)
        writer.member("sessionID", sessionID)
        if let eventID { writer.member("eventID", eventID) }
    }
}

extension EventPayload {
    /// The places other than `body` where the payload contains the app's data.
    private struct Copies: OptionSet {
        let rawValue: Int

        static let data = Copies(rawValue: 1)
        static let threadID = Copies(rawValue: 2)
        static let flat = Copies(rawValue: 4)

        static let all: Copies = [.data, .threadID, .flat]
        static let inOrder: [Copies] = [.all, [.threadID, .flat], .flat, []]
    }
}

extension JSON.Writer {
    /// Writes the list of actions for replies next to `aps`, where the apps look for it.
    mutating func actions(_ actions: [String]) {
        guard !actions.isEmpty else { return }
        name("actions")
        beginArray()
        for action in actions { string(action) }
        endArray()
    }
}

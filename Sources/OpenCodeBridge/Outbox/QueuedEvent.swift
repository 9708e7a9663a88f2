import JSON

/// Milliseconds since 1970.
typealias EpochMilliseconds = Int64

/// An event that waits for the relay to take it.
struct QueuedEvent: Sendable, Equatable {
    /// The relay's `eventID`: the same for the same happening, also after a restart.
    let id: String
    /// When it happened.
    let at: EpochMilliseconds
    let type: EventType
    let session: SessionID
    let title: String
    let body: String
}

extension QueuedEvent {
    /// The event for a ring.
    init(_ ring: Ring, at: EpochMilliseconds) {
        self.init(
            id: "oc-" + Fingerprint.hex(ring.key, count: 40), at: at, type: ring.type, session: ring.session,
            title: ring.title, body: ring.body)
    }
}

/// A record of the queue's file, one JSON object a line.
enum QueueRecord: Sendable, Equatable {
    /// An event waits.
    case put(QueuedEvent)
    /// The relay has an event, or it was dropped.
    case done(id: String, at: EpochMilliseconds)
    /// A run began.
    case began(SessionID)
    /// All that follows from a run has been done.
    case ended(SessionID)

    /// The line, with its line break.
    var line: [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        switch self {
        case .put(let event):
            writer.name("put")
            writer.beginObject()
            writer.member("id", event.id)
            writer.member("at", event.at)
            writer.member("type", event.type.rawValue)
            writer.member("session", event.session.text)
            writer.member("title", event.title)
            writer.member("body", event.body)
            writer.endObject()
        case .done(let id, let at):
            writer.member("done", id)
            writer.member("at", at)
        case .began(let session): writer.member("began", session.text)
        case .ended(let session): writer.member("ended", session.text)
        }
        writer.endObject()
        return writer.finish() + [UInt8(ascii: "\n")]
    }

    /// Reads a line; `nil` for one that was cut by a crash or that a newer bridge wrote.
    init?(line: ArraySlice<UInt8>) {
        guard let value = try? JSON.parse(Array(line), maxBytes: Bounds.queueRecordBytesMax) else {
            return nil
        }
        if let put = value["put"] {
            guard let id = put.identifier("id"), let at = put["at"]?.int,
                let session = put.sessionID("session"),
                let type = put["type"]?.string.flatMap(EventType.init), let title = put["title"]?.string,
                let body = put["body"]?.string
            else { return nil }
            self = .put(
                QueuedEvent(
                    id: id, at: EpochMilliseconds(at), type: type, session: session, title: title, body: body)
            )
        } else if let id = value.identifier("done"), let at = value["at"]?.int {
            self = .done(id: id, at: EpochMilliseconds(at))
        } else if let session = value.sessionID("began") {
            self = .began(session)
        } else if let session = value.sessionID("ended") {
            self = .ended(session)
        } else {
            return nil
        }
    }
}

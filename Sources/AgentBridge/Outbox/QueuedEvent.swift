import JSON

/// An event that is waiting for the relay to accept it.
struct QueuedEvent: Sendable, Equatable {
    /// The relay's `eventID`: the same for the same event, even after a restart.
    let id: String
    /// When the event happened.
    let at: EpochMilliseconds
    let type: Kind
    let session: SessionID
    let text: Text
    /// Whether the event can ring until it is answered, because the bridge notices when the request is answered.
    var awaitsAnswer = false
    /// The state for the session's Live Activities; `nil` if none is sent.
    var state: ContentState?
    /// The possible replies; empty if no reply is awaited.
    var actions: [String] = []

    /// The relay's event types that are queued.
    enum Kind: String, Sendable {
        case complete, permission, error
        /// The end of a Live Activity, which doesn't ring.
        case end
    }

    /// The text that the phone shows.
    enum Text: Sendable, Equatable {
        case readable(title: String, body: String)
        /// An envelope for the pairing's phones.
        case sealed(String)
        /// The relay's own text for the event type.
        case general
    }
}

extension QueuedEvent {
    /// The unsealed event for a ring.
    ///
    /// - Parameter turn: How many times the same request has already ended.
    init(
        _ ring: Ring, turn: Int = 0, at: EpochMilliseconds, showing state: ContentState? = nil,
        actions: [String] = []
    ) {
        let key = turn == 0 ? ring.key : "\(ring.key) turn \(turn)"
        self.init(
            id: "oc-" + Fingerprint.hex(key, count: 40), at: at, type: Kind(ring.type),
            session: ring.session, text: .readable(title: ring.title, body: ring.body),
            awaitsAnswer: ring.request != nil, state: state, actions: actions)
    }

    /// Whether the event's text or state can be read without a key.
    var isReadable: Bool {
        if case .readable = text { return true }
        return state != state?.withoutText
    }
}

extension QueuedEvent.Kind {
    /// The kind of event for a ring.
    init(_ type: EventType) {
        self =
            switch type {
            case .complete: .complete
            case .permission: .permission
            case .error: .error
            }
    }
}

extension QueuedEvent.Text {
    /// Writes the event's members, named as in `/v1/event`.
    func write(to writer: inout JSON.Writer) {
        switch self {
        case .readable(let title, let body):
            writer.member("title", title)
            writer.member("body", body)
        case .sealed(let envelope): writer.member("sealed", envelope)
        case .general: break
        }
    }

    /// Reads what ``write(to:)`` wrote.
    init?(_ object: JSON.Value) {
        switch (object["sealed"], object["title"], object["body"]) {
        case (.string(let envelope)?, nil, nil): self = .sealed(envelope)
        case (nil, .string(let title)?, .string(let body)?): self = .readable(title: title, body: body)
        case (nil, nil, nil): self = .general
        default: return nil
        }
    }
}

/// A record in the queue's file, one JSON object per line.
enum QueueRecord: Sendable, Equatable {
    /// An event is waiting.
    case put(QueuedEvent)
    /// The relay has accepted an event, or the event was dropped.
    case done(id: String, at: EpochMilliseconds)
    /// An event's request was answered or withdrawn.
    case over(id: String, at: EpochMilliseconds)
    /// A request's event rings until the request is over.
    case rang(RungRequest, at: EpochMilliseconds)
    /// A run began.
    case began(ResumedRun)
    /// A run has been handled completely.
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
            event.text.write(to: &writer)
            if event.awaitsAnswer { writer.member("awaitsAnswer", true) }
            if let state = event.state {
                writer.name("state")
                state.write(to: &writer)
            }
            if !event.actions.isEmpty { writer.strings("actions", event.actions) }
            writer.endObject()
        case .done(let id, let at):
            writer.member("done", id)
            writer.member("at", at)
        case .over(let id, let at):
            writer.member("over", id)
            writer.member("at", at)
        case .rang(let rung, let at):
            writer.name("rang")
            rung.write(to: &writer)
            writer.member("at", at)
        case .began(let run):
            writer.member("began", run.session.text)
            if let directory = run.directory { writer.member("directory", directory) }
        case .ended(let session): writer.member("ended", session.text)
        }
        writer.endObject()
        return writer.finish() + [UInt8(ascii: "\n")]
    }

    /// Reads a line; `nil` if it was truncated by a crash or written by a newer bridge.
    init?(line: ArraySlice<UInt8>) {
        guard let value = try? JSON.parse(Array(line), maxBytes: Bounds.queueRecordBytesMax) else {
            return nil
        }
        if let put = value["put"] {
            guard let id = put.identifier("id"), let at = put["at"]?.int,
                let session = put.sessionID("session"),
                let type = put["type"]?.string.flatMap(QueuedEvent.Kind.init),
                let text = QueuedEvent.Text(put)
            else { return nil }
            self = .put(
                QueuedEvent(
                    id: id, at: EpochMilliseconds(at), type: type, session: session, text: text,
                    awaitsAnswer: put["awaitsAnswer"]?.bool == true, state: ContentState(put["state"]),
                    actions: put["actions"]?.array?.compactMap(\.string) ?? []))
        } else if let id = value.identifier("done"), let at = value["at"]?.int {
            self = .done(id: id, at: EpochMilliseconds(at))
        } else if let id = value.identifier("over"), let at = value["at"]?.int {
            self = .over(id: id, at: EpochMilliseconds(at))
        } else if let rung = value["rang"].flatMap(RungRequest.init), let at = value["at"]?.int {
            self = .rang(rung, at: EpochMilliseconds(at))
        } else if let session = value.sessionID("began") {
            self = .began(ResumedRun(session: session, directory: value.identifier("directory")))
        } else if let session = value.sessionID("ended") {
            self = .ended(session)
        } else {
            return nil
        }
    }
}

extension JSON.Writer {
    /// Writes a member that is an array of strings.
    mutating func strings(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }
}

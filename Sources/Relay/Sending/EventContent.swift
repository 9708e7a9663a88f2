import APNs
import JSON
import Storage

/// The content of an event.
struct EventContent: Sendable {
    let type: EventType
    let sessionID: String
    let serverID: String?
    /// The title as sent; `nil` for the event type's default.
    let title: String?
    /// The body as sent; `nil` for the event type's default.
    let body: String?
    /// The ID by which the event is acknowledged; a repetition has the ID of the first push.
    private(set) var eventID: String?
    /// The collapse ID that makes the push replace earlier pushes for the event.
    private(set) var collapseID: CollapseID?
    /// The parts that most events don't have.
    let extras: EventExtras?

    /// Validates the fields, in the order of docs/reference/api.md.
    init(_ fields: RequestFields) throws(APIError) {
        guard let type = EventType(rawValue: try fields.required(.eventType)) else {
            throw APIError(.invalidField, field: .eventType)
        }
        self.type = type
        sessionID = try fields.required(.sessionID, where: RequestFields.isIdentifier)
        serverID = try fields.optional(.serverID, where: RequestFields.isIdentifier)
        title = try fields.shownText(.title)
        body = try fields.shownText(.body)
        eventID = try fields.optional(.eventID) { bytes in
            (1...Bounds.eventIDBytesMax).contains(bytes.count) && !bytes.contains(0)
        }
        extras = try EventExtras(fields)
        if !type.rings, extras?.contentState == nil { throw APIError(.missingField, field: .contentState) }
        guard extras?.sealed != nil, title != nil || body != nil else { return }
        throw APIError(
            .invalidField, field: title == nil ? .body : .title,
            hint: "It is not allowed in a sealed event, because the relay and Apple could read it.")
    }

    /// Adds the event's ID to the payload; a repeated event's pushes replace one another on the device.
    mutating func name(_ eventID: String, isRepeated: Bool) {
        self.eventID = eventID
        if isRepeated { collapseID = Repetition.collapseID(of: eventID) }
    }

    /// Refuses an event that, with one of these sounds, can't be shortened to fit within APNs' limit.
    func checkSize(sounds: Set<String>) throws(APIError) {
        if let size = activity?.sizeMax, size > Notification.payloadBytesMax {
            throw APIError(
                .payloadTooLarge, field: .contentState,
                hint:
                    "A Live Activity's push is \(size) bytes long; "
                    + "the limit is \(Notification.payloadBytesMax).")
        }
        guard let extras, extras.sealed != nil || extras.category != nil || !extras.actions.isEmpty else {
            return
        }
        let styles = sounds.map { PushStyle(sound: $0) } + [PushStyle(isQuiet: true)]
        let size = styles.map { payload($0).count }.max() ?? 0
        guard size > Notification.payloadBytesMax else { return }
        throw APIError(
            .payloadTooLarge,
            field: extras.sealed != nil ? .sealed : extras.category != nil ? .category : .actions,
            hint: "It is \(size) bytes long; the limit is \(Notification.payloadBytesMax).")
    }
}

/// The parts of an event that OpenCode's servers don't send.
///
/// This is a class so that an event without extras carries only a pointer.
final class EventExtras: Sendable {
    let category: String?
    let isMutable: Bool
    /// The actions that replies may contain; empty if any action is allowed.
    let actions: [String]
    let sealed: SealedText?
    /// The state for the session's Live Activities.
    let contentState: JSON.Object?
    /// The attributes for starting a Live Activity.
    let attributes: JSON.Object?

    /// Validates the fields; `nil` if none is present.
    init?(_ fields: RequestFields) throws(APIError) {
        category = try fields.word(.category, most: Bounds.identifierBytesMax)
        let isMutable = try fields.flag(.mutableContent)
        actions = try fields.actions(.actions)
        sealed = try fields.sealed()
        self.isMutable = isMutable == true || sealed != nil
        contentState = try fields.optional(.contentState) { value in
            value.object.flatMap { value.encoded().count <= Bounds.contentStateBytesMax ? $0 : nil }
        }
        attributes = try fields.optional(.attributes, \.object)
        guard
            category != nil || isMutable != nil || !actions.isEmpty || sealed != nil || contentState != nil
        else { return nil }
    }
}

extension EventContent: PushContent {
    var pushType: PushType { .alert }
    var priority: Priority { .immediate }
    var timeToLive: Duration? { nil }
    var kind: String? { type.rawValue }
    var isSoundAlone: Bool { false }
    var showsText: Bool { true }
    var logType: String { type.rawValue }
    var hasUnreadBadge: Bool { false }
    var rings: Bool { type.rings }
    var actions: [String] { extras?.actions ?? [] }

    var history: HistoryContent? {
        guard type.rings else { return nil }
        return HistoryContent(serverID: serverID, title: title, body: body, sealed: extras?.sealed?.text)
    }

    /// The state for the session's Live Activities; `nil` if the event has none.
    ///
    /// A sealed event's visible texts aren't secret, because they are the event type's defaults.
    var activity: ActivityContent? {
        guard let extras, let state = extras.contentState else { return nil }
        return ActivityContent(
            type: type, sessionID: sessionID, serverID: serverID, state: state,
            attributes: extras.attributes, title: title ?? type.defaultTitle,
            body: body ?? type.defaultBody)
    }

    func digest(to device: DeviceToken?, repetition: String?) -> Digest256 {
        var parts = [type.rawValue, sessionID, serverID, title, body]
        // The digest covers these parts only if they exist, so that other events keep the digest that older relays give
        // them.
        if extras != nil || repetition != nil {
            parts += [extras?.category, extras?.isMutable == true ? "mutable" : nil, extras?.sealed?.text]
        }
        if let repetition { parts.append(repetition) }
        if let extras, !extras.actions.isEmpty {
            parts.append("actions " + extras.actions.joined(separator: " "))
        }
        if let extras, let state = extras.contentState {
            parts += [state, extras.attributes].map { object in
                object.map { String(decoding: JSON.Value.object($0).encoded(), as: UTF8.self) }
            }
        }
        return Digest256(ofParts: parts)
    }

    var stored: StoredContent? {
        var body = JSON.Object()
        func put(_ field: RequestField, _ text: String?) {
            body[field.rawValue] = text.map { .string($0) }
        }
        put(.eventType, type.rawValue)
        put(.sessionID, sessionID)
        put(.serverID, serverID)
        put(.title, title)
        put(.body, self.body)
        if let extras {
            put(.category, extras.category)
            // Written even if it is false, because it is part of the digest.
            body[RequestField.mutableContent.rawValue] = .bool(extras.isMutable)
            if !extras.actions.isEmpty {
                body[RequestField.actions.rawValue] = .array(extras.actions.map { .string($0) })
            }
            put(.sealed, extras.sealed?.text)
            body[RequestField.contentState.rawValue] = extras.contentState.map { .object($0) }
            body[RequestField.attributes.rawValue] = extras.attributes.map { .object($0) }
        }
        return StoredContent(target: .event, body: body)
    }

    /// The payload for each device, shortened to fit APNs' limit.
    func payload(_ style: PushStyle) -> [UInt8] {
        EventPayload(
            title: title ?? type.defaultTitle, body: body ?? type.defaultBody, eventType: type,
            sessionID: sessionID, serverID: serverID,
            // In a sealed event, the ID is inside the envelope.
            eventID: extras?.sealed == nil ? eventID : nil, extras: extras
        ).encoded(style)
    }
}

extension Digest256 {
    /// The digest of texts, some of which may be absent.
    init(ofParts parts: [String?]) {
        var bytes: [UInt8] = []
        for part in parts {
            // A length before each part keeps different lists from producing the same bytes.
            let count = part.map { UInt32($0.utf8.count) } ?? UInt32.max
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> UInt32(shift)))
            }
            if let part { bytes += part.utf8 }
        }
        self.init(of: bytes)
    }
}

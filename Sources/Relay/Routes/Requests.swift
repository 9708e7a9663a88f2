import APNs
import JSON
import Storage

/// A validated `POST /v1/device/register`.
struct RegisterRequest: Sendable {
    let secret: Secret
    /// Whether the secret is too short for a first registration.
    let isSecretWeak: Bool
    let deviceToken: DeviceToken
    /// The token as sent, if it differs from the folded one.
    let unfoldedToken: String?
    let bundleID: Topic
    let environment: DeviceEnvironment
    let details: DeviceDetails
    /// The preferences that have no effect, because the relay doesn't know their value.
    let ignored: [RequestField]
    /// The code that the relay pushed to the device.
    let challengeCode: String?
    /// Its tokens for Live Activities, widgets and controls.
    let tokens: PushTokenWishes

    /// Whether a stored device is the one being registered: same token and app.
    func names(_ device: Device) -> Bool {
        // OpenCode's relay may have stored tokens in upper case.
        DeviceToken(device.token) == deviceToken && device.bundleID == bundleID.text
    }

    /// Whether a stored device is the same installation, so that its token is replaced.
    func replaces(_ device: Device) -> Bool {
        details.installationID != nil && device.details.installationID == details.installationID
    }

    /// Validates a body; fields are checked in the order of docs/reference/api.md.
    init(body: [UInt8], headerSecret: Secret? = nil, rules: RequestRules) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret(orOf: headerSecret)
        isSecretWeak = secret.bytes.count < rules.secretBytesMin
        (deviceToken, unfoldedToken) = try fields.deviceToken()
        guard let bundleID = try fields.bundleID() ?? rules.defaultBundleID else {
            throw APIError(.missingField, field: .bundleID)
        }
        if let known = rules.bundleIDs, !known.contains(bundleID) {
            throw APIError(.unknownBundle, field: .bundleID)
        }
        self.bundleID = bundleID
        let environment = try fields.optional(.apnsEnvironment) ?? DeviceEnvironment.production.rawValue
        guard let environment = DeviceEnvironment(rawValue: environment) else {
            throw APIError(.invalidField, field: .apnsEnvironment)
        }
        if let only = rules.onlyEnvironment[bundleID], only != environment {
            throw APIError(
                .invalidField, field: .apnsEnvironment,
                hint: "This relay pushes to this app only in \(only.rawValue).")
        }
        self.environment = environment
        challengeCode = try fields.optional(.challengeCode, where: ChallengeCodes.isWellFormed)
        let preferences = try fields.object(.preferences).map { fields throws(APIError) in
            try DevicePreferences(fields)
        }
        ignored = preferences?.ignored(rules.timeZones) ?? []
        let installationID = try fields.optional(.installationID) { bytes in
            (1...Bounds.installationCountMax).contains(bytes.count)
                && bytes.allSatisfy { (0x20...0x7E).contains($0) }
        }
        let sealed = try fields.integers(.sealed).map { numbers throws(APIError) in
            guard let versions = SealedVersions(numbers) else {
                throw APIError(.invalidField, field: .sealed)
            }
            return versions
        }
        func detail(_ field: RequestField) throws(APIError) -> String? {
            try fields.word(field, most: Bounds.deviceDetailBytesMax)
        }
        details = DeviceDetails(
            deviceName: try detail(.deviceName), deviceModel: try detail(.deviceModel),
            osVersion: try detail(.osVersion), appVersion: try detail(.appVersion),
            preferences: preferences.map { String(decoding: $0.json, as: UTF8.self) },
            sealedVersions: sealed?.text, installationID: installationID)
        tokens = try PushTokenWishes(fields)
    }
}

/// A validated `POST /v1/device/list`.
struct ListRequest: Sendable {
    let secret: Secret

    /// Validates a body; fields are checked in the order of docs/reference/api.md.
    init(body: [UInt8], headerSecret: Secret? = nil) throws(APIError) {
        secret = try RequestFields(body: body).secret(orOf: headerSecret)
    }
}

/// A validated `POST /v1/device/unregister`.
struct UnregisterRequest: Sendable {
    let secret: Secret
    let deviceToken: DeviceToken
    /// The token as sent, if it differs from the folded one.
    let unfoldedToken: String?

    /// Validates a body; fields are checked in the order of docs/reference/api.md.
    init(body: [UInt8], headerSecret: Secret? = nil) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret(orOf: headerSecret)
        (deviceToken, unfoldedToken) = try fields.deviceToken()
    }
}

/// A validated `POST /v1/event`.
struct EventRequest: Sendable {
    let secret: Secret
    let type: EventType
    let sessionID: String
    let serverID: String?
    /// As sent; `nil` for the event type's default.
    let title: String?
    /// As sent; `nil` for the event type's default.
    let body: String?
    /// The ID by which it is acknowledged; a repetition has the ID of the first push.
    private(set) var eventID: String?
    /// Replaces earlier pushes of the event.
    private(set) var collapseID: CollapseID?
    /// The parts that most events don't have.
    let extras: EventExtras?

    /// Validates a body; fields are checked in the order of docs/reference/api.md.
    init(body: [UInt8], headerSecret: Secret? = nil) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret(orOf: headerSecret)
        guard let type = EventType(rawValue: try fields.required(.eventType)) else {
            throw APIError(.invalidField, field: .eventType)
        }
        self.type = type
        sessionID = try fields.required(.sessionID, where: RequestFields.isIdentifier)
        serverID = try fields.optional(.serverID, where: RequestFields.isIdentifier)
        title = try fields.shownText(.title)
        self.body = try fields.shownText(.body)
        eventID = try fields.optional(.eventID) { bytes in
            (1...Bounds.eventIDBytesMax).contains(bytes.count) && !bytes.contains(0)
        }
        // Counting the members is cheaper than looking up rare ones; an empty text only costs an extra look-up.
        func one(_ text: String?) -> Int { text == nil ? 0 : 1 }
        let read = (headerSecret == nil ? 3 : 2) + one(serverID) + one(title) + one(self.body) + one(eventID)
        extras = fields.count > read ? try EventExtras(fields, eventID: eventID) : nil
        if !type.rings, extras?.contentState == nil { throw APIError(.missingField, field: .contentState) }
        if extras?.repetition != nil, let eventID {
            guard type == .permission else {
                throw APIError(.invalidField, field: .repeat, hint: "Only permissions can be repeated.")
            }
            collapseID = Repetition.collapseID(of: eventID)
        }
        guard extras?.sealed != nil, title != nil || self.body != nil else { return }
        throw APIError(
            .invalidField, field: title == nil ? .body : .title,
            hint: "A sealed event must not have it, because the relay and Apple could read it.")
    }

    /// A digest of everything but the secret and `eventID`; events with the same `eventID` must agree in it.
    var content: Digest256 {
        Digest256(ofParts: [type.rawValue, sessionID, serverID, title, body] + (extras?.parts ?? []))
    }

    /// Refuses an event that can't be shortened to fit into APNs' limit with one of these sounds.
    ///
    /// The sounds are evaluated only if they matter.
    func checkSize(sounds: @autoclosure () -> Set<String>) throws(APIError) {
        if let size = activity(at: 0)?.sizeMax, size > Notification.payloadBytesMax {
            throw APIError(
                .payloadTooLarge, field: .contentState,
                hint:
                    "A Live Activity's push has \(size) bytes; the limit is \(Notification.payloadBytesMax).")
        }
        guard let extras, extras.sealed != nil || extras.category != nil || !extras.actions.isEmpty else {
            return
        }
        let styles = sounds().map { PushStyle(sound: $0) } + [PushStyle(isQuiet: true)]
        let size = styles.map { payload($0).count }.max() ?? 0
        guard size > Notification.payloadBytesMax else { return }
        throw APIError(
            .payloadTooLarge,
            field: extras.sealed != nil ? .sealed : extras.category != nil ? .category : .actions,
            hint: "It has \(size) bytes; the limit is \(Notification.payloadBytesMax).")
    }
}

/// The parts of an event that OpenCode's servers don't send.
///
/// A class, so that an event without them carries only a pointer.
final class EventExtras: Sendable {
    let category: String?
    let isMutable: Bool
    /// The actions that replies may have; any if it is empty.
    let actions: [String]
    let sealed: SealedText?
    /// Whether to respond before it is sent.
    let isAsync: Bool
    /// How it is repeated until it is acknowledged.
    let repetition: Repetition?
    /// The state for the session's Live Activities.
    let contentState: JSON.Object?
    /// The attributes for starting a Live Activity.
    let attributes: JSON.Object?

    /// Validates the fields; `nil` if none is present.
    init?(_ fields: RequestFields, eventID: String?) throws(APIError) {
        category = try fields.word(.category, most: Bounds.identifierBytesMax)
        let isMutable = try fields.flag(.mutableContent)
        actions = try fields.actions(.actions)
        sealed = try fields.sealed()
        self.isMutable = isMutable == true || sealed != nil
        isAsync = try fields.flag(.async) ?? false
        repetition = try fields.repetition(eventID: eventID)
        contentState = try fields.optional(.contentState) { value in
            value.object.flatMap { value.encoded().count <= Bounds.contentStateBytesMax ? $0 : nil }
        }
        attributes = try fields.optional(.attributes, \.object)
        guard
            category != nil || isMutable != nil || !actions.isEmpty || sealed != nil || isAsync
                || repetition != nil
                || contentState != nil
        else { return nil }
    }

    /// These parts' input to the event's digest.
    var parts: [String?] {
        // Covers only existing parts, so that other events have the same digest as in older relays.
        var parts = [category, isMutable ? "mutable" : nil, sealed?.text]
        if let repetition { parts.append(repetition.text) }
        if !actions.isEmpty { parts.append("actions " + actions.joined(separator: " ")) }
        guard let contentState else { return parts }
        return parts
            + [contentState, attributes].map { object in
                object.map { String(decoding: JSON.Value.object($0).encoded(), as: UTF8.self) }
            }
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

extension EventRequest {
    /// The state for the session's Live Activities; `nil` if the event has none.
    ///
    /// A sealed event's visible texts aren't secret: they are those of the event type.
    func activity(at time: EpochMilliseconds) -> ActivityContent? {
        guard let extras, let state = extras.contentState else { return nil }
        return ActivityContent(
            type: type, sessionID: sessionID, serverID: serverID, state: state,
            attributes: extras.attributes, title: title ?? type.defaultTitle,
            body: body ?? type.defaultBody, at: time)
    }
}

extension EventRequest: PushContent {
    var pushType: PushType { .alert }
    var priority: Priority { .immediate }
    var timeToLive: Duration? { nil }
    var kind: String? { type.rawValue }
    var isSoundAlone: Bool { false }
    var logType: String { type.rawValue }
    var history: HistoryContent? {
        guard type.rings else { return nil }
        return HistoryContent(serverID: serverID, title: title, body: body, sealed: extras?.sealed?.text)
    }
    var hasUnreadBadge: Bool { false }

    /// Names the event in the payload; a repetition of the first push replaces it on the device.
    mutating func name(_ eventID: String, isRepetition: Bool) {
        self.eventID = eventID
        if isRepetition { collapseID = Repetition.collapseID(of: eventID) }
    }

    /// The payload for each device, fitted into APNs' limit.
    func payload(_ style: PushStyle) -> [UInt8] {
        EventPayload(
            title: title ?? type.defaultTitle, body: body ?? type.defaultBody, eventType: type,
            sessionID: sessionID, serverID: serverID,
            // In a sealed event, the ID is inside the envelope.
            eventID: extras?.sealed == nil ? eventID : nil, extras: extras
        ).encoded(style)
    }
}

extension RequestFields {
    /// The secret of the body, or of the header; if both have one, they must be equal.
    func secret(orOf header: Secret?) throws(APIError) -> Secret {
        let lengths = 1...Bounds.secretBytesMax
        guard let header else { return Secret(try required(.secret) { lengths.contains($0.count) }) }
        guard lengths.contains(header.bytes.count) else {
            throw APIError(
                .invalidField, field: .secret,
                hint: "The one in the Authorization header must have 1 to \(Bounds.secretBytesMax) bytes.")
        }
        guard let text = try optional(.secret) else { return header }
        guard Secret(text) == header else {
            throw APIError(
                .invalidField, field: .secret,
                hint: "The body's differs from the one in the Authorization header.")
        }
        return header
    }

    /// The token, and the text as sent if it differs.
    ///
    /// OpenCode's relay stored tokens as sent, so its rows may have the unfolded one.
    func deviceToken() throws(APIError) -> (DeviceToken, unfolded: String?) {
        let text = try required(.deviceToken)
        guard let token = DeviceToken(text) else {
            throw APIError(.invalidField, field: .deviceToken, hint: TokenMistake.hint(text))
        }
        return (token, token.text == text ? nil : text)
    }

    func bundleID() throws(APIError) -> Topic? {
        guard let text = try optional(.bundleID) else { return nil }
        guard let topic = Topic(text) else { throw APIError(.invalidField, field: .bundleID) }
        return topic
    }

    static func isIdentifier(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.identifierBytesMax).contains(bytes.count) && !bytes.contains(0)
    }
}

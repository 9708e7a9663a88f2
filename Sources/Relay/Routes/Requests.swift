import APNs
import Storage

/// What requests are checked against that is a setting.
struct RequestRules: Sendable {
    /// The fewest bytes of a secret that has no devices yet.
    var secretBytesMin = 16
    /// The app of registrations that name none.
    var defaultBundleID: Topic?
    /// The apps that may be registered for; `nil` is any.
    var bundleIDs: Set<Topic>?
    /// Of apps that are not in both environments, the one that they are in.
    var onlyEnvironment: [Topic: DeviceEnvironment] = [:]
    /// The time zones that quiet hours may name.
    var timeZones = TimeZones()
}

extension RequestRules {
    /// The rules that follow from the apps.
    init(_ apps: Apps, secretBytesMin: Int) {
        self.init(
            secretBytesMin: secretBytesMin, defaultBundleID: apps.defaultBundleID, bundleIDs: apps.bundleIDs)
        for bundleID in apps.bundleIDs ?? [] {
            guard let environments = apps[bundleID.text]?.environments, environments.count == 1 else {
                continue
            }
            onlyEnvironment[bundleID] = environments.first.map(DeviceEnvironment.init)
        }
    }
}

/// `POST /v1/device/register`, checked.
struct RegisterRequest: Sendable {
    let secret: Secret
    /// Whether the secret is too short for a first registration.
    let isSecretWeak: Bool
    let deviceToken: DeviceToken
    /// The token as it was sent, where that is not the folded one.
    let unfoldedToken: String?
    let bundleID: Topic
    let environment: DeviceEnvironment
    let details: DeviceDetails

    /// Checks a body; fields are looked at in the order of docs/API.md.
    init(body: [UInt8], rules: RequestRules) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret()
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
                .invalidField, field: .apnsEnvironment, hint: "This app is in \(only.rawValue) only here.")
        }
        self.environment = environment
        let preferences = try fields.object(.preferences).map { fields throws(APIError) in
            try DevicePreferences(fields)
        }
        if let zone = preferences?.quietHours?.timeZone, rules.timeZones.zone(zone) == nil {
            throw APIError(.invalidField, field: .quietHoursTimeZone)
        }
        func detail(_ field: RequestField) throws(APIError) -> String? {
            try fields.word(field, most: Bounds.deviceDetailBytesMax)
        }
        details = DeviceDetails(
            deviceName: try detail(.deviceName), deviceModel: try detail(.deviceModel),
            osVersion: try detail(.osVersion), appVersion: try detail(.appVersion),
            preferences: preferences.map { String(decoding: $0.json, as: UTF8.self) })
    }
}

/// `POST /v1/device/list`, checked.
struct ListRequest: Sendable {
    let secret: Secret

    /// Checks a body; fields are looked at in the order of docs/API.md.
    init(body: [UInt8]) throws(APIError) {
        secret = try RequestFields(body: body).secret()
    }
}

/// `POST /v1/device/unregister`, checked.
struct UnregisterRequest: Sendable {
    let secret: Secret
    let deviceToken: DeviceToken
    /// The token as it was sent, where that is not the folded one.
    let unfoldedToken: String?

    /// Checks a body; fields are looked at in the order of docs/API.md.
    init(body: [UInt8]) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret()
        (deviceToken, unfoldedToken) = try fields.deviceToken()
    }
}

/// What happened in a session.
enum EventType: String, CaseIterable, Sendable {
    case complete, permission, error

    /// The notification's title when the event has none.
    var defaultTitle: String {
        switch self {
        case .complete: "Session complete"
        case .permission: "Action needed"
        case .error: "Session error"
        }
    }

    /// The notification's text when the event has none.
    var defaultBody: String {
        switch self {
        case .complete: "OpenCode finished your session."
        case .permission: "OpenCode needs your permission decision."
        case .error: "OpenCode reported an error for your session."
        }
    }
}

/// `POST /v1/event`, checked.
struct EventRequest: Sendable {
    let secret: Secret
    let type: EventType
    let sessionID: String
    let serverID: String?
    /// As sent; `nil` stands for the type's own.
    let title: String?
    /// As sent; `nil` stands for the type's own.
    let body: String?
    let eventID: String?

    /// Checks a body; fields are looked at in the order of docs/API.md.
    init(body: [UInt8]) throws(APIError) {
        let fields = try RequestFields(body: body)
        secret = try fields.secret()
        guard let type = EventType(rawValue: try fields.required(.eventType)) else {
            throw APIError(.invalidField, field: .eventType)
        }
        self.type = type
        sessionID = try fields.required(.sessionID, where: RequestFields.isIdentifier)
        serverID = try fields.optional(.serverID, where: RequestFields.isIdentifier)
        title = try fields.optional(.title) { !$0.isEmpty }
        self.body = try fields.optional(.body) { !$0.isEmpty }
        eventID = try fields.optional(.eventID) { bytes in
            (1...Bounds.eventIDBytesMax).contains(bytes.count) && !bytes.contains(0)
        }
    }

    /// A digest of everything but the secret and `eventID`: two events under one `eventID` must agree in it.
    var content: Digest256 {
        Digest256(ofParts: [type.rawValue, sessionID, serverID, title, body])
    }
}

extension Digest256 {
    /// The digest of texts of which some may be absent.
    init(ofParts parts: [String?]) {
        var bytes: [UInt8] = []
        for part in parts {
            // A length before each part: no two lists run together into the same bytes.
            let count = part.map { UInt32($0.utf8.count) } ?? UInt32.max
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> UInt32(shift)))
            }
            if let part { bytes += part.utf8 }
        }
        self.init(of: bytes)
    }
}

extension EventRequest: PushContent {
    var pushType: PushType { .alert }
    var priority: Priority { .immediate }
    var collapseID: CollapseID? { nil }
    var timeToLive: Duration? { nil }
    var eventType: EventType? { type }
    var isSoundAlone: Bool { false }
    var logType: String { type.rawValue }

    /// What each device receives, fitted into APNs' bound.
    func payload(_ style: PushStyle) -> [UInt8] {
        AlertPayload(
            title: title ?? type.defaultTitle, body: body ?? type.defaultBody, eventType: type.rawValue,
            sessionID: sessionID, serverID: serverID, isPassive: style.isQuiet
        ).encoded(sound: style.isQuiet ? nil : style.sound)
    }
}

extension RequestFields {
    func secret() throws(APIError) -> Secret {
        Secret(try required(.secret) { (1...Bounds.secretBytesMax).contains($0.count) })
    }

    /// The token, and the text that was sent where it isn't the token's own.
    ///
    /// OpenCode's relay kept tokens as they were sent, so a row that it left may have the unfolded one.
    func deviceToken() throws(APIError) -> (DeviceToken, unfolded: String?) {
        let text = try required(.deviceToken)
        guard let token = DeviceToken(text) else { throw APIError(.invalidField, field: .deviceToken) }
        return (token, token.text == text ? nil : text)
    }

    fileprivate func bundleID() throws(APIError) -> Topic? {
        guard let text = try optional(.bundleID) else { return nil }
        guard let topic = Topic(text) else { throw APIError(.invalidField, field: .bundleID) }
        return topic
    }

    static func isIdentifier(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.identifierBytesMax).contains(bytes.count) && !bytes.contains(0)
    }
}

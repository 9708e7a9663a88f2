import APNs
import JSON
import Storage
import WebPush

/// A validated `POST /v1/device/register` request.
struct RegisterRequest: RequestBody {
    let deviceToken: DeviceToken
    /// The token as sent, if it differs from the folded one.
    let unfoldedToken: String?
    /// The subscription, if the device gets its pushes through Web Push.
    let webPush: WebPushDevice?
    let bundleID: APNs.Topic
    let environment: DeviceEnvironment
    let details: DeviceDetails
    /// The preferences that have no effect, because the relay doesn't know their values.
    let ignored: [RequestField]
    /// The code that the relay pushed to the device.
    let challengeCode: String?
    /// The device's tokens for Live Activities, widgets and controls.
    let tokens: PushTokenWishes

    var tracedToken: DeviceToken? { deviceToken }

    /// Whether a stored device is the one being registered: same token and app.
    func names(_ device: Device) -> Bool {
        // OpenCode's relay may have stored tokens in upper case.
        DeviceToken(device.token) == deviceToken && device.bundleID == bundleID.text
    }

    /// Whether a stored device is the same installation, so that its token is replaced.
    func replaces(_ device: Device) -> Bool {
        details.installationID != nil && device.details.installationID == details.installationID
    }

    init(_ fields: RequestFields, _ rules: RequestRules, at _: EpochMilliseconds) throws(APIError) {
        webPush = try fields.webPush(rules)
        if let webPush {
            (deviceToken, unfoldedToken) = (webPush.token, nil)
            (bundleID, environment) = (WebPushDevice.topic, .production)
        } else {
            (deviceToken, unfoldedToken) = try fields.deviceToken()
            (bundleID, environment) = try Self.app(fields, rules)
        }
        challengeCode = try fields.optional(.challengeCode, where: ChallengeCodes.isWellFormed)
        let preferences = try fields.object(.preferences).map { fields throws(APIError) in
            try DevicePreferences(fields)
        }
        ignored = preferences?.ignored(rules.timeZones) ?? []
        let installationID = try fields.installationID()
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
            sealedVersions: sealed?.text, installationID: installationID, webPush: webPush?.stored)
        tokens = webPush == nil ? try PushTokenWishes(fields) : PushTokenWishes()
    }

    /// Reads the app and the environment, which a registration for Web Push doesn't have.
    private static func app(
        _ fields: RequestFields, _ rules: RequestRules
    ) throws(APIError) -> (APNs.Topic, DeviceEnvironment) {
        guard let bundleID = try fields.bundleID() ?? rules.defaultBundleID else {
            throw APIError(.missingField, field: .bundleID)
        }
        if let known = rules.bundleIDs, !known.contains(bundleID) {
            let hint = known.isEmpty ? "It has no APNs key; devices register with webPush." : nil
            throw APIError(.unknownBundle, field: .bundleID, hint: hint)
        }
        let text = try fields.optional(.apnsEnvironment) ?? DeviceEnvironment.production.rawValue
        guard let environment = DeviceEnvironment(rawValue: text) else {
            throw APIError(.invalidField, field: .apnsEnvironment)
        }
        if let only = rules.onlyEnvironment[bundleID], only != environment {
            throw APIError(
                .invalidField, field: .apnsEnvironment,
                hint: "This relay pushes to this app only in \(only.rawValue).")
        }
        return (bundleID, environment)
    }
}

/// A body in which only the secret matters.
struct SecretRequest: PlainRequestBody {
    init(_: RequestFields) {}
}

/// A validated `POST /v1/device/unregister` request.
struct UnregisterRequest: PlainRequestBody {
    let deviceToken: DeviceToken
    /// The token as sent, if it differs from the folded one.
    let unfoldedToken: String?

    init(_ fields: RequestFields) throws(APIError) {
        if let token = try fields.webPushToken() {
            (deviceToken, unfoldedToken) = (token, nil)
        } else {
            (deviceToken, unfoldedToken) = try fields.deviceToken()
        }
    }

    var tracedToken: DeviceToken? { deviceToken }
}

/// A validated `POST /v1/event` request.
struct EventRequest: RequestBody {
    let content: EventContent
    let eventID: String?
    /// Whether to respond before the event is sent.
    let isAsync: Bool
    /// How the event is repeated until it is acknowledged.
    let repetition: Repetition?

    init(_ fields: RequestFields, _ rules: RequestRules, at _: EpochMilliseconds) throws(APIError) {
        var content = try EventContent(fields)
        eventID = content.eventID
        isAsync = try fields.flag(.async) ?? false
        repetition = try fields.repetition(eventID: eventID)
        if repetition != nil, let eventID {
            guard content.type == .permission else {
                throw APIError(.invalidField, field: .repeat, hint: "Only permissions can be repeated.")
            }
            content.name(eventID, isRepeated: true)
        }
        try content.checkSize(sounds: rules.sounds)
        self.content = content
    }
}

extension RequestFields {
    /// The secret in the body or in the header; if both contain one, they must be equal.
    func secret(orOf header: Secret?) throws(APIError) -> Secret {
        let lengths = 1...Bounds.secretBytesMax
        guard let header else { return Secret(try required(.secret) { lengths.contains($0.count) }) }
        guard lengths.contains(header.bytes.count) else {
            throw APIError(
                .invalidField, field: .secret,
                hint:
                    "The secret in the Authorization header must be 1 to \(Bounds.secretBytesMax) bytes "
                    + "long.")
        }
        guard let text = try optional(.secret) else { return header }
        guard Secret(text) == header else {
            throw APIError(
                .invalidField, field: .secret,
                hint: "The secret in the body differs from the one in the Authorization header.")
        }
        return header
    }

    /// The token, and the text as sent if that differs.
    ///
    /// OpenCode's relay stored tokens as sent, so its rows may contain the unfolded token.
    func deviceToken() throws(APIError) -> (DeviceToken, unfolded: String?) {
        let text = try required(.deviceToken)
        guard let token = DeviceToken(text) else {
            throw APIError(.invalidField, field: .deviceToken, hint: TokenMistake.hint(text))
        }
        return (token, token.text == text ? nil : text)
    }

    func bundleID() throws(APIError) -> APNs.Topic? {
        guard let text = try optional(.bundleID) else { return nil }
        guard let topic = APNs.Topic(text) else { throw APIError(.invalidField, field: .bundleID) }
        return topic
    }
}

extension RequestFields {
    /// The ID that the app gave its installation.
    func installationID() throws(APIError) -> String? {
        try optional(.installationID) { bytes in
            (1...Bounds.installationCountMax).contains(bytes.count)
                && bytes.allSatisfy { (0x20...0x7E).contains($0) }
        }
    }
}

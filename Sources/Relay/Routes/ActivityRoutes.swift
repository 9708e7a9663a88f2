import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/activity/register` request.
struct ActivityRegisterRequest: PlainRequestBody {
    let sessionID: String
    let token: DeviceToken
    /// The device that shows the activity.
    let deviceToken: DeviceToken?
    let bundleID: Topic?
    let environment: DeviceEnvironment?

    init(_ fields: RequestFields) throws(APIError) {
        sessionID = try fields.required(.sessionID, where: RequestFields.isIdentifier)
        guard let token = try fields.token(.activityToken) else {
            throw APIError(.missingField, field: .activityToken)
        }
        self.token = token
        deviceToken = try fields.token(.deviceToken)
        bundleID = try fields.bundleID()
        environment = try fields.optional(.apnsEnvironment) {
            $0.string.flatMap(DeviceEnvironment.init(rawValue:))
        }
    }

    var tracedToken: DeviceToken? { token }

    /// The most recently updated APNs device that matches the request's device token and bundle ID, if given.
    fileprivate func device(among devices: [Device]) throws(APIError) -> Device {
        let named = devices.filter { device in
            guard device.transport == .apns else { return false }
            if let deviceToken, DeviceToken(device.token) != deviceToken { return false }
            guard let bundleID else { return true }
            return device.bundleID == bundleID.text
        }
        guard let device = named.max(by: { $0.updatedAt < $1.updatedAt }) else {
            throw APIError(
                .unknownDevice, field: devices.isEmpty ? nil : deviceToken == nil ? .bundleID : .deviceToken,
                hint: "Register the device first.")
        }
        return device
    }
}

/// `POST /v1/activity/register`: registers a Live Activity for a session.
struct ActivityRegisterRoute: TenantRoute {
    static let admission = Admission.registering
    let services: LoopServices

    /// Stores the activity's token.
    ///
    /// Only a secret with a device can have activities, and only for its devices' apps, because the relay checks who
    /// may register when it registers a device.
    func answer(
        _ wanted: ActivityRegisterRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        let key = tenant.key
        let devices = try await services.devices(of: key)
        if devices.isEmpty { try tenant.countAsUnknown() }
        let device = try wanted.device(among: devices)
        let now = shared.clock.now
        let token = PushToken(
            id: services.makeID(at: now).text, secretHash: key.primary, kind: .activity,
            token: wanted.token.text, sessionID: wanted.sessionID,
            deviceID: wanted.deviceToken == nil ? nil : device.id, bundleID: device.bundleID,
            environment: wanted.environment ?? device.environment, createdAt: now, updatedAt: now,
            expiresAt: now + Bounds.activityLifetime.inMilliseconds)
        let isStored: Bool
        do throws(StorageError) {
            isStored = try await shared.storage.save(token, under: key)
        } catch {
            throw APIError(error)
        }
        guard isStored else { throw APIError(.unknownDevice) }
        return .ok
    }
}

/// A validated `POST /v1/activity/unregister` request.
struct ActivityUnregisterRequest: PlainRequestBody {
    let sessionID: String
    /// The token of the activity to remove; `nil` to remove all of the session's activities.
    let token: DeviceToken?

    init(_ fields: RequestFields) throws(APIError) {
        sessionID = try fields.required(.sessionID, where: RequestFields.isIdentifier)
        token = try fields.token(.activityToken)
    }
}

/// `POST /v1/activity/unregister`: removes a session's Live Activities, or one of them.
struct ActivityUnregisterRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    /// Removes the activities; succeeds even if there are none.
    func answer(
        _ wanted: ActivityUnregisterRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let removed: Int
        do throws(StorageError) {
            removed = try await services.shared.storage.removeTokens(
                .activity, session: wanted.sessionID, token: wanted.token?.text, device: nil,
                under: tenant.key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("removed", removed))
        try tenant.note(isKnown: removed > 0)
        return .ok
    }
}

/// The additional tokens that a device sends with its registration.
struct PushTokenWishes: Sendable {
    /// The tokens to store; a `nil` token removes the device's token of that kind.
    ///
    /// Stored tokens of kinds that aren't listed are kept.
    private(set) var tokens: [(kind: PushTokenKind, token: DeviceToken?)] = []
    private(set) var attributesType: String?

    /// Creates a value without tokens.
    init() {}

    /// Validates the fields; `null` counts as absent, because apps send it while the system has no token for them.
    init(_ fields: RequestFields) throws(APIError) {
        try read(.start, .pushToStartToken, fields)
        attributesType = try fields.optional(.attributesType) { bytes in
            (1...StorageLimits.attributesTypeBytes).contains(bytes.count)
                && bytes.allSatisfy { (0x21...0x7E).contains($0) }
        }
        if tokens.contains(where: { $0.token != nil }), attributesType == nil {
            throw APIError(.missingField, field: .attributesType)
        }
        try read(.widgets, .widgetPushToken, fields)
        try read(.controls, .controlPushToken, fields)
    }

    private mutating func read(
        _ kind: PushTokenKind, _ field: RequestField, _ fields: RequestFields
    ) throws(APIError) {
        guard let value = fields.value(field), !value.isNull else { return }
        if value.string == "" { return tokens.append((kind, nil)) }
        tokens.append((kind, try fields.token(field)))
    }

    /// Stores or removes the tokens of a device that has just registered.
    func store(
        for wanted: RegisterRequest, under key: SecretKey, on services: LoopServices
    ) async throws(StorageError) {
        guard !tokens.isEmpty else { return }
        let storage = services.shared.storage
        let device = try await storage.devices(of: key).first { DeviceToken($0.token) == wanted.deviceToken }
        guard let device else { return }
        let now = services.shared.clock.now
        for (kind, token) in tokens {
            guard let token else {
                _ = try await storage.removeTokens(
                    kind, session: "", token: nil, device: device.id, under: key)
                continue
            }
            let row = PushToken(
                id: services.makeID(at: now).text, secretHash: key.primary, kind: kind, token: token.text,
                deviceID: device.id, bundleID: device.bundleID, environment: device.environment,
                attributesType: kind == .start ? attributesType : nil, createdAt: now, updatedAt: now)
            _ = try await storage.save(row, under: key)
        }
    }
}

extension RequestFields {
    /// Reads an optional token in APNs' format.
    func token(_ field: RequestField) throws(APIError) -> DeviceToken? {
        try optional(field) { $0.string.flatMap(DeviceToken.init) }
    }
}

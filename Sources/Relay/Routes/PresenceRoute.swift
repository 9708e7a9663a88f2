import HTTPServer
import Network
import Programs
import Storage

/// A validated `POST /v1/presence`.
struct PresenceRequest: PlainRequestBody {
    /// How long the person keeps looking; zero if they have stopped.
    let duration: Duration
    let installationID: String?

    init(_ fields: RequestFields) throws(APIError) {
        installationID = try fields.installationID()
        guard let seconds = try fields.integer(.presenceSeconds, in: 0...Bounds.presenceSecondsMax) else {
            throw APIError(.missingField, field: .presenceSeconds)
        }
        duration = .seconds(seconds)
    }
}

/// `POST /v1/presence`: a person looks at their agents, so completed runs needn't ring.
struct PresenceRoute: TenantRoute {
    static let admission = Admission.registering
    let services: LoopServices

    /// Stores until when, beside the preferences of the device or of another one of the secret: every sender reads them
    /// anyway, at any relay.
    func answer(
        _ wanted: PresenceRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        trace.isRoutine = true
        let shared = services.shared
        do throws(StorageError) {
            let devices = try await shared.storage.devices(of: tenant.key)
            let own = devices.first { device in
                wanted.installationID != nil && device.details.installationID == wanted.installationID
            }
            if let device = own ?? devices.first {
                let now = shared.clock.now
                let end = wanted.duration == .zero ? nil : now + wanted.duration.inMilliseconds
                try await store(end, for: device, tenant.key)
                return .ok
            }
        } catch {
            throw APIError(error)
        }
        try tenant.countAsUnknown()
        return .ok
    }

    private func store(
        _ end: EpochMilliseconds?, for device: Device, _ key: SecretKey
    ) async throws(StorageError) {
        var preferences = device.details.preferences.map(DevicePreferences.init(stored:)) ?? .none
        guard preferences.lookingUntil != end else { return }
        preferences.lookingUntil = end
        let details = DeviceDetails(
            preferences: String(decoding: preferences.json, as: UTF8.self), webPush: device.details.webPush)
        // Neither adds a device that was removed meanwhile, nor gives an installation its earlier token back.
        _ = try await services.shared.storage.register(
            Registration(
                newID: services.makeID(), token: device.token, bundleID: device.bundleID,
                environment: device.environment, at: device.updatedAt, details: details),
            under: key, deviceLimit: 0)
    }
}

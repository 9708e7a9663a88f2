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
            // Who isn't registered shares a device's time, and can't end what that device reported.
            let device = own ?? (wanted.duration > .zero ? devices.first : nil)
            if let device {
                let end =
                    wanted.duration == .zero ? nil : shared.clock.now + wanted.duration.inMilliseconds
                try await store(end, for: device, isOwn: own != nil)
            }
            if !devices.isEmpty {
                services.noteKnown()
                return .ok
            }
        } catch {
            throw APIError(error)
        }
        try tenant.countAsUnknown()
        return .ok
    }

    /// A report is left out if the device registers at the same time: the app repeats it within a minute.
    private func store(
        _ end: EpochMilliseconds?, for device: Device, isOwn: Bool
    ) async throws(StorageError) {
        var preferences = device.details.preferences.map(DevicePreferences.init(stored:)) ?? .none
        guard preferences.lookingUntil != end else { return }
        if !isOwn, let end, let other = preferences.lookingUntil, other > end { return }
        preferences.lookingUntil = end
        _ = try await services.shared.storage.setPreferences(
            String(decoding: preferences.json, as: UTF8.self), of: device)
    }
}

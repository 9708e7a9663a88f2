import HTTPServer
import Network
import Programs
import Storage

/// A validated `POST /v1/presence` request.
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

/// `POST /v1/presence`: reports that a person is looking at their agents, so notifications of completed runs needn't
/// alert them.
struct PresenceRoute: TenantRoute {
    static let admission = Admission.registering
    let services: LoopServices

    /// Stores until when the person is looking, in the preferences of the device or of another device of the secret:
    /// every relay reads those before sending anyway.
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
            // A device that isn't registered shares another device's time, and can't end a time that the other device
            // reported.
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

    /// Stores a device's time; a report is dropped if the device registers at the same time, but the app repeats it
    /// within a minute.
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

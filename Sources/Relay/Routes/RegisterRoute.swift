import APNs
import HTTPServer
import Network
import Programs
import Storage

/// `POST /v1/device/register`: registers a device under a secret.
struct RegisterRoute: TenantRoute {
    static let admission = Admission.registering
    let services: LoopServices

    /// The decision about a registration.
    private enum Decision {
        /// Store the device with this environment.
        case granted(DeviceEnvironment)
        /// A code was pushed to the device, and nothing is stored.
        case challenged(Reply)
    }

    /// Inserts or updates the device.
    func answer(
        _ wanted: RegisterRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        let key = tenant.key
        let environment: DeviceEnvironment
        switch try await admission(of: wanted, tenant, &trace) {
        case .granted(let granted): environment = granted
        case .challenged(let reply): return reply
        }
        let registration = Registration(
            newID: services.makeID(), token: wanted.deviceToken.text, bundleID: wanted.bundleID.text,
            environment: environment, at: shared.clock.now, details: try await details(wanted, key))
        let result: RegistrationResult
        do throws(StorageError) {
            result = try await register(registration, under: key, replacing: wanted.unfoldedToken)
            if result != .limitReached {
                try await wanted.tokens.store(for: wanted, under: key, on: services)
            }
        } catch {
            throw APIError(error)
        }
        switch result {
        case .created: shared.deviceTotal?.added()
        case .updated: services.noteKnown()
        case .limitReached: throw APIError(.deviceLimit, limit: .devices)
        }
        guard !wanted.ignored.isEmpty else { return .ok }
        trace.add(.ignored(wanted.ignored))
        return Reply(ignored: wanted.ignored)
    }

    /// The details to store; a stored subscription keeps the key that it was made with.
    private func details(
        _ wanted: RegisterRequest, _ key: SecretKey
    ) async throws(APIError) -> DeviceDetails {
        guard let keys = services.shared.webPush, keys.areSeveral, let new = wanted.webPush else {
            return wanted.details
        }
        let stored = try await services.devices(of: key).first(where: wanted.names)
        guard let old = stored?.details.webPush.flatMap(WebPushDevice.init(stored:)),
            old.subscription == new.subscription, keys[old.keyID] != nil
        else { return wanted.details }
        let kept = WebPushDevice(new.subscription, keyID: old.keyID, page: new.page)
        return wanted.details.with(webPush: kept.stored)
    }

    /// Refuses a request without the operator's key if one is required; wrong keys count against the address.
    func precheck(_ request: Request) throws(APIError) {
        guard case .key(let key) = services.shared.registration, !request.hasBearer(key) else { return }
        try services.shared.rates.countUnknownSecret(request, at: services.loop.now)
        throw APIError(.unauthorized)
    }

    /// Decides whether to grant a registration; one for a device that is already registered is always granted.
    ///
    /// A device that is new under its secret counts against its address and its token, and is challenged if challenges
    /// are configured. A secret with devices may be shorter than the minimum, because apps may have registered under it
    /// before this relay had a minimum. A device that changes its app counts as new; otherwise it could register under
    /// an app that doesn't exist and then switch.
    private func admission(
        of wanted: RegisterRequest, _ tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Decision {
        let shared = services.shared
        let key = tenant.key
        let isSecretWeak = services.rules.isWeak(tenant.secret)
        let codes = shared.registration.challengeCodes
        guard
            shared.rates.countsNewDevices || shared.deviceTotal != nil || codes != nil || isSecretWeak
                || wanted.details.installationID != nil
        else { return .granted(wanted.environment) }
        let devices: [Device]
        do throws(StorageError) {
            devices = try await shared.storage.devices(of: key)
        } catch {
            throw APIError(error)
        }
        if !devices.isEmpty { services.noteKnown() }
        guard !devices.contains(where: wanted.names) else { return .granted(wanted.environment) }
        // The request is counted before any refusal that reveals something about a secret, so that guesses count.
        try tenant.countAsUnknown()
        guard !devices.isEmpty || !isSecretWeak else {
            throw APIError(
                .weakSecret, field: .secret,
                hint: "It must be at least \(services.rules.secretBytesMin) bytes long.")
        }
        // An installation's new token replaces the old one.
        let replaced = devices.first(where: wanted.replaces)
        if replaced == nil { try await shared.deviceTotal?.checkRoom() }
        let device = DeviceKey(wanted.deviceToken, bundleID: wanted.bundleID.text)
        var environment = wanted.environment
        if let codes {
            let challenge = Challenge(services: services, codes: codes, secret: tenant.secret)
            guard let code = wanted.challengeCode else {
                try shared.rates.countChallenge(to: device, tenant.request, at: services.loop.now)
                return .challenged(try await challenge.send(wanted, &trace))
            }
            guard let proven = challenge.environment(provenBy: code, wanted) else {
                throw APIError(.challengeFailed, field: .challengeCode)
            }
            environment = proven
        }
        try shared.rates.countNewSecret(key, of: device, at: services.loop.now)
        if let replaced { noteChange(of: replaced, to: wanted, key) }
        return .granted(environment)
    }

    /// Reports an installation whose token changes back and forth.
    private func noteChange(of device: Device, to wanted: RegisterRequest, _ key: SecretKey) {
        let shared = services.shared
        guard let installation = wanted.details.installationID,
            shared.contested.replaced(
                device.token, by: wanted.deviceToken.text, of: installation, under: key,
                at: shared.monotonic())
        else { return }
        services.counts.contested += 1
        shared.log(
            .warning, "device.contested",
            [
                .secretHash(key.primary), .device(wanted.deviceToken), .note("other", device.maskedToken),
                .note("detail", "two devices, or two builds of the app, have the same deviceID"),
            ])
    }

    /// Registers the device and removes its row with the unfolded token, which would otherwise get a second push.
    private func register(
        _ registration: Registration, under key: SecretKey, replacing unfolded: String?
    ) async throws(StorageError) -> RegistrationResult {
        let storage = services.shared.storage
        let limit = services.shared.limits.devicesPerSecretMax
        let result = try await storage.register(registration, under: key, deviceLimit: limit)
        guard let unfolded else { return result }
        let wasThere = try await storage.unregister(token: unfolded, under: key, at: registration.at)
        // The old row counted towards the limit.
        guard wasThere, result == .limitReached else { return result }
        return try await storage.register(registration, under: key, deviceLimit: limit)
    }
}

/// `POST /v1/device/unregister`: removes a device from a secret.
struct UnregisterRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    /// Removes the device; succeeds even if it wasn't registered.
    func answer(
        _ wanted: UnregisterRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        var removed = 0
        do throws(StorageError) {
            for token in [wanted.deviceToken.text, wanted.unfoldedToken].compactMap(\.self) {
                let wasThere = try await shared.storage.unregister(
                    token: token, under: tenant.key, at: shared.clock.now)
                if wasThere { removed += 1 }
            }
        } catch {
            throw APIError(error)
        }
        trace.add(.count("removed", removed))
        try tenant.note(isKnown: removed > 0)
        return .ok
    }
}

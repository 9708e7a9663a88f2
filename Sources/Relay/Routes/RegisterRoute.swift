import APNs
import HTTPServer
import Network
import Storage

/// `POST /v1/device/register`: puts a device under a secret.
struct RegisterRoute: AnsweringRoute {
    let services: LoopServices

    /// Inserts or updates the device.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let shared = services.shared
        let wanted = try RegisterRequest(body: request.body, rules: services.rules)
        let key = shared.hasher.key(of: wanted.secret)
        trace.add(.secretHash(key.primary))
        trace.add(.device(wanted.deviceToken))
        try shared.rates.countRegistration(key, at: services.loop.now)
        try await checkIfUnknown(wanted, key, request)
        let registration = Registration(
            newID: services.makeID(), token: wanted.deviceToken.text, bundleID: wanted.bundleID.text,
            environment: wanted.environment, at: shared.clock.now, details: wanted.details)
        let result: RegistrationResult
        do throws(StorageError) {
            result = try await register(registration, under: key, replacing: wanted.unfoldedToken)
        } catch {
            throw APIError(error)
        }
        switch result {
        case .created, .updated: return .ok
        case .limitReached: throw APIError(.deviceLimit, limit: .devices)
        }
    }

    /// Counts a secret's first registration for the address that it comes from, and refuses a weak secret.
    ///
    /// A secret that has devices may be shorter: apps registered under it before this relay had a minimum.
    private func checkIfUnknown(
        _ wanted: RegisterRequest, _ key: SecretKey, _ request: Request
    ) async throws(APIError) {
        let shared = services.shared
        guard shared.rates.countsUnknownSecrets || wanted.isSecretWeak else { return }
        let devices: [Device]
        do throws(StorageError) {
            devices = try await shared.storage.devices(of: key)
        } catch {
            throw APIError(error)
        }
        guard devices.isEmpty else { return }
        // Before the refusal, which tells that a secret has no devices: guesses are as dear here as elsewhere.
        try shared.rates.countUnknownSecret(request, at: services.loop.now)
        guard !wanted.isSecretWeak else {
            throw APIError(
                .weakSecret, field: .secret,
                hint: "It must have at least \(services.rules.secretBytesMin) bytes.")
        }
    }

    /// Registers the device, and removes the row that it has under its unfolded token, which would get a second push.
    private func register(
        _ registration: Registration, under key: SecretKey, replacing unfolded: String?
    ) async throws(StorageError) -> RegistrationResult {
        let storage = services.shared.storage
        let limit = services.shared.limits.devicesPerSecretMax
        let result = try await storage.register(registration, under: key, deviceLimit: limit)
        guard let unfolded else { return result }
        let wasThere = try await storage.unregister(token: unfolded, under: key, at: registration.at)
        // The old row was one of those that left no room.
        guard wasThere, result == .limitReached else { return result }
        return try await storage.register(registration, under: key, deviceLimit: limit)
    }
}

/// `POST /v1/device/unregister`: takes a device away from a secret.
struct UnregisterRoute: AnsweringRoute {
    let services: LoopServices

    /// Removes the device, whether or not it was there.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let shared = services.shared
        let wanted = try UnregisterRequest(body: request.body)
        let key = shared.hasher.key(of: wanted.secret)
        trace.add(.secretHash(key.primary))
        trace.add(.device(wanted.deviceToken))
        try shared.rates.countRegistration(key, at: services.loop.now)
        var removed = 0
        do throws(StorageError) {
            for token in [wanted.deviceToken.text, wanted.unfoldedToken].compactMap(\.self) {
                let wasThere = try await shared.storage.unregister(
                    token: token, under: key, at: shared.clock.now)
                if wasThere { removed += 1 }
            }
        } catch {
            throw APIError(error)
        }
        trace.add(.count("removed", removed))
        if removed == 0 { try shared.rates.countUnknownSecret(request, at: services.loop.now) }
        return .ok
    }
}

extension APIError {
    /// What a caller hears of a storage error.
    ///
    /// The log keeps the rest.
    init(_ error: StorageError) {
        switch error {
        case .unavailable, .timeout, .refused, .full, .readOnly, .inUse, .corrupt, .schemaTooNew,
            .schemaTooOld,
            .foreignDatabase, .unfinishedCopy:
            self.init(.storageUnavailable, logDetail: error.logDetail)
        case .closed:
            self.init(.shuttingDown, logDetail: error.logDetail)
        case .invalidValue, .internalFault:
            self.init(.internalError, logDetail: error.logDetail)
        }
    }
}

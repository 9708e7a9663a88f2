import Network
import Storage

extension FakeStorage {
    func block(_ secret: BlockedSecret, limit: Int) async throws(StorageError) -> BlockResult {
        try secret.validate()
        return try checked { state in
            if let stored = state.blocked.first(where: { $0.secretHash == secret.secretHash }) {
                return .alreadyBlocked(stored)
            }
            guard state.blocked.count < limit else { return .limitReached }
            state.blocked.append(secret)
            return .blocked
        }
    }

    func unblock(_ hash: SecretHash) async throws(StorageError) -> Bool {
        try checked { state in
            let before = state.blocked.count
            state.blocked.removeAll { $0.secretHash == hash }
            return state.blocked.count < before
        }
    }

    func blockedSecrets(limit: Int) async throws(StorageError) -> [BlockedSecret] {
        try checked { state in
            state.blockReads += 1
            return Array(state.blocked.sorted { $0.secretHash.hex < $1.secretHash.hex }.prefix(limit))
        }
    }

    func relayKey(
        _ name: String, orStoring text: String?, at now: EpochMilliseconds
    ) async throws(StorageError) -> String? {
        try checked { state in
            let stored = state.relayKeys[name] ?? text
            state.relayKeys[name] = stored
            return stored
        }
    }

    func hashes(
        beginningWith prefix: SecretHashPrefix, in scope: SecretHashScope, limit: Int
    ) async throws(StorageError) -> [SecretHash] {
        try checked { state in
            let known = state.devices.map(\.secretHash) + state.blocked.map(\.secretHash)
            let found = Set(known).filter { $0.hex.hasPrefix(prefix.digits) }
            return Array(found.sorted { $0.hex < $1.hex }.prefix(limit))
        }
    }

    func tenants(
        after start: String, before end: String, limit: Int
    ) async throws(StorageError) -> TenantPage {
        try checked { state in
            var tenants: [SecretHash: Tenant] = [:]
            for device in state.devices where device.secretHash.hex > start && device.secretHash.hex < end {
                var tenant = tenants[device.secretHash] ?? Tenant(secretHash: device.secretHash)
                tenant.devices += 1
                tenant.deviceUpdatedAt = max(tenant.deviceUpdatedAt ?? 0, device.updatedAt)
                tenants[device.secretHash] = tenant
            }
            let page = tenants.values.sorted { $0.secretHash.hex < $1.secretHash.hex }.prefix(limit)
            return TenantPage(
                tenants: Array(page), next: page.count < limit ? nil : page.last?.secretHash.hex)
        }
    }

    func waitingPushes(
        of hash: SecretHash?, after cursor: WaitingCursor?, limit: Int
    ) async throws(StorageError) -> [WaitingPush] {
        try checked { _ in [] }
    }
}

extension FakeStorage.State {
    /// Gives a registration's token to the device of its installation, if there is one.
    mutating func giveToken(of registration: Registration, under hash: SecretHash) {
        guard let installation = registration.details.installationID,
            let own = devices.first(where: {
                $0.secretHash == hash && $0.details.installationID == installation
            }), own.token != registration.token
        else { return }
        devices.removeAll { $0.secretHash == hash && $0.token == registration.token }
        guard let index = devices.firstIndex(of: own) else { return }
        devices[index] = Device(
            id: own.id, secretHash: hash, token: registration.token, bundleID: own.bundleID,
            environment: own.environment, createdAt: own.createdAt, updatedAt: own.updatedAt,
            details: own.details)
    }
}

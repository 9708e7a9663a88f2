import Storage

extension LoopServices {
    /// Reads a tenant's devices, first moving them to its primary hash if necessary.
    func devices(of tenant: SecretKey) async throws(APIError) -> [Device] {
        do throws(StorageError) {
            let devices = try await shared.storage.devices(of: tenant)
            if !devices.isEmpty { noteKnown() }
            guard devices.indices.contains(where: { devices[$0].secretHash != tenant.primary }) else {
                return devices
            }
            // This happens before anything is sent, because pushes are stored under the device's current hash.
            guard try await shared.storage.rehash(tenant) else { return devices }
            shared.log(
                .info, "secret.rehashed", [.secretHash(tenant.primary), .count("devices", devices.count)])
            return try await shared.storage.devices(of: tenant)
        } catch {
            throw APIError(error)
        }
    }
}

/// Devices with an installation ID, whose new token replaces their old one.
extension SQLSession {
    /// Gives a new token to an installation's device, if there is one; within a transaction that locks the secret.
    ///
    /// The device keeps its ID, so its queued pushes go to the new token. If another device of the secret has the
    /// token, that device is removed and its queued pushes move to this one, including leased ones: a phone has only
    /// one token.
    func giveToken(_ token: String, to installation: String, _ hash: SecretHash) throws(SQLFailure) {
        let select = "SELECT id FROM device_registration WHERE secret_hash = ?"
        func id(_ column: String, _ value: String) throws(SQLFailure) -> String? {
            var found: String?
            try query("\(select) AND \(column) = ?\(statements.lockRows)", [.hash(hash), .text(value)]) {
                row throws(SQLFailure) in found = try row.text(0)
            }
            return found
        }
        guard let device = try id("installation_id", installation) else { return }
        if let other = try id("device_token", token) {
            guard other != device else { return }
            _ = try execute(
                "DELETE FROM device_registration WHERE secret_hash = ? AND id = ?",
                [.hash(hash), .text(other)])
            _ = try execute(
                "UPDATE pending_push SET device_id = ? WHERE secret_hash = ? AND device_id = ?",
                [.text(device), .hash(hash), .text(other)])
            _ = try execute(
                "UPDATE push_token SET device_id = ? WHERE secret_hash = ? AND device_id = ?",
                [.text(device), .hash(hash), .text(other)])
        }
        _ = try execute(
            "UPDATE device_registration SET device_token = ? WHERE secret_hash = ? AND id = ?",
            [.text(token), .hash(hash), .text(device)])
    }

    /// Merges a device that is being moved to another hash into its installation's device there, which keeps its ID.
    ///
    /// The later registration's token is used.
    func merge(_ moved: Device, into kept: Device) throws(SQLFailure) {
        guard moved.updatedAt > kept.updatedAt else { return }
        _ = try execute(
            """
            UPDATE device_registration SET device_token = ?, bundle_id = ?, apns_env = ?, updated_at = ?,
                web_push = ?
            WHERE secret_hash = ? AND id = ?
            """,
            [
                .text(moved.token), .text(moved.bundleID), .text(moved.environment.rawValue),
                .integer(moved.updatedAt), .text(moved.details.webPush), .hash(kept.secretHash),
                .text(kept.id),
            ])
    }
}

extension Device {
    /// Whether both devices belong to the same installation.
    ///
    /// Compares bytes, because Swift treats canonically equivalent strings as equal.
    func isSameInstallation(as other: Device) -> Bool {
        guard let mine = details.installationID, let others = other.details.installationID else {
            return false
        }
        return mine.utf8.elementsEqual(others.utf8)
    }
}

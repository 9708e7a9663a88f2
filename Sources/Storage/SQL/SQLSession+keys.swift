/// The keys shared by all relays that use a database.
extension SQLSession {
    /// The key stored under a name; stores `text` if there is none.
    func relayKey(
        _ name: String, orStoring text: String?, at now: EpochMilliseconds
    ) throws(SQLFailure) -> String? {
        let hash = SQLValue.hash(SecretHash(Digest256(of: Array("apn-relay key \(name)".utf8))))
        func stored() throws(SQLFailure) -> String? {
            var found: String?
            try query("SELECT text FROM relay_key WHERE secret_hash = ? AND name = ?", [hash, .text(name)]) {
                row throws(SQLFailure) in found = try row.text(0)
            }
            return found
        }
        if let found = try stored() { return found }
        guard let text else { return nil }
        _ = try execute(
            dialect.insertUnlessPresent(
                "INTO relay_key (secret_hash, name, text, created_at) VALUES (?, ?, ?, ?)"),
            [hash, .text(name), .text(text), .integer(now)])
        // Another relay's key, if that relay stored it first.
        return try stored() ?? text
    }
}

extension SQLStorage {
    package func relayKey(
        _ name: String, orStoring text: String?, at now: EpochMilliseconds
    ) async throws(StorageError) -> String? {
        try StorageText.check(name, field: "name", bytes: StorageLimits.relayKeyNameBytes)
        try StorageText.check(text ?? "", field: "key", bytes: StorageLimits.relayKeyBytes)
        // Only reads, so that the account needs no write privilege.
        guard text != nil else {
            return try await read { session throws(SQLFailure) in
                try session.relayKey(name, orStoring: nil, at: now)
            }
        }
        return try await write { session throws(SQLFailure) in
            try session.relayKey(name, orStoring: text, at: now)
        }
    }
}

import Cryptography
import Storage
import WebPush

/// The key that relays without `RELAY_VAPID_PRIVATE_KEY` create at their first startup and share through the database.
///
/// There is a copy for each pepper, encrypted with that pepper, so that the key survives a change of pepper.
struct SharedVAPIDKey {
    private static let purpose = "apn-relay VAPID key 1"
    private static let plainName = "webpush plain"

    private let storage: any KeyStorage
    /// Secrets for encryption, one per pepper; the one for new rows comes first.
    private let peppers: [Secret]

    /// The key in a database.
    init(in storage: any KeyStorage, _ hasher: SecretHasher) {
        self.storage = storage
        peppers = hasher.keys(for: Self.purpose)
    }

    /// Loads the key, or creates it if there is none; `nil` if the stored one can't be read.
    func load(at now: EpochMilliseconds) async throws(StorageError) -> VAPIDKey? {
        guard let found = try await find() else {
            // Another relay may store a key first.
            return try await storage.relayKey(names[0], orStoring: text(VAPIDKey()), at: now).flatMap(key)
        }
        guard let key = key(found.text) else { return nil }
        // Stores the copy for a new pepper; if this fails, the next start tries again.
        if found.name != names[0] {
            _ = try? await storage.relayKey(names[0], orStoring: text(key), at: now)
        }
        return key
    }

    /// The key, if there is one and it can be read; changes nothing.
    func look() async throws(StorageError) -> VAPIDKey? { try await find().flatMap { key($0.text) } }

    private func find() async throws(StorageError) -> (name: String, text: String)? {
        for name in names {
            if let text = try await storage.relayKey(name, orStoring: nil, at: 0) { return (name, text) }
        }
        return nil
    }

    private var names: [String] { peppers.map(Self.name) + [Self.plainName] }

    private static func name(_ pepper: Secret) -> String {
        "webpush \(Digest256(of: pepper.bytes).hex.prefix(16))"
    }

    private func text(_ key: VAPIDKey) -> String {
        guard let pepper = peppers.first else { return "plain \(key.privateKeyText)" }
        var generator = SystemRandomNumberGenerator()
        let nonce = RandomBytes.make(AES128GCM.nonceBytes, using: &generator)
        var sealed: [UInt8] = []
        let isSealed = AES128GCM.seal(
            Array(key.privateKeyText.utf8), key: Self.encryptionKey(pepper), nonce: nonce, to: &sealed)
        precondition(isSealed, "libcrypto could not encrypt")
        return "sealed \(Base64.urlText(nonce)) \(Base64.urlText(sealed))"
    }

    private func key(_ text: String) -> VAPIDKey? {
        let parts = text.split(separator: " ").map(String.init)
        switch (parts.first, parts.count) {
        case ("plain", 2): return try? VAPIDKey(parts[1])
        case ("sealed", 3):
            guard let nonce = Base64.decode(Array(parts[1].utf8)), nonce.count == AES128GCM.nonceBytes,
                let sealed = Base64.decode(Array(parts[2].utf8))
            else { return nil }
            let opened = peppers.lazy.compactMap { pepper in
                AES128GCM.open(sealed, key: Self.encryptionKey(pepper), nonce: nonce)
            }.first
            return opened.flatMap { String(validating: $0, as: UTF8.self) }.flatMap { try? VAPIDKey($0) }
        default: return nil
        }
    }

    private static func encryptionKey(_ pepper: Secret) -> [UInt8] {
        Array(
            SHA256.authenticationCode(of: Array("AES".utf8), key: pepper.bytes).prefix(AES128GCM.keyBytes))
    }
}

import Foundation

/// The test vectors that all clients share: clients/vectors/sealed.json.
struct Vectors: Decodable {
    struct Derivation: Decodable {
        let name, ikm, salt, info, okm: String
        let length: Int
    }

    struct Cipher: Decodable {
        let name, key, nonce, associatedData, plaintext, ciphertext, tag: String
    }

    struct Keys: Decodable {
        let pairingSecret, relaySecret, notificationKey, notificationKeyID, sessionIDKey, replyKey: String
        let replyResultKey: String
        let liveActivityKey, sessionID, privateSessionID: String
    }

    struct Seal: Decodable {
        let name, pairingSecret, type, nonce, plaintext, sealed: String
        let paddedBytes: Int
    }

    struct Refuse: Decodable {
        let name, pairingSecret, type, sealed, reason: String
    }

    struct SealReply: Decodable {
        let name, pairingSecret, eventID, nonce, plaintext, sealed: String
    }

    struct RefuseReply: Decodable {
        let name, pairingSecret, eventID, sealed, reason: String
    }

    struct SealResult: Decodable {
        let name, pairingSecret, eventID, reply, nonce, plaintext, sealed: String
    }

    struct RefuseResult: Decodable {
        let name, pairingSecret, eventID, reply, sealed, reason: String
    }

    let hkdf: [Derivation]
    let aesGCM: [Cipher]
    let keys: [Keys]
    let seal: [Seal]
    let refuse: [Refuse]
    let sealReply: [SealReply]
    let refuseReply: [RefuseReply]
    let sealResult: [SealResult]
    let refuseResult: [RefuseResult]

    static func read() throws -> Vectors {
        let clients = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let data = try Data(contentsOf: clients.appendingPathComponent("vectors/sealed.json"))
        return try JSONDecoder().decode(Vectors.self, from: data)
    }
}

import Testing

@testable import PushSealing

@Suite(.timeLimit(.minutes(1)))
struct VectorTests {
    private let vectors: Vectors

    init() throws { vectors = try Vectors.read() }

    @Test("HKDF derives the keys of RFC 5869")
    func derivation() throws {
        for vector in vectors.hkdf {
            let key = KeyDerivation.key(
                from: try bytes(vector.ikm), salt: try bytes(vector.salt), info: try bytes(vector.info),
                count: vector.length)
            #expect(Hexadecimal.text(key) == vector.okm, "\(vector.name)")
        }
        #expect(vectors.hkdf.count >= 3)
        // The longest key that RFC 5869 allows.
        #expect(KeyDerivation.key(from: [1], salt: [], info: [], count: 8160).count == 8160)
    }

    @Test("AES-256-GCM gives the published ciphertexts and tags, and opens them")
    func cipher() throws {
        for vector in vectors.aesGCM {
            let (key, nonce) = (try bytes(vector.key), try bytes(vector.nonce))
            let context = try bytes(vector.associatedData)
            let sealed = SystemCiphers.seal(
                try bytes(vector.plaintext), key: key, nonce: nonce, context: context)
            #expect(sealed.map(Hexadecimal.text) == vector.ciphertext + vector.tag, "\(vector.name)")
            let opened = SystemCiphers.open(try #require(sealed), key: key, nonce: nonce, context: context)
            #expect(opened.map(Hexadecimal.text) == vector.plaintext, "\(vector.name)")
        }
        #expect(vectors.aesGCM.count >= 4)
        let empty: [UInt8] = []
        #expect(
            SystemCiphers.seal([1], key: [2], nonce: [UInt8](repeating: 0, count: 12), context: []) == nil)
        #expect(SystemCiphers.open(empty, key: empty, nonce: empty, context: empty) == nil)
    }

    @Test("A pairing secret derives the relay's secret, the notification key and private session IDs")
    func keys() throws {
        for vector in vectors.keys {
            let secret = try #require(PairingSecret(base64URL: vector.pairingSecret))
            #expect(secret.relaySecret == vector.relaySecret)
            #expect(secret.notificationKey.id == vector.notificationKeyID)
            #expect(Hexadecimal.text(secret.notificationKey.bytes) == vector.notificationKey)
            #expect(Hexadecimal.text(SealedReply.Key(secret).key.bytes) == vector.replyKey)
            #expect(Hexadecimal.text(SealedResult.Key(secret).key.bytes) == vector.replyResultKey)
            #expect(Hexadecimal.text(secret.derived("session id key", count: 32)) == vector.sessionIDKey)
            #expect(secret.privateSessionID(of: vector.sessionID) == vector.privateSessionID)
        }
        #expect(vectors.keys.count >= 2)
    }

    @Test("Sealing under a given nonce gives exactly the vectors' strings, and opening their content")
    func seal() throws {
        for vector in vectors.seal {
            let key = try #require(PairingSecret(base64URL: vector.pairingSecret)).notificationKey
            let content = Array(vector.plaintext.utf8)
            let sealed = try Envelope.seal(
                content: content, type: vector.type, with: key, nonce: try bytes(vector.nonce))
            #expect(sealed == vector.sealed, "\(vector.name)")
            let message = try Envelope.open(vector.sealed, type: vector.type, with: [key])
            #expect(try message == SealedMessage(content: content), "\(vector.name)")
        }
        #expect(vectors.seal.count >= 7)
    }

    @Test("Replies are sealed and opened as in the vectors, and refused for their reasons")
    func replies() throws {
        for vector in vectors.sealReply {
            let key = SealedReply.Key(try #require(PairingSecret(base64URL: vector.pairingSecret)))
            let sealed = try Envelope.seal(
                content: Array(vector.plaintext.utf8), type: SealedReply.type(vector.eventID), with: key.key,
                nonce: try bytes(vector.nonce))
            #expect(sealed == vector.sealed, "\(vector.name)")
            let reply = try SealedReply(opening: vector.sealed, for: vector.eventID, with: [key])
            let again = try reply.sealed(for: vector.eventID, with: key)
            #expect(try SealedReply(opening: again, for: vector.eventID, with: [key]) == reply)
        }
        #expect(vectors.sealReply.count >= 2)
        for vector in vectors.refuseReply {
            let key = SealedReply.Key(try #require(PairingSecret(base64URL: vector.pairingSecret)))
            #expect(throws: try #require(Refusal(rawValue: vector.reason)), "\(vector.name)") {
                _ = try SealedReply(opening: vector.sealed, for: vector.eventID, with: [key])
            }
        }
        #expect(vectors.refuseReply.count >= 10)
        let reply = SealedReply(action: "a b", sentAt: 0)
        let key = SealedReply.Key(PairingSecret())
        #expect(throws: SealingFailure.invalid("action")) { _ = try reply.sealed(for: "evt", with: key) }
    }

    @Test("Results of replies are sealed and opened as in the vectors, and refused for their reasons")
    func results() throws {
        for vector in vectors.sealResult {
            let key = SealedResult.Key(try #require(PairingSecret(base64URL: vector.pairingSecret)))
            let sealed = try Envelope.seal(
                content: Array(vector.plaintext.utf8), type: SealedResult.type(vector.eventID),
                with: key.key, nonce: try bytes(vector.nonce))
            #expect(sealed == vector.sealed, "\(vector.name)")
            let result = try SealedResult(
                opening: vector.sealed, for: vector.eventID, ofReply: vector.reply, with: [key])
            let json = try #require(JSONValue(parsing: Array(vector.plaintext.utf8)))
            #expect(result.outcome.rawValue == json["o"]?.string, "\(vector.name)")
            #expect(result.reason == json["c"]?.string && result.sentAt == json["at"]?.integer)
            // A phone that shows the history may not have sent the reply.
            #expect(
                try SealedResult(opening: sealed, for: vector.eventID, ofReply: nil, with: [key]) == result)
            let again = try result.sealed(for: vector.eventID, with: key)
            #expect(
                try SealedResult(opening: again, for: vector.eventID, ofReply: vector.reply, with: [key])
                    == result)
        }
        #expect(vectors.sealResult.count >= 4)
        for vector in vectors.refuseResult {
            let key = SealedResult.Key(try #require(PairingSecret(base64URL: vector.pairingSecret)))
            #expect(throws: try #require(Refusal(rawValue: vector.reason)), "\(vector.name)") {
                _ = try SealedResult(
                    opening: vector.sealed, for: vector.eventID, ofReply: vector.reply, with: [key])
            }
        }
        #expect(vectors.refuseResult.count >= 15)
        let key = SealedResult.Key(PairingSecret())
        for (result, name) in [
            (SealedResult(outcome: .taken, ofReply: nil, sentAt: 0), "outcome"),
            (SealedResult(outcome: .init(rawValue: "a b"), ofReply: "AQ", sentAt: 0), "outcome"),
            (SealedResult(outcome: .refused, reason: "<b>", ofReply: "AQ", sentAt: 0), "reason"),
        ] {
            #expect(throws: SealingFailure.invalid(name)) { _ = try result.sealed(for: "evt", with: key) }
        }
    }

    @Test("Strings that must not open are refused for the vectors' reasons")
    func refuse() throws {
        for vector in vectors.refuse {
            let key = try #require(PairingSecret(base64URL: vector.pairingSecret)).notificationKey
            #expect(throws: try #require(Refusal(rawValue: vector.reason)), "\(vector.name)") {
                try Envelope.open(vector.sealed, type: vector.type, with: [key])
            }
        }
        #expect(vectors.refuse.count >= 50)
    }

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(text)) }
}

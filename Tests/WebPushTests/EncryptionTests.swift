import COpenSSL
import Cryptography
import Testing

@testable import WebPush

@Suite("Encryption of messages", .timeLimit(.minutes(1)))
struct EncryptionTests {
    @Test("the example of RFC 8291, appendix A")
    func example() throws {
        let body = try MessageEncryption.encrypt(
            Fixture.plaintext, for: Fixture.keys(), privateKey: Fixture.senderPrivate, salt: Fixture.salt)
        let ciphertext =
            "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ"
        #expect(
            body == Fixture.salt + [0, 0, 0x10, 0, 65] + Fixture.bytes(Fixture.senderPublic)
                + Fixture.bytes(ciphertext))
        #expect(body.count == 144)
        #expect(body.count == Fixture.plaintext.count + MessageEncryption.overheadBytes)
    }

    @Test("the keys in between are those of RFC 8291, appendix A")
    func intermediateKeys() throws {
        #expect(P256.publicKey(of: Fixture.senderPrivate) == Fixture.bytes(Fixture.senderPublic))
        #expect(P256.publicKey(of: Fixture.agentPrivate) == Fixture.bytes(Fixture.agentPublic))
        let agent = Fixture.bytes(Fixture.agentPublic)
        let sender = Fixture.bytes(Fixture.senderPublic)
        #expect(P256.sharedSecret(Fixture.senderPrivate, with: agent) == Fixture.secret)
        #expect(P256.sharedSecret(Fixture.agentPrivate, with: sender) == Fixture.secret)
        let derived = ContentKeys(
            sharedSecret: Fixture.secret, keys: try Fixture.keys(), senderKey: sender, salt: Fixture.salt)
        #expect(derived.key == Fixture.bytes("oIhVW04MRdy2XN9CiKLxTg"))
        #expect(derived.nonce == Fixture.bytes("4h_95klXJ5E_qnoN"))
    }

    @Test("the largest plaintext fills the body that services accept, and one byte more is refused")
    func limits() throws {
        #expect(MessageEncryption.plaintextBytesMax == 3_993)
        let largest = [UInt8](repeating: 7, count: MessageEncryption.plaintextBytesMax)
        #expect(try MessageEncryption.encrypt(largest, for: Fixture.keys()).count == 4_096)
        #expect(throws: MessageEncryptionError.tooLarge) {
            try MessageEncryption.encrypt(largest + [7], for: Fixture.keys())
        }
        #expect(
            try MessageEncryption.encrypt([], for: Fixture.keys()).count == MessageEncryption.overheadBytes)
    }

    @Test("every message has its own key and salt, from the generator")
    func randomness() throws {
        let keys = try Fixture.keys()
        let first = try MessageEncryption.encrypt([1], for: keys)
        let second = try MessageEncryption.encrypt([1], for: keys)
        #expect(first[..<16] != second[..<16])
        #expect(first[21..<86] != second[21..<86])
        var (one, other) = (CountingGenerator(), CountingGenerator())
        let known = try MessageEncryption.encrypt([1], for: keys, using: &one)
        #expect(try MessageEncryption.encrypt([1], for: keys, using: &other) == known)
        #expect(known[..<16].elementsEqual([UInt8](repeating: 5, count: 8) + [UInt8](repeating: 6, count: 8)))
        let scalar = (1...4).flatMap { [UInt8](repeating: $0, count: 8) }
        #expect(Array(known[21..<86]) == P256.publicKey(of: scalar))
    }

    @Test("scalars out of range are no keys")
    func scalars() {
        let order = Fixture.bytes("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
        #expect(!P256.isScalar(order))
        #expect(!P256.isScalar([UInt8](repeating: 0, count: 32)))
        #expect(!P256.isScalar([1]))
        var largest = order
        largest[31] -= 1
        #expect(P256.isScalar(largest))
        #expect(P256.publicKey(of: largest) != nil)
        #expect(P256.publicKey(of: order) == nil)
        #expect(P256PrivateKey(scalar: order) == nil)
        #expect(P256.sharedSecret(order, with: Fixture.bytes(Fixture.agentPublic)) == nil)
    }

    @Test("a failed calculation leaves no error in OpenSSL's queue, which TLS would take for its own")
    func errorQueue() {
        var point = Fixture.bytes(Fixture.agentPublic)
        point[64] ^= 1
        #expect(!P256.isPublicKey(point))
        #expect(P256.sharedSecret(Fixture.senderPrivate, with: point) == nil)
        #expect(ERR_peek_error() == 0)
    }
}

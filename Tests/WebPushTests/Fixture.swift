import COpenSSL
import Cryptography
import Testing

@testable import WebPush

/// The example of RFC 8291, appendix A, and keys that don't belong to it.
enum Fixture {
    static let plaintext = Array("When I grow up, I want to be a watermelon".utf8)
    static let senderPrivate = bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    static let senderPublic =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
    static let agentPrivate = bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    static let agentPublic =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw")
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let secret = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")

    static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"

    static func keys() throws -> SubscriptionKeys { try SubscriptionKeys(p256dh: agentPublic, auth: auth) }

    static func bytes(_ base64URL: String) -> [UInt8] { Base64.decode(Array(base64URL.utf8)) ?? [] }

    /// Whether `signature` (r and s) of `message` verifies with an uncompressed public key.
    static func verifies(_ signature: [UInt8], of message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 65 else { return false }
        // SubjectPublicKeyInfo of a P-256 key (RFC 5480), constant except for the point.
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A,
            0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let key = (head + publicKey).withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_PUBKEY(nil, &start, buffer.count)
        }
        defer { EVP_PKEY_free(key) }
        let parts = ECDSA_SIG_new()
        defer { ECDSA_SIG_free(parts) }
        ECDSA_SIG_set0(
            parts, BN_bin2bn(Array(signature[..<32]), 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
        var der: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(parts, &der)
        defer { CRYPTO_free(der, #file, #line) }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, Int(count), message, message.count) == 1
    }
}

/// A generator whose numbers a test can predict.
struct CountingGenerator: RandomNumberGenerator {
    var value: UInt64 = 0

    mutating func next() -> UInt64 {
        value += 0x0101_0101_0101_0101
        return value
    }
}

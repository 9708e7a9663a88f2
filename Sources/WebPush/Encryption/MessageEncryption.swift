internal import Cryptography

/// Encrypts push messages for a user agent (RFC 8291 with the content coding `aes128gcm` from RFC 8188).
///
/// Each message has its own key pair and salt and requires one key agreement.
package enum MessageEncryption {
    /// The largest body that every push service accepts, in bytes (RFC 8030, section 7.2).
    package static let bodyBytesMax = 4_096
    /// The number of bytes in a body besides the plaintext: the header, the delimiter and the tag.
    package static let overheadBytes = headerBytes + 1 + AES128GCM.tagBytes
    /// The largest plaintext, in bytes.
    package static let plaintextBytesMax = bodyBytesMax - overheadBytes
    /// The size of a salt, in bytes.
    package static let saltBytes = 16

    /// The declared record size; a message is a single, shorter record.
    private static let recordBytes: UInt32 = 4_096
    private static let headerBytes = saltBytes + 4 + 1 + P256.publicKeyBytes
    /// Ends the last record of a message.
    private static let lastRecordDelimiter: UInt8 = 2

    /// Encrypts a message with a new key pair and salt; returns the request's body.
    package static func encrypt(
        _ plaintext: [UInt8], for keys: SubscriptionKeys
    ) throws(MessageEncryptionError) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return try encrypt(plaintext, for: keys, using: &generator)
    }

    /// Encrypts a message with a key pair and salt from a generator; returns the request's body.
    package static func encrypt(
        _ plaintext: [UInt8], for keys: SubscriptionKeys, using generator: inout some RandomNumberGenerator
    ) throws(MessageEncryptionError) -> [UInt8] {
        let scalar = P256.randomScalar(using: &generator)
        let salt = RandomBytes.make(saltBytes, using: &generator)
        return try encrypt(plaintext, for: keys, privateKey: scalar, salt: salt)
    }

    /// Encrypts a message with a given key and salt, neither of which may be used for another message.
    static func encrypt(
        _ plaintext: [UInt8], for keys: SubscriptionKeys, privateKey: [UInt8], salt: [UInt8]
    ) throws(MessageEncryptionError) -> [UInt8] {
        guard plaintext.count <= plaintextBytesMax else { throw .tooLarge }
        guard let publicKey = P256.publicKey(of: privateKey),
            let secret = P256.sharedSecret(privateKey, with: keys.p256dh)
        else { throw .keyAgreement }
        let derived = ContentKeys(sharedSecret: secret, keys: keys, senderKey: publicKey, salt: salt)
        var body: [UInt8] = []
        body.reserveCapacity(plaintext.count + overheadBytes)
        body += salt
        for shift: UInt32 in [24, 16, 8, 0] { body.append(UInt8(recordBytes >> shift & 0xFF)) }
        body.append(UInt8(publicKey.count))
        body += publicKey
        let record = plaintext + [lastRecordDelimiter]
        guard AES128GCM.seal(record, key: derived.key, nonce: derived.nonce, to: &body) else {
            throw .cipher
        }
        return body
    }
}

/// Why a message can't be encrypted.
package enum MessageEncryptionError: Error, Hashable, Sendable {
    /// The plaintext has more than ``MessageEncryption/plaintextBytesMax`` bytes.
    case tooLarge
    /// The user agent's key isn't on the curve.
    case keyAgreement
    /// libcrypto failed.
    case cipher
}

/// The key and nonce for a message (RFC 8291, section 3.4).
struct ContentKeys {
    let key: [UInt8]
    let nonce: [UInt8]

    private static let messageInfo = Array("WebPush: info".utf8) + [0]
    private static let keyInfo = Array("Content-Encoding: aes128gcm".utf8) + [0]
    private static let nonceInfo = Array("Content-Encoding: nonce".utf8) + [0]
    /// The number of the only HKDF block that is needed (RFC 5869, section 2.3).
    private static let firstBlock: [UInt8] = [1]

    init(sharedSecret: [UInt8], keys: SubscriptionKeys, senderKey: [UInt8], salt: [UInt8]) {
        let combined = SHA256.authenticationCode(of: sharedSecret, key: keys.auth)
        let info = Self.messageInfo + keys.p256dh + senderKey + Self.firstBlock
        let input = SHA256.authenticationCode(of: info, key: combined)
        let extracted = SHA256.authenticationCode(of: input, key: salt)
        func expanded(_ info: [UInt8], _ count: Int) -> [UInt8] {
            Array(SHA256.authenticationCode(of: info + Self.firstBlock, key: extracted).prefix(count))
        }
        key = expanded(Self.keyInfo, AES128GCM.keyBytes)
        nonce = expanded(Self.nonceInfo, AES128GCM.nonceBytes)
    }
}

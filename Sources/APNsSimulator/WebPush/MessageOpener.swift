import Cryptography

/// Why a browser can't read a push that its service accepted; the raw value is a message.
package enum Undecryptable: String, Error, CaseIterable, Hashable, Sendable {
    case empty = "the body is empty"
    case tooLarge = "the body is too large"
    case header = "the header of aes128gcm is damaged, or no record follows"
    case senderKey = "the sender's key is not on the curve"
    case severalRecords = "the body has more than one record"
    case notAuthentic = "it was encrypted for other keys, or damaged"
    case padding = "the record does not end with its delimiter"
}

/// Decrypts messages as browsers do (RFC 8291 with the coding of RFC 8188); written from the RFCs, not from the
/// sender's code.
package enum MessageOpener {
    private static let saltBytes = 16
    /// Salt, record size, and the length of the sender's key.
    private static let prefixBytes = saltBytes + 4 + 1
    /// The smallest record size (RFC 8188, section 2.1).
    private static let recordBytesMin = 18

    /// The plaintext of a request's body.
    package static func open(
        _ body: [UInt8], for subscription: WebPushSubscription
    ) throws(Undecryptable) -> [UInt8] {
        guard !body.isEmpty else { throw .empty }
        guard body.count <= subscription.bodyBytesMax else { throw .tooLarge }
        guard body.count > prefixBytes else { throw .header }
        let salt = Array(body[..<saltBytes])
        let recordBytes = body[saltBytes..<saltBytes + 4].reduce(0) { $0 << 8 | Int($1) }
        let headerBytes = prefixBytes + Int(body[prefixBytes - 1])
        guard recordBytes >= recordBytesMin, headerBytes == prefixBytes + P256.publicKeyBytes,
            body.count >= headerBytes + recordBytesMin - 1
        else { throw .header }
        guard body.count - headerBytes <= recordBytes else { throw .severalRecords }
        let senderKey = Array(body[prefixBytes..<headerBytes])
        guard let shared = P256.sharedSecret(subscription.privateKey, with: senderKey) else {
            throw .senderKey
        }
        let info = Array("WebPush: info\0".utf8) + subscription.publicKey + senderKey
        let input = expand(extract(shared, salt: subscription.auth), info, SHA256.bytes)
        let secret = extract(input, salt: salt)
        let key = expand(secret, Array("Content-Encoding: aes128gcm\0".utf8), AES128GCM.keyBytes)
        let nonce = expand(secret, Array("Content-Encoding: nonce\0".utf8), AES128GCM.nonceBytes)
        guard let record = AES128GCM.open(Array(body[headerBytes...]), key: key, nonce: nonce) else {
            throw .notAuthentic
        }
        guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == 2 else { throw .padding }
        return Array(record[..<end])
    }

    /// HKDF-Extract (RFC 5869, section 2.2).
    private static func extract(_ input: [UInt8], salt: [UInt8]) -> [UInt8] {
        SHA256.authenticationCode(of: input, key: salt)
    }

    /// HKDF-Expand (RFC 5869, section 2.3).
    private static func expand(_ key: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
        var (output, block): ([UInt8], [UInt8]) = ([], [])
        var counter: UInt8 = 1
        while output.count < count {
            block = SHA256.authenticationCode(of: block + info + [counter], key: key)
            output += block
            counter += 1
        }
        return Array(output.prefix(count))
    }
}

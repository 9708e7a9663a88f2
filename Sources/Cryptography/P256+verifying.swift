internal import COpenSSL

extension P256 {
    /// The size of a signature, in bytes: r and s (RFC 7518, section 3.4).
    package static let signatureBytes = 64

    /// Whether an ES256 signature of a message verifies with this public key.
    ///
    /// Also false for a key that isn't on the curve, or if r or s is out of range.
    package static func verifies(
        _ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]
    ) -> Bool {
        guard signature.count == signatureBytes, publicKey.count == publicKeyBytes, publicKey[0] == 4 else {
            return false
        }
        // An error left in the thread's OpenSSL queue would be attributed to its next TLS connection.
        defer { ERR_clear_error() }
        // The key's DER form (RFC 5480), which is constant except for the point.
        let info =
            [0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06]
            + [0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00] + publicKey
        let key = unsafe info.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PUBKEY(nil, &start, buffer.count)
        }
        guard let key = unsafe key else { return false }
        defer { unsafe EVP_PKEY_free(key) }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let der = derSignature(signature)
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// The DER form that OpenSSL reads: a sequence of two integers, each as short as possible.
    private static func derSignature(_ signature: [UInt8]) -> [UInt8] {
        let integers = [signature[..<scalarBytes], signature[scalarBytes...]].flatMap { bytes in
            let digits = bytes.drop { $0 == 0 }
            let isSigned = (digits.first ?? 0x80) >= 0x80
            let content = (isSigned ? [0] : []) + digits
            return [0x02, UInt8(content.count)] + content
        }
        return [0x30, UInt8(integers.count)] + integers
    }
}

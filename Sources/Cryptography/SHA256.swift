internal import COpenSSL

/// SHA-256 (FIPS 180-4) and HMAC-SHA-256.
package enum SHA256 {
    /// The size of a digest, in bytes.
    package static let bytes = 32

    /// The digest of a message.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: bytes)
        let isDone = unsafe EVP_Digest(message, message.count, &digest, nil, EVP_sha256(), nil) == 1
        // This fails only if memory is exhausted, and a wrong digest must never be used.
        precondition(isDone, "libcrypto could not compute a digest")
        return digest
    }

    /// HMAC-SHA-256 (RFC 2104): 32 bytes.
    package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: bytes)
        let isDone =
            unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil) != nil
        precondition(isDone, "libcrypto could not compute an HMAC")
        return code
    }
}

import COpenSSL
package import JSON
import PushSealing

/// Errors when making or using a private key.
package enum SigningKeyError: Error, Sendable {
    /// An unexpected OpenSSL failure.
    case failed
    /// The text is not a PEM private key.
    case notPEM
}

/// A P-256 private key for signing test provider tokens, like the one in Apple's `.p8` files.
@safe package final class SigningKey: @unchecked Sendable {  // why: OpenSSL only reads a finished key
    private let handle: OpaquePointer

    /// Generates a key.
    package init() throws(SigningKeyError) {
        guard let handle = unsafe relay_EVP_generate_P256() else { throw .failed }
        unsafe self.handle = handle
    }

    /// Reads `-----BEGIN PRIVATE KEY-----`.
    package init(pem: [UInt8]) throws(SigningKeyError) {
        let key = unsafe pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            return unsafe PEM_read_bio_PrivateKey(bio, nil, nil, nil)
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            throw .notPEM
        }
        unsafe handle = key
    }

    deinit { unsafe EVP_PKEY_free(handle) }

    /// The private key as in a `.p8` file: PKCS #8 in PEM, without a passphrase.
    package func privatePEM() throws(SigningKeyError) -> [UInt8] {
        try unsafe pem { bio in unsafe PEM_write_bio_PKCS8PrivateKey(bio, handle, nil, nil, 0, nil, nil) }
    }

    /// The public key in PEM.
    package func publicPEM() throws(SigningKeyError) -> [UInt8] {
        try unsafe pem { bio in unsafe PEM_write_bio_PUBKEY(bio, handle) }
    }

    /// Creates a signed provider token.
    ///
    /// - Parameter issuedAt: Seconds since 1970.
    package func token(keyID: String, teamID: String, issuedAt: Int64) throws(SigningKeyError) -> String {
        let header: JSON.Value = ["alg": "ES256", "kid": .string(keyID)]
        let claims: JSON.Value = ["iss": .string(teamID), "iat": .int(issuedAt)]
        return try token(header: header, claims: claims)
    }

    /// Creates a token with any header and claims and signs it.
    package func token(header: JSON.Value, claims: JSON.Value) throws(SigningKeyError) -> String {
        let signedPart = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
        return signedPart + "." + Base64URL.encode(try sign(Array(signedPart.utf8)))
    }

    /// The ES256 signature of a message: r and s, 32 bytes each.
    package func sign(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .failed }
        defer { unsafe EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 128)
        var count = der.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1,
            unsafe EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else { throw .failed }
        return try Self.joined(Array(der.prefix(count)))
    }

    /// Converts OpenSSL's DER signature to r and s.
    private static func joined(_ der: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        let half = ProviderToken.signatureLength / 2
        var signature = [UInt8](repeating: 0, count: ProviderToken.signatureLength)
        let isWritten = unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            guard let pair = unsafe d2i_ECDSA_SIG(nil, &start, bytes.count) else { return false }
            defer { unsafe ECDSA_SIG_free(pair) }
            return unsafe signature.withUnsafeMutableBufferPointer { out in
                guard let base = out.baseAddress else { return false }
                return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(pair), base, Int32(half)) == half
                    && BN_bn2binpad(ECDSA_SIG_get0_s(pair), base + half, Int32(half)) == half
            }
        }
        guard isWritten else { throw .failed }
        return signature
    }

    private func pem(_ write: (OpaquePointer) -> Int32) throws(SigningKeyError) -> [UInt8] {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw .failed }
        defer { unsafe BIO_free(bio) }
        guard unsafe write(bio) == 1 else { throw .failed }
        var data: UnsafeMutablePointer<CChar>?
        let length = unsafe relay_BIO_get_mem_data(bio, &data)
        return unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: length))
    }
}

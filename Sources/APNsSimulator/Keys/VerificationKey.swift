import COpenSSL

/// A public key for verifying provider tokens, with the team and environment it is valid for.
package struct VerificationKey: Sendable {
    package let keyID: String
    package let teamID: String
    /// The only environment that the key is valid for; `nil`: both, as for keys created before 2025.
    package let environment: PushEnvironment?
    package let publicKey: PublicKey

    /// Creates a key with its identifiers.
    package init(keyID: String, teamID: String, environment: PushEnvironment? = nil, publicKey: PublicKey) {
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.publicKey = publicKey
    }
}

/// Errors when reading a key file.
package enum PublicKeyError: Error, Sendable {
    case notPEM
    case notP256
}

/// A P-256 public key that verifies ES256 signatures.
@safe package final class PublicKey: @unchecked Sendable {  // why: OpenSSL only reads a finished key
    private let handle: OpaquePointer

    /// Reads `-----BEGIN PUBLIC KEY-----`, or the public half of a private key file.
    package init(pem: [UInt8]) throws(PublicKeyError) {
        guard let handle = unsafe Self.read(pem) else {
            ERR_clear_error()
            throw .notPEM
        }
        guard unsafe Self.isP256(handle) else {
            unsafe EVP_PKEY_free(handle)
            throw .notP256
        }
        unsafe self.handle = handle
    }

    /// The key with these coordinates: 04, x and y; `nil` if they aren't on the curve.
    package init?(point: [UInt8]) {
        guard point.count == Self.pointLength, point[0] == 4 else { return nil }
        let encoded = Self.pointPrefix + point
        let key = unsafe encoded.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            return nil
        }
        unsafe handle = key
    }

    deinit { unsafe EVP_PKEY_free(handle) }

    private static let pointLength = 65
    /// The DER of a P-256 key up to its coordinates (RFC 5480, section 2).
    private static let pointPrefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
        0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// Whether `signature`, r and s of 32 bytes each, is valid for `message`.
    package func verifies(_ signature: [UInt8], over message: ArraySlice<UInt8>) -> Bool {
        defer { ERR_clear_error() }
        guard signature.count == ProviderToken.signatureLength, let context = unsafe EVP_MD_CTX_new() else {
            return false
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard let encoded = Self.der(signature),
            unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
        else { return false }
        return unsafe message.withUnsafeBufferPointer { message in
            unsafe EVP_DigestVerify(context, encoded, encoded.count, message.baseAddress, message.count) == 1
        }
    }

    /// "group" is OSSL_PKEY_PARAM_GROUP_NAME, a macro that Swift can't import.
    private static func isP256(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard unsafe EVP_PKEY_get_utf8_string_param(key, "group", &name, name.count, &count) == 1
        else { return false }
        return name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar($0) })
    }

    private static func read(_ pem: [UInt8]) -> OpaquePointer? {
        unsafe pem.withUnsafeBytes { bytes in
            func key(_ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
                guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                    return nil
                }
                defer { unsafe BIO_free(bio) }
                return unsafe parse(bio)
            }
            return unsafe key { unsafe PEM_read_bio_PUBKEY($0, nil, nil, nil) }
                ?? key { unsafe PEM_read_bio_PrivateKey($0, nil, nil, nil) }
        }
    }

    /// Encodes r and s in DER, which OpenSSL expects (RFC 3279 section 2.2.3).
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
        guard let pair = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(pair) }
        return unsafe signature.withUnsafeBufferPointer { bytes -> [UInt8]? in
            let half = Int32(ProviderToken.signatureLength / 2)
            guard let base = bytes.baseAddress, let r = unsafe BN_bin2bn(base, half, nil) else { return nil }
            guard let s = unsafe BN_bin2bn(base + Int(half), half, nil) else {
                unsafe BN_free(r)
                return nil
            }
            unsafe ECDSA_SIG_set0(pair, r, s)  // takes ownership of both
            var encoded: UnsafeMutablePointer<UInt8>?
            let count = unsafe i2d_ECDSA_SIG(pair, &encoded)
            guard count > 0, let start = unsafe encoded else { return nil }
            defer { unsafe CRYPTO_free(start, nil, 0) }
            return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
        }
    }
}
